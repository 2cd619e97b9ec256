package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// cgroup is the folder of a control group of version 2, or "" for none. The methods of "" do
// nothing.
type cgroup string

// ownCgroup returns the group of this process, or "" if none can be made in it.
func ownCgroup() cgroup {
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	groups, _ := os.ReadFile("/proc/self/cgroup")
	path := ""
	for line := range strings.Lines(string(groups)) {
		if own, ok := strings.CutPrefix(line, "0::"); ok {
			path = strings.TrimSuffix(own, "\n")
		}
	}
	for line := range strings.Lines(string(mounts)) {
		// 41 31 0:38 ROOT FOLDER rw,relatime - cgroup2 cgroup2 rw
		words := strings.Fields(line)
		if path == "" || len(words) < 5 || !strings.Contains(line, " - cgroup2 ") {
			continue
		}
		below, err := filepath.Rel(words[3], path)
		if err != nil {
			continue
		}
		c := cgroup(filepath.Join(words[4], below))
		if c.has(os.Getpid()) {
			c.removeStale()
			return c
		}
	}
	return ""
}

// removeStale removes the empty groups of programs that were killed.
func (c cgroup) removeStale() {
	groups, _ := filepath.Glob(filepath.Join(string(c), "restart-*-*"))
	for _, group := range groups {
		var pid, n int
		_, err := fmt.Sscanf(filepath.Base(group), "restart-%d-%d", &pid, &n)
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			cgroup(group).remove()
		}
	}
}

// make makes the n-th group below this one. It returns "" if it cannot, or if the
// group could not be killed as a whole, as before Linux 5.14.
func (c cgroup) make(n int) cgroup {
	if c == "" {
		return ""
	}
	group := cgroup(filepath.Join(string(c), fmt.Sprintf("restart-%d-%d", os.Getpid(), n)))
	if err := os.Mkdir(string(group), 0o755); err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Join(string(group), "cgroup.kill")); err != nil {
		group.remove()
		return ""
	}
	return group
}

func (c cgroup) kill() {
	if c != "" {
		_ = os.WriteFile(filepath.Join(string(c), "cgroup.kill"), []byte("1"), 0)
	}
}

// occupied reports whether the group has a process.
func (c cgroup) occupied() bool {
	return c != "" && len(c.processes()) > 0
}

func (c cgroup) has(pid int) bool {
	for _, one := range c.processes() {
		if one == fmt.Sprint(pid) {
			return true
		}
	}
	return false
}

func (c cgroup) processes() []string {
	text, _ := os.ReadFile(filepath.Join(string(c), "cgroup.procs"))
	return strings.Fields(string(text))
}

func (c cgroup) remove() {
	if c != "" {
		_ = os.Remove(string(c))
	}
}
