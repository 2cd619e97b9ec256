//go:build long

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/cmd/internal/interrupt"
	"github.com/restartkit/restart/cmd/internal/programtest"
)

// While supervise's output is unread, restarts go on, and supervise ends on a signal, at
// the end of -for or on a second signal, even if its commands are noisy.
func TestRestartsGoOnWhileNobodyReads(t *testing.T) {
	t.Parallel()
	const config = `
commands:
- name: noisy
  command: ["yes"]
- name: deaf
  command: [sh, -c, "trap 'touch told' TERM; touch deaf; while :; do sleep 0.05; done"]
- name: crashes
  command: [sh, -c, "echo >> log; head -c 100000 /dev/zero | tr '\\0' '\\n'; exit 1"]
  curve: {initial: 10ms, max: 10ms}
`
	for _, tt := range []struct {
		args    string
		signals int
		code    int
	}{{"-grace 1s", 1, 143}, {"-grace 1h", 2, 143}, {"-grace 1s -for 4s", 0, 0}} {
		dir := t.TempDir()
		p := programtest.New(t, append(strings.Fields(tt.args), "-f", file(t, dir, "c.yaml", config))...)
		p.Dir = dir
		p.Pipe()
		p.Start()
		exists := func(name string) bool { _, err := os.Stat(dir + "/" + name); return err == nil }
		if tt.signals > 0 { // with -for, progress depends on the machine
			p.Eventually("restarts", func() bool {
				text, _ := os.ReadFile(dir + "/log")
				return strings.Count(string(text), "\n") > 4 && exists("deaf")
			})
		}
		for n := range tt.signals {
			if n > 0 {
				p.Eventually("the first signal is passed on", func() bool { return exists("told") })
				time.Sleep(4 * interrupt.Same)
			}
			p.Signal(syscall.SIGTERM)
		}
		p.Done(tt.code)
	}
}

// A reader that takes little at a time, all the time, gets what fits until the end
// of the grace period; then supervise ends.
func TestSlowReaderDelaysNoEndOfSupervise(t *testing.T) {
	t.Parallel()
	p := programtest.New(t, "-grace", "1s", "-name", strings.Repeat("long", 10), "--", "yes")
	p.StartWithSlowReader()
	p.Running(2 + 1)
	p.Signal(syscall.SIGTERM)
	p.Done(128 + int(syscall.SIGTERM))
}
