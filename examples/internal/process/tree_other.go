//go:build unix && !linux

package process

import "syscall"

const noSignal = 0

// adoptOrphans does nothing: process 1 is the parent of orphans here.
func adoptOrphans() error { return nil }

// guardAttr starts a guard in its own session, since the end of the program's session
// must not end the guard.
func guardAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// childList is empty: orphans cannot be found here.
type childList struct{}

func (*childList) read() []int { return nil }
func (*childList) close()      {}

func processes(func(pid int) bool) {}

func parentOf(int) (parent int, ended bool) { return 0, true }

// waitAny waits until a child has ended, and reaps it.
func waitAny() (pid int, reaped *syscall.WaitStatus, err error) {
	reaped = new(syscall.WaitStatus)
	for {
		if pid, err = syscall.Wait4(-1, reaped, 0, nil); err != syscall.EINTR {
			return pid, reaped, err
		}
	}
}

func setMark(mark) (undo func()) { return func() {} }

func markOf(int) mark { return 0 }
