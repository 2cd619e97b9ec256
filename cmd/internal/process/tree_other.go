//go:build unix && !linux

package process

import (
	"strconv"
	"syscall"
)

const noSignal = 0

// adoptOrphans does nothing: process 1 is the parent of orphans here.
func adoptOrphans() error { return nil }

// guardAttr starts a guard in its own session, since the end of the program's session
// must not end the guard.
func guardAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// childAttr starts a child in its own process group.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ownProc reports that there is nothing to complain about: no /proc is used.
func ownProc() bool { return true }

func title(pid int) string { return strconv.Itoa(pid) }

// childList is empty: orphans cannot be found here.
type childList struct{}

func (*childList) read() []int { return nil }
func (*childList) close()      {}

func processes(func(pid int) bool) {}

func parentOf(int) (parent int, ended bool) { return 0, true }

// waitAny waits until a child has ended, and reaps it; with syscall.WNOHANG it returns 0
// if none has.
func waitAny(options int) (pid int, reaped *syscall.WaitStatus, err error) {
	reaped = new(syscall.WaitStatus)
	for {
		if pid, err = syscall.Wait4(-1, reaped, options, nil); err != syscall.EINTR {
			return pid, reaped, err
		}
	}
}

func setMark(mark) (undo func()) { return func() {} }

func canMark() bool { return true }

func markOf(int) mark { return 0 }
