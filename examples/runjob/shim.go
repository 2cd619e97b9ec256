package main

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/restartkit/restart/examples/internal/process"
)

// shimName is the program name under which this program stands between a run
// with a state folder and one process of it. It starts the process, passes on
// what the run tells it, and records how the process ended, whether or not the
// run is still there.
const shimName = "runjob-shim"

// killSignal tells a shim to kill its process.
const killSignal = syscall.SIGUSR1

// viaShim has a command run under a shim that writes to record how it ended.
func viaShim(cmd process.Command, record string) process.Command {
	cmd.Shim = func(path string) []string {
		return append([]string{shimName, strconv.Itoa(os.Getpid()), record, path}, cmd.Args...)
	}
	return cmd
}

// shim is the whole program if it was started as one; else it returns at once.
func shim() {
	if os.Args[0] == shimName {
		os.Exit(runShimmed(os.Args[1:]))
	}
}

// runShimmed returns the exit code of the process.
func runShimmed(args []string) int {
	runtime.LockOSThread() // the process gets SIGKILL when the thread that started it ends
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, killSignal)
	if len(args) < 4 || args[0] != strconv.Itoa(os.Getppid()) {
		return exitBad // the run ended before this began: nobody would know of the process
	}
	record, path, argv := args[1], args[2], args[3:]
	began := time.Now()
	var e exit
	pid, err := startShimmed(path, argv, signals)
	if failure, ok := err.(*process.StartError); ok {
		e = exit{Code: failure.Code, Message: failure.Error()}
	} else if err != nil {
		e = exit{Code: 128 + int(syscall.SIGTERM), Message: err.Error(), Stopped: true}
	} else {
		e = attend(pid, signals)
	}
	e.Began, e.At = began, time.Now()
	_ = writeFile(record, e) // without it the run, if it is there, sees the exit code
	return e.Code
}

var errStopped = errors.New("stopped before it was started")

// startShimmed starts the process in a group of its own, as soon as the machine
// can.
func startShimmed(path string, argv []string, signals <-chan os.Signal) (int, error) {
	for failures := 1; ; failures++ {
		pid, err := process.Fork(path, argv, &syscall.ProcAttr{
			Env:   os.Environ(),
			Files: []uintptr{0, 1, 2},
			Sys:   process.DieWithParent(&syscall.SysProcAttr{Setpgid: true}),
		})
		if err == nil || errors.As(err, new(*process.StartError)) {
			return pid, err
		}
		select {
		case <-time.After(shortage.Delay(failures)):
		case <-signals:
			return 0, errStopped
		}
	}
}

// attend passes signals on until the process has ended, and kills what is left
// of its group.
func attend(pid int, signals <-chan os.Signal) (e exit) {
	ended := make(chan syscall.WaitStatus)
	go func() {
		var status syscall.WaitStatus
		for {
			if _, err := syscall.Wait4(pid, &status, 0, nil); !errors.Is(err, syscall.EINTR) {
				break
			}
		}
		ended <- status
	}()
	stopped := false
	for {
		select {
		case status := <-ended:
			_ = syscall.Kill(-pid, syscall.SIGKILL)
			e = exitOf(process.ExitOf(status, time.Now()))
			e.Stopped = stopped
			return e
		case sig := <-signals:
			stopped = true
			if sig == killSignal {
				sig = syscall.SIGKILL
			}
			_ = syscall.Kill(-pid, sig.(syscall.Signal))
		}
	}
}
