//go:build long

package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/cmd/internal/interrupt"
	"github.com/restartkit/restart/cmd/internal/programtest"
)

// Every index has grandchildren, one in its process group, one that has left it,
// and one that has no parent any more.
const family = `
sleep 1000 &
setsid sleep 1000 &
(setsid sleep 1000 &)
wait
`

// Every end of runjob ends all processes. Pods that it ended do not count as failed.
func TestInterruptedJobLeavesNoProcess(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			p := start(t, job(50, 30, family), "-")
			p.Running(2 + 50*4) // with its guard
			p.Signal(signal)
			p.Done(exitInterrupted)
			if out := p.Out.String(); strings.Contains(out, "\n  failed:") || !strings.Contains(out, "type: Suspended") || !strings.Contains(out, "# not finished") {
				t.Errorf("status:\n%s", out)
			}
		})
	}
}

// Even after SIGKILL no process is left for long.
func TestKilledRunjobLeavesNoProcess(t *testing.T) {
	p := start(t, job(10, 30, family), "-")
	p.Running(2 + 10*4)
	p.Kill()
	p.Eventually("no process left", func() bool { return len(p.Processes()) == 0 })
}

const stubborn = `
trap "" TERM
echo ready
while :; do sleep 0.05; done
`

// Who does not listen to SIGTERM gets SIGKILL in the end.
func TestStubbornProcessIsKilledAfterGrace(t *testing.T) {
	t.Parallel()
	p := start(t, job(3, 1, stubborn), "-")
	p.Err.Says("ready", 3)
	interrupted := time.Now()
	p.Signal(syscall.SIGINT)
	p.Done(exitInterrupted)
	if took := time.Since(interrupted); took < time.Second {
		t.Errorf("took %v, with a grace period of 1s", took)
	}
}

// The second signal does not wait for the grace period.
func TestSecondSignalKillsPods(t *testing.T) {
	t.Parallel()
	var p *programtest.Program
	waits := func() bool {
		p = start(t, job(3, 3600, stubborn), "-")
		p.Err.Says("ready", 3)
		p.SignalTogether(syscall.SIGINT, syscall.SIGTERM) // which count as one
		p.Err.Says("suspending", 1)
		time.Sleep(4 * interrupt.Same)
		return !p.Ended() && !strings.Contains(p.Err.String(), "killing")
	}
	for try := 1; !waits(); try++ { // a busy machine may part them
		if try == 5 {
			t.Fatal("did not wait for the grace period")
		}
	}
	p.Signal(syscall.SIGINT)
	p.Done(exitInterrupted)
}

// Processes left behind end with their pod, while the Job goes on.
func TestStraysEndWithTheirPod(t *testing.T) {
	t.Parallel()
	p := start(t, job(2, 30, `
test $JOB_COMPLETION_INDEX = 0 && exec sleep 1000
(setsid sleep 1000 &)
sleep 1000 &
`), "-")
	p.Err.Says("succeeded", 1)
	p.Eventually("the strays are gone", func() bool { return len(p.Processes()) == 3 }) // runjob, its guard, index 0
	p.Signal(syscall.SIGINT)
	p.Done(exitInterrupted)
}

// SIGTERM is for the first process of a container, as on a cluster; what it has
// started is left to it until the grace period is over.
func TestFirstProcessIsTerminated(t *testing.T) {
	t.Parallel()
	p := start(t, job(1, 2, `
trap 'echo first terminated' TERM
sh -c 'trap "echo second terminated" TERM; echo ready; while :; do sleep 0.05; done' &
while :; do sleep 0.05; done
`), "-")
	p.Err.Says("ready", 1)
	p.Signal(syscall.SIGTERM)
	p.Done(exitInterrupted)
	if text := p.Err.String(); !strings.Contains(text, "first terminated") || strings.Contains(text, "second terminated") {
		t.Errorf("printed:\n%s", text)
	}
}
