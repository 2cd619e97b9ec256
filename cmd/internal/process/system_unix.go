//go:build unix

package process

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// resume lets a stopped process act on a signal.
const resume = syscall.SIGCONT

// notifyChildren makes a channel receive something when a child has ended.
func notifyChildren(to chan<- os.Signal) { signal.Notify(to, syscall.SIGCHLD) }

// forkExec starts the program at path.
func forkExec(path string, p *Process, files []*os.File, attr *syscall.SysProcAttr) (pid int, err error) {
	var numbers []uintptr
	for _, file := range files {
		numbers = append(numbers, file.Fd())
	}
	c := &p.command
	return syscall.ForkExec(path, c.Args, &syscall.ProcAttr{Dir: c.Dir, Env: c.Env, Files: numbers, Sys: attr})
}

// waitAny takes the exit status of an ended child. ok is false if there is none.
func waitAny() (pid int, status syscall.WaitStatus, ok bool) {
	for {
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if !errors.Is(err, syscall.EINTR) {
			return pid, status, err == nil && pid > 0
		}
	}
}

// signalGroup sends a signal to a process group, and reports whether it has a process.
func signalGroup(group int, s syscall.Signal) bool {
	return !errors.Is(syscall.Kill(-group, s), syscall.ESRCH)
}

func signalProcess(pid int, s syscall.Signal) error { return syscall.Kill(pid, s) }

// OnTerminal reports whether this program is in the foreground of a terminal, whose keys send
// signals to its process group, and whose input a process of another group cannot read.
func OnTerminal() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
