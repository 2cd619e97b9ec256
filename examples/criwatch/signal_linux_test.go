package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Its output being stuck, it cannot end cleanly; a second signal ends it.
func TestSecondSignal(t *testing.T) {
	f := newFake(t)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	size, err := unix.FcntlInt(in.Fd(), unix.F_SETPIPE_SZ, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(make([]byte, size)); err != nil { // it is full from the beginning
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-endpoint", f.endpoint())
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "CRIWATCH_MAIN=1"), in, testLog{t}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	subscribed(t, f, 1)
	var failed *exec.ExitError
	soon(t, "a signal ends it", func() bool {
		_ = cmd.Process.Signal(syscall.SIGINT)
		select {
		case err := <-ended:
			return errors.As(err, &failed)
		default:
			return false
		}
	})
	if status := failed.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("it ended by %v", failed)
	}
}
