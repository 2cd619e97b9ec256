package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// A machine has the properties that decide whether a node can run.
type machine struct {
	os          string
	root        bool
	controllers []string // of cgroups
	exists      func(path string) bool
	inPath      func(program string) bool
	busybox     bool // in PATH and static
}

// ErrNoNode is in the errors of Build, BuildNode, Start and StartNode if this machine
// lacks a prerequisite of a node.
var ErrNoNode = errors.New("this machine cannot run a node")

// CheckNode returns an ErrNoNode that lists everything this machine lacks for a node.
func CheckNode() error {
	m := machine{
		os:     runtime.GOOS,
		root:   os.Geteuid() == 0,
		exists: func(path string) bool { _, err := os.Stat(path); return err == nil },
		inPath: func(program string) bool { _, err := exec.LookPath(program); return err == nil },
	}
	if path, err := exec.LookPath("busybox"); err == nil {
		m.busybox = static(path)
	}
	for _, h := range hierarchies() {
		m.controllers = append(m.controllers, h.controllers...)
	}
	if lacks := m.lacks(); len(lacks) > 0 {
		return fmt.Errorf("%w, which needs %s", ErrNoNode, strings.Join(lacks, "; "))
	}
	return nil
}

func (m machine) lacks() []string {
	if m.os != "linux" {
		return []string{"Linux"}
	}
	var lacks []string
	need := func(ok bool, what string) {
		if !ok {
			lacks = append(lacks, what)
		}
	}
	need(m.root, "root")
	need(m.inPath("go"), "go in PATH")
	debian := m.inPath("apt-get") && m.inPath("dpkg-deb")
	need(debian || m.inPath("runc"), "runc in PATH or Debian's apt-get")
	need(debian || m.busybox, "a static busybox in PATH or Debian's apt-get")
	need(m.exists("/dev/kmsg"), "/dev/kmsg")
	for _, controller := range []string{"cpu", "cpuset", "memory", "pids"} {
		need(slices.Contains(m.controllers, controller), "the cgroup controller "+controller)
	}
	return lacks
}
