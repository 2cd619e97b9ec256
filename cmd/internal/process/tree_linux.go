package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const noSignal = syscall.MSG_NOSIGNAL

// adoptOrphans makes this process the parent of orphaned descendants. They become
// children of its first thread.
func adoptOrphans() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// guardAttr starts a guard in its own session, so that the guard survives the end of
// the program's session. A stopped guard continues when its program ends.
func guardAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT}
}

// childAttr starts a child in its own process group. The child dies with the thread
// that started it, which must live as long as the guard.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// ownProc reports whether /proc shows this process's PID namespace.
var ownProc = sync.OnceValue(func() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
})

// childList lists the children of this process's first thread.
type childList struct {
	file *os.File
	text []byte
}

// read returns the children, including ended ones not yet reaped. The list is complete
// if no child is reaped meanwhile. It is empty if /proc shows another namespace.
func (l *childList) read() []int {
	if !ownProc() {
		return nil
	}
	if l.file == nil {
		file, err := os.Open(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
		if err != nil { // the kernel has no lists of children
			return childrenByStat(os.Getpid())
		}
		l.file, l.text = file, make([]byte, 512)
	}
	n, err := l.file.ReadAt(l.text, 0)
	for n == len(l.text) && err == nil {
		l.text = make([]byte, 2*len(l.text))
		n, err = l.file.ReadAt(l.text, 0)
	}
	return numbers(l.text[:n])
}

// numbers returns the numbers in a text.
func numbers(text []byte) (all []int) {
	for word := range strings.FieldsSeq(string(text)) {
		if n, err := strconv.Atoi(word); err == nil {
			all = append(all, n)
		}
	}
	return all
}

func (l *childList) close() {
	if l.file != nil {
		l.file.Close()
	}
}

// childrenByStat returns the children of a process by checking all processes, for
// kernels without lists of children.
func childrenByStat(parent int) []int {
	var pids []int
	for pid := range processes {
		if found, _ := parentOf(pid); found == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// processes yields the pids shown by /proc.
func processes(yield func(pid int) bool) {
	folder, err := os.Open("/proc")
	if err != nil || !ownProc() {
		return
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && !yield(pid) {
			return
		}
	}
}

// parentOf returns the parent of a process, or 0 if unknown. It reports whether the
// process has ended and waits to be reaped.
func parentOf(pid int) (parent int, ended bool) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	after := text[bytes.LastIndexByte(text, ')')+1:] // after the name, which may hold any character
	words := bytes.Fields(after)
	if len(words) < 2 {
		return 0, true
	}
	parent, _ = strconv.Atoi(string(words[1]))
	return parent, words[0][0] == 'Z' || words[0][0] == 'X'
}

// title returns the pid and the command line of a process.
func title(pid int) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	name := strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
	if name == "" {
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		name = strings.TrimSpace(string(comm))
	}
	const longest = 200
	return fmt.Sprintf("%d (%.*s)", pid, longest, name)
}

// waitAny waits until a child has ended. With syscall.WNOHANG it returns 0 if no child
// has ended. It leaves the child unreaped, so that its pid is not reused.
func waitAny(options int) (pid int, reaped *syscall.WaitStatus, err error) {
	var info [32]int32 // a siginfo_t with three numbers, padding to a whole word, and the pid
	for {
		err = unix.Waitid(unix.P_ALL, 0, (*unix.Siginfo)(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOWAIT|options, nil)
		if err != syscall.EINTR {
			break
		}
	}
	return int(info[2+unsafe.Sizeof(uintptr(0))/4]), nil, err
}

// setMark gives this process a mark, to be inherited by new children. The mark is the
// soft limit of file locks, which Linux does not enforce. A new environment, session,
// program or user keeps it. Calling undo restores the limit.
func setMark(m mark) (undo func()) {
	var before, now unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_LOCKS, &before) != nil {
		return func() {}
	}
	now = before
	now.Cur = uint64(m)
	if unix.Setrlimit(unix.RLIMIT_LOCKS, &now) != nil { // the mark is above the hard limit
		return func() {}
	}
	return func() { _ = unix.Setrlimit(unix.RLIMIT_LOCKS, &before) }
}

// canMark reports whether this process can mark its children.
func canMark() bool {
	var limit unix.Rlimit
	return unix.Getrlimit(unix.RLIMIT_LOCKS, &limit) == nil && limit.Max >= 1<<(runBits+childBits)
}

// markOf returns the mark of a process, or 0 if unknown.
func markOf(pid int) mark {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	_, after, _ := bytes.Cut(text, []byte("Max file locks"))
	if words := bytes.Fields(after); len(words) > 0 {
		n, _ := strconv.ParseUint(string(words[0]), 10, 64)
		return mark(n)
	}
	return 0
}
