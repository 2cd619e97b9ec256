package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// largestManifest is the kubelet's limit.
const largestManifest = 10 << 20

// manifests are the static pods in a folder. A file is read again when it changes.
type manifests struct {
	folder, node string
	files        map[string]manifest
	mistake      string // of the folder, as returned last
}

type manifest struct {
	info os.FileInfo
	pod  *corev1.Pod
	err  error
}

func newManifests(folder, node string) *manifests {
	return &manifests{folder: folder, node: strings.ToLower(node), files: make(map[string]manifest)}
}

// read returns the pods by namespace and name, as the kubelet names them, reports
// whether a file has changed, and returns new errors. Files with errors are left out, as
// in the kubelet.
func (m *manifests) read() (pods map[string]*corev1.Pod, changed bool, err error) {
	if m == nil {
		return nil, false, nil
	}
	files, pods := make(map[string]manifest), make(map[string]*corev1.Pod)
	var errs []error
	entries, err := os.ReadDir(m.folder)
	switch {
	case err == nil:
		m.mistake = ""
	case err.Error() != m.mistake:
		m.mistake = err.Error()
		errs = append(errs, err)
	}
	for _, e := range entries {
		path := filepath.Join(m.folder, e.Name())
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		f, ok := m.files[path]
		if !ok || !os.SameFile(f.info, info) || f.info.Size() != info.Size() || !f.info.ModTime().Equal(info.ModTime()) {
			changed = true
			f = manifest{info: info}
			if f.pod, f.err = m.parse(path, info.Size()); f.err != nil {
				errs = append(errs, f.err)
			}
		}
		files[path] = f
		if f.pod != nil {
			pods[f.pod.Namespace+"/"+f.pod.Name] = f.pod
		}
	}
	changed = changed || len(files) != len(m.files)
	m.files = files
	return pods, changed, errors.Join(errs...)
}

func (m *manifests) parse(path string, size int64) (*corev1.Pod, error) {
	if size > largestManifest {
		return nil, fmt.Errorf("%s: larger than 10 MiB", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var p corev1.Pod
	if err := yaml.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if p.Kind != "Pod" || p.Name == "" {
		return nil, fmt.Errorf("%s: not a pod with a name", path)
	}
	p.Name += "-" + m.node
	if p.Namespace == "" {
		p.Namespace = "default"
	}
	if p.Spec.RestartPolicy == "" {
		p.Spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	return &p, nil
}
