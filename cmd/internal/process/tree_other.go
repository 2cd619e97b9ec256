//go:build unix && !linux

package process

import (
	"strconv"
	"syscall"
)

const noSignal = 0

// adoptOrphans is a no-op, since only process 1 adopts orphans here.
func adoptOrphans() error { return nil }

// guardAttr starts a guard in its own session, so that the guard survives the end of
// the program's session.
func guardAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// childAttr starts a child in its own process group.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ownProc returns true, since /proc is not used here.
func ownProc() bool { return true }

func title(pid int) string { return strconv.Itoa(pid) }

// childList is empty, since orphans cannot be found here.
type childList struct{}

func (*childList) read() []int { return nil }
func (*childList) close()      {}

func processes(func(pid int) bool) {}

func parentOf(int) (parent int, ended bool) { return 0, true }

// waitAny waits until a child has ended, and reaps it. With syscall.WNOHANG it returns
// 0 if no child has ended.
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
