package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// staticFolder is a folder of static pods.
type staticFolder struct {
	*manifests
	t    *testing.T
	path string
}

func newStaticFolder(t *testing.T) staticFolder {
	path := t.TempDir()
	return staticFolder{newManifests(path, "Node1"), t, path}
}

func (f staticFolder) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.path, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// want fails the test unless a read returns these pods, in order, and an error with each
// text, or none.
func (f staticFolder) want(changed bool, pods []string, mistakes ...string) {
	f.t.Helper()
	got, ok, err := f.read()
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, pods) || ok != changed {
		f.t.Errorf("pods %q, changed %v; want %q, %v", names, ok, pods, changed)
	}
	if (err != nil) != (len(mistakes) > 0) {
		f.t.Errorf("error %v, want %q", err, mistakes)
	}
	for _, want := range mistakes {
		if err != nil && !strings.Contains(err.Error(), want) {
			f.t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

func TestStaticPodsAreReadFromFiles(t *testing.T) {
	f := newStaticFolder(t)
	f.want(false, nil)
	f.write("json", `{"kind": "Pod", "metadata": {"name": "a", "namespace": "ns"}, "spec": {"restartPolicy": "Never"}}`)
	f.write("b.yaml", "kind: Pod\nmetadata: {name: b}\n")
	f.write(".hidden", "not read")
	if err := os.Mkdir(filepath.Join(f.path, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("missing", filepath.Join(f.path, "link")); err != nil {
		t.Fatal(err)
	}
	f.want(true, []string{"default/b-node1", "ns/a-node1"})
	f.want(false, []string{"default/b-node1", "ns/a-node1"})
	all, _, _ := f.read()
	if p := all["default/b-node1"].Spec.RestartPolicy; p != corev1.RestartPolicyAlways {
		t.Errorf("b has the policy %q", p)
	}
	if p := all["ns/a-node1"].Spec.RestartPolicy; p != corev1.RestartPolicyNever {
		t.Errorf("a has the policy %q", p)
	}

	f.write("b.yaml", "kind: Pod\nmetadata: {name: longer}\n")
	f.want(true, []string{"default/longer-node1", "ns/a-node1"})
	f.write("b.yaml", "kind: Pod\nmetadata: {name: oblong}\n") // of the same size
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(f.path, "b.yaml"), later, later); err != nil {
		t.Fatal(err)
	}
	f.want(true, []string{"default/oblong-node1", "ns/a-node1"})
	if err := os.Remove(filepath.Join(f.path, "json")); err != nil {
		t.Fatal(err)
	}
	f.want(true, []string{"default/oblong-node1"})
	if err := os.RemoveAll(f.path); err != nil {
		t.Fatal(err)
	}
	f.want(true, nil, f.path)
	f.want(false, nil)
	if err := os.Mkdir(f.path, 0o755); err != nil {
		t.Fatal(err)
	}
	f.want(false, nil)
	f.write("b.yaml", "kind: Pod\nmetadata: {name: b}\n")
	f.want(true, []string{"default/b-node1"})
	if err := os.RemoveAll(f.path); err != nil {
		t.Fatal(err)
	}
	f.want(true, nil, f.path)
}

// A file with a mistake is reported once, and hides no other.
func TestMistakesInStaticPods(t *testing.T) {
	f := newStaticFolder(t)
	f.write("good", "kind: Pod\nmetadata: {name: good}\n")
	f.write("yaml", "{")
	f.write("service", "kind: Service\nmetadata: {name: s}\n")
	f.write("nameless", "kind: Pod\n")
	f.write("type", "kind: Pod\nmetadata: {name: s}\nspec: 5\n")
	f.write("empty", "")
	large, err := os.Create(filepath.Join(f.path, "large"))
	if err != nil {
		t.Fatal(err)
	}
	defer large.Close()
	if err := large.Truncate(largestManifest + 1); err != nil {
		t.Fatal(err)
	}
	var mistakes []string
	for _, name := range []string{"yaml: ", "service: not a pod", "nameless: not a pod with a name", "type: ", "empty: not a pod", "large: larger than 10 MiB"} {
		mistakes = append(mistakes, filepath.Join(f.path, name))
	}
	f.want(true, []string{"default/good-node1"}, mistakes...)
	f.want(false, []string{"default/good-node1"})
	f.write("yaml", "kind: Pod\nmetadata: {name: mended}\n")
	f.want(true, []string{"default/good-node1", "default/mended-node1"})
	f.write("yaml", "kind: Pod\nmetadata: {name: }\n")
	f.want(true, []string{"default/good-node1"}, filepath.Join(f.path, "yaml"))
}

// Without --manifests there are no static pods.
func TestNoManifests(t *testing.T) {
	var m *manifests
	if pods, changed, err := m.read(); pods != nil || changed || err != nil {
		t.Errorf("%v, %v, %v", pods, changed, err)
	}
}
