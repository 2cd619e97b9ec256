package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/jobpolicy"
)

// history is how the processes of a pod ended under another run, by container,
// in order.
type history map[string][]exit

// over reports whether the pod had come to its end, but for its sidecars, and
// when.
func (h history) over(spec *jobpolicy.PodSpec) (over bool, at time.Time) {
	never := spec.RestartPolicy == jobpolicy.RestartPolicyNever
	last := func(container string) (e exit, done bool) {
		all := h[container]
		if len(all) == 0 {
			return exit{}, false
		}
		e = all[len(all)-1]
		return e, never || e.Code == 0
	}
	for _, c := range spec.InitContainers {
		if e, done := last(c.Name); done && e.Code != 0 && c.RestartPolicy != jobpolicy.RestartPolicyAlways {
			return true, e.At
		}
	}
	for _, c := range spec.Containers {
		e, done := last(c.Name)
		if !done {
			return false, time.Time{}
		}
		if e.At.After(at) {
			at = e.At
		}
	}
	return true, at
}

// unasked leaves out the processes that ended because they were told to.
func (h history) unasked() history {
	kept := make(history, len(h))
	for container, exits := range h {
		kept[container] = slices.DeleteFunc(slices.Clone(exits), func(e exit) bool { return e.Stopped })
	}
	return kept
}

// histories returns what is recorded of every pod, by UID.
func (s *store) histories() (map[string]history, error) {
	files, err := os.ReadDir(s.processes())
	if err != nil {
		return nil, err
	}
	all := make(map[string]history)
	for _, file := range files {
		parts := strings.Split(file.Name(), ".") // neither UIDs nor container names have dots
		if len(parts) != 3 || parts[2] != "0" {
			continue // a log, or read with the first record of the container
		}
		uid, container := parts[0], parts[1]
		if all[uid] == nil {
			all[uid] = make(history)
		}
		for e, ok := readRecord(s.record(uid, container, 0)); ok; e, ok = readRecord(s.record(uid, container, len(all[uid][container]))) {
			all[uid][container] = append(all[uid][container], e)
		}
	}
	return all, nil
}

// forget removes what is recorded of a pod.
func (s *store) forget(uid string, spec *jobpolicy.PodSpec) {
	if s == nil {
		return
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for run := 0; ; run++ {
			record := s.record(uid, c.Name, run)
			if os.Remove(record) != nil && os.Remove(logOf(record)) != nil {
				break
			}
			_ = os.Remove(logOf(record))
		}
	}
}

// clean removes what is recorded of pods that nobody knows any more.
func (s *store) clean(known func(uid string) bool) error {
	files, err := os.ReadDir(s.processes())
	if err != nil {
		return err
	}
	for _, file := range files {
		if uid, _, _ := strings.Cut(file.Name(), "."); !known(uid) {
			if err := os.Remove(filepath.Join(s.processes(), file.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
