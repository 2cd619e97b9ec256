package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of orphaned descendants.
func adoptOrphans() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// fork starts the program at path, in the control group of p if possible. The process
// dies with the thread that calls fork.
func fork(path string, p *Process, files []*os.File) (pid int, err error) {
	attr := &syscall.SysProcAttr{Setpgid: !p.command.SameGroup, Pdeathsig: syscall.SIGKILL}
	if folder, err := os.Open(string(p.cgroup)); err == nil {
		defer folder.Close()
		attr.UseCgroupFD, attr.CgroupFD = true, int(folder.Fd())
		if pid, err := forkExec(path, p, files, attr); err == nil {
			return pid, nil
		}
		attr.UseCgroupFD = false
	}
	p.cgroup.remove()
	p.cgroup = ""
	return forkExec(path, p, files, attr)
}

// descendants returns the running descendants of a process, except those in skip and theirs.
// The handles refer to the processes themselves, even after a pid is reused.
func descendants(pid int, skip map[int]bool) []*os.Process {
	parents, children := make(map[int]int), make(map[int][]int)
	for _, one := range processes() {
		if parent := statusOf(one).parent; parent > 0 {
			parents[one] = parent
			children[parent] = append(children[parent], one)
		}
	}
	var found []*os.Process
	next := children[pid]
	for len(next) > 0 {
		child := next[0]
		next = next[1:]
		if skip[child] {
			continue
		}
		next = append(next, children[child]...)
		handle, err := os.FindProcess(child)
		if err == nil && statusOf(child).parent == parents[child] { // else the pid may be another's
			found = append(found, handle)
		}
	}
	return found
}

// processes returns the ids of all processes, or none if /proc shows another PID namespace.
func processes() (pids []int) {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer folder.Close()
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return nil
	}
	names, _ := folder.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

type status struct{ parent, group int }

// statusOf returns the status of a process, or zeros if it has ended.
func statusOf(pid int) status {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// The name before the last parenthesis may hold any character.
	words := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(words) < 3 || bytes.ContainsAny(words[0], "ZX") {
		return status{}
	}
	parent, _ := strconv.Atoi(string(words[1]))
	group, _ := strconv.Atoi(string(words[2]))
	return status{parent, group}
}

func inGroup(pid, group int) bool { return statusOf(pid).group == group }
