package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/restartkit/restart/cmd/internal/programtest"
)

// A process that ends itself on SIGTERM is not killed.
func TestProcessCanCleanUpWithinGrace(t *testing.T) {
	t.Parallel()
	p := start(t, job(1, 30, `
trap 'sleep 0.2; echo cleaned up; exit 3' TERM
echo ready
while :; do sleep 0.05; done
`), "-")
	p.Err.Says("ready", 1)
	p.Signal(syscall.SIGTERM)
	p.Done(exitInterrupted)
	if !strings.Contains(p.Err.String(), "cleaned up") {
		t.Errorf("not cleaned up:\n%s", p.Err.String())
	}
}

// Under nohup SIGHUP does not end a run.
func TestNohupIgnoresSIGHUP(t *testing.T) {
	t.Parallel()
	gate := newGate(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := programtest.New(t, "-")
	p.Path, p.Args = "/bin/sh", []string{"sh", "-c", `trap "" HUP; exec "$0" -`, self}
	p.Stdin = strings.NewReader(job(1, 30, "echo ready\n"+gate.wait))
	p.Start()
	p.Err.Says("ready", 1)
	p.Signal(syscall.SIGHUP)
	gate.open(t)
	p.Done(exitComplete)
}
