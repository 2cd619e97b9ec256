package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// marker is the variable in the environment of every process of a run. Its value
// is the UID of the process's pod.
func marker(run string) string { return "RUNJOB_" + run }

// markedProcess is a process of a run.
type markedProcess struct {
	pid  int
	uid  string // of its pod
	shim bool
}

// marked returns the processes of a run that are there now. Without a /proc file
// system it finds none.
func marked(run string) []markedProcess {
	var found []markedProcess
	want := []byte("\x00" + marker(run) + "=")
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		environ, err := os.ReadFile(folder + "/environ")
		if err != nil {
			continue // gone, or another user's
		}
		_, after, ok := bytes.Cut(append([]byte{0}, environ...), want)
		pid, err := strconv.Atoi(filepath.Base(folder))
		if !ok || err != nil {
			continue
		}
		uid, _, _ := bytes.Cut(after, []byte{0})
		cmdline, _ := os.ReadFile(folder + "/cmdline")
		found = append(found, markedProcess{pid, string(uid), bytes.HasPrefix(cmdline, []byte(shimName+"\x00"))})
	}
	return found
}

// killMarked kills the processes of a run whose pods are to be gone, and what
// these may have started meanwhile, until there are none. Shims come first: they
// must not live to record that their process was killed. It gives up after a
// while on what does not die.
func killMarked(run string, gone func(uid string) bool) {
	for range 100 {
		processes := slices.DeleteFunc(marked(run), func(p markedProcess) bool { return !gone(p.uid) })
		if len(processes) == 0 {
			return
		}
		for _, shims := range []bool{true, false} {
			for _, p := range processes {
				if p.shim == shims {
					_ = syscall.Kill(p.pid, syscall.SIGKILL)
				}
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// sweeper kills what is left of pods that have ended: processes that had moved
// out of the group of their container.
type sweeper struct {
	run  string
	mu   sync.Mutex
	uids map[string]bool // of pods to clean up behind; nil: nothing is scheduled
}

// sweepDelay gathers pods, since looking at all processes costs milliseconds.
const sweepDelay = time.Second

// add has the pod cleaned up behind soon.
func (s *sweeper) add(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uids == nil {
		s.uids = make(map[string]bool)
		time.AfterFunc(sweepDelay, s.sweep)
	}
	s.uids[uid] = true
}

func (s *sweeper) sweep() {
	s.mu.Lock()
	uids := s.uids
	s.uids = nil
	s.mu.Unlock()
	killMarked(s.run, func(uid string) bool { return uids[uid] })
}
