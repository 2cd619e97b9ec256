package main

import (
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// Its output being stuck, it cannot end cleanly; a second signal ends it.
func TestSecondSignalEndsAStuckProgram(t *testing.T) {
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
	p := programtest.New(t, "-endpoint", f.endpoint())
	p.Stdout = in
	p.Start()
	in.Close()
	subscribed(t, f, 1)
	p.Eventually("a signal ends it", func() bool {
		p.Signal(syscall.SIGTERM) // SIGINT may be ignored, as in the background of a script
		return p.Ended()
	})
	if got := p.ProcessState.String(); got != "signal: terminated" {
		t.Errorf("it ended by %s", got)
	}
}
