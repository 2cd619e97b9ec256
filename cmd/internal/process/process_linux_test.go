package process

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestMain is also a program that runs the command in its arguments, for tests that kill it.
func TestMain(m *testing.M) {
	if os.Getenv("RESTART_TEST_RUN") == "" {
		os.Exit(m.Run())
	}
	r, err := New()
	if err != nil {
		panic(err)
	}
	p, err := r.Start(Command{Args: os.Args[1:], Output: func(l Line) { fmt.Println(l.Text) }})
	if err != nil {
		panic(err)
	}
	p.Wait()
}

// When this program is killed, the first process of a command dies with it.
func TestKilledProgramTakesTheFirstProcessAlong(t *testing.T) {
	r := newRunner(t)
	apart(t, r)
	p := start(t, r, "", func(c *Command) {
		c.Args = []string{"/proc/self/exe", "sh", "-c", "trap '' TERM INT HUP; echo $$; while :; do sleep 1; done"}
		c.Env = append(os.Environ(), "RESTART_TEST_RUN=1")
	})
	first := p.number()
	if err := syscall.Kill(p.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone(t, first)
	p.ended()
}

// A process in another session is stopped with the command, and killed after its grace,
// also if it has lost its parent meanwhile.
func TestStopReachesDescendantsOutsideTheGroup(t *testing.T) {
	r := newRunner(t)
	other := apart(t, r)
	for _, grace := range []time.Duration{time.Hour, time.Millisecond} {
		trap := "trap 'echo stopped; exit 0' TERM"
		if grace < time.Second {
			trap = "trap '' TERM"
		}
		p := start(t, r, `trap : TERM; setsid sh -c "`+trap+`; sleep 1000 & echo \$\$; wait" & wait; wait`)
		pid := p.number()
		p.Stop(syscall.SIGTERM, grace)
		if grace > time.Second {
			p.says("stopped")
		}
		p.ended()
		if runs(pid) {
			t.Errorf("grace %v: process %d still runs", grace, pid)
		}
		if !runs(other.Pid()) {
			t.Error("the other command has ended")
		}
	}
}

// startOrphan starts a command that ends and leaves a process in another session.
func startOrphan(t *testing.T, r *Runner) (p *command, orphan int) {
	p = start(t, r, "setsid sh -c 'echo $$; echo >ready; exec sleep 1000' & until test -e ready; do sleep 0.01; done", func(c *Command) { c.Dir = t.TempDir() })
	return p, p.number()
}

// A process that has left the group and lost its parent ends with the last command.
func TestOrphansEndWithTheLastCommand(t *testing.T) {
	r := newRunner(t)
	other := apart(t, r)
	last := start(t, r, "echo ready; exec sleep 1000")
	last.says("ready")
	p, pid := startOrphan(t, r)
	p.ended()
	if !runs(pid) {
		t.Error("it has ended with its own command; the documentation says that nobody can tell")
	}
	last.Kill()
	last.ended()
	other.Kill()
	other.ended()
	if runs(pid) {
		t.Errorf("process %d still runs", pid)
	}
}

// Where a control group can be made, the end of a command is the end of all its processes.
func TestControlGroup(t *testing.T) {
	r := newRunner(t)
	if r.cgroup == "" {
		t.Skip("no control group of version 2 can be seen")
	}
	probe := r.cgroup.make(1 << 30)
	if probe == "" {
		t.Skip("no control group can be made in " + string(r.cgroup))
	}
	probe.remove()
	other := start(t, r, "echo ready; exec sleep 1000")
	other.says("ready")
	p, pid := startOrphan(t, r)
	p.ended()
	if p.cgroup == "" {
		t.Skip("no process can be started in a control group")
	}
	if runs(pid) {
		t.Error("it still runs")
	}
	if _, err := os.Stat(string(p.cgroup)); err == nil {
		t.Errorf("%s is left", p.cgroup)
	}
}
