//go:build long

package main

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/cmd/internal/programtest"
	"github.com/restartkit/restart/pleg"
)

func kill(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
}

// control runs containerd.sh, the only runtime that the tests may kill.
func control(t testing.TB, command string) {
	t.Helper()
	script := os.Getenv("CRI_CONTROL")
	if script == "" {
		t.Skip("kills the runtime, which has to be containerd.sh's: run containerd.sh all")
	}
	if out, err := exec.Command(script, command).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", script, command, err, out)
	}
}

// containerd is killed with -9 and started again three times. While it is down
// containers and a sandbox exit; afterwards all that is reported, and what exits
// then is too.
func TestIntegrationRuntimeRestarts(t *testing.T) {
	d := newKubelet(t)
	control(t, "up") // is there one?
	w, r, stop := startWatch(t, d.endpoint, &options{relist: time.Second, evented: 300 * time.Second})
	raw := startTally(w)
	programtest.Eventually(d.t, "the stream is in use", func() bool { return w.gen.Stats().Streaming })
	var f fates
	var pods []testPod
	for range 4 {
		p := d.runPod()
		pods = append(pods, p)
		f.set(p.id, fate{})
	}
	for round := range 3 {
		down, after := map[string]int{}, map[string]int{}
		for _, p := range pods[round:] { // before it, pods have lost their sandbox
			for range 3 {
				id := d.start(p, "sleep 3600")
				down[id] = d.containerPid(id)
				id = d.start(p, "sleep 3600")
				after[id] = d.containerPid(id)
			}
		}
		lost := pods[round]
		pause := d.sandboxPid(lost.id)
		for id := range after {
			programtest.Eventually(d.t, "starts are reported", func() bool { return r.has(id, pleg.ContainerStarted) })
		}

		control(t, "kill")
		for id, pid := range down {
			kill(t, pid)
			f.set(id, fate{exited: true, code: 137})
		}
		kill(t, pause)
		f.set(lost.id, fate{exited: true})
		time.Sleep(time.Duration(round) * time.Second) // through one, two, three attempts to reconnect
		control(t, "up")
		programtest.Eventually(d.t, "exits while the runtime was down are reported", func() bool {
			for id := range down {
				if !r.has(id, pleg.ContainerDied) {
					return false
				}
			}
			return r.has(lost.id, pleg.ContainerDied)
		})
		programtest.Eventually(d.t, "the stream is back", func() bool { return w.gen.Stats().Streaming })
		if reason := w.node.troubles().stream; errors.Is(reason, pleg.ErrUnsupported) { // it would be asked for a minute later
			t.Fatalf("a runtime that restarts was taken for one without a stream: %v", reason)
		}
		for id, pid := range after {
			kill(t, pid)
			f.set(id, fate{exited: true, code: 137})
		}
		settle(t, d, w, r, &f)
		for id := range down { // containerd itself may lose the code then
			f.set(id, fate{exited: true, code: d.exitCode(id)})
		}
	}
	for _, p := range pods {
		d.removePod(p.id)
	}
	for id, v := range f.all {
		v.exited, v.removed = true, true
		f.set(id, v)
	}
	settle(t, d, w, r, &f)
	stop()
	r.check(t, f.all)
	raw.check(t, r, f.all)
	t.Logf("%+v", r.last.stats)
}

// Our own process is killed while a container runs; the container exits; we
// start again (KEP-3386, "ability of the Kubelet to recover the latest state of a
// container after a restart").
func TestIntegrationOwnRestart(t *testing.T) {
	d := newKubelet(t)
	p := d.runPod()
	first := startChild(t, "-endpoint", d.endpoint)
	id := d.start(p, "sleep 3600; exit 1")
	other := d.start(p, "sleep 3600; exit 1")
	programtest.Eventually(d.t, "the start is reported", func() bool { return len(first.of(id, pleg.ContainerStarted)) == 1 })
	if got := first.end(syscall.SIGKILL); got != "signal: killed" {
		t.Fatalf("killed, ended by %s", got)
	}
	kill(t, d.containerPid(id))
	programtest.Eventually(d.t, "the container exits", func() bool { return d.exited(id) })

	second := startChild(t, "-endpoint", d.endpoint)
	programtest.Eventually(d.t, "the exit is reported", func() bool { return len(second.of(id, pleg.ContainerDied)) > 0 })
	kill(t, d.containerPid(other))
	programtest.Eventually(d.t, "the next exit is reported", func() bool { return len(second.of(other, pleg.ContainerDied)) > 0 })
	if got := second.end(syscall.SIGINT); got != "exit status 0" {
		t.Errorf("interrupted: %s", got)
	}
	died := second.of(id, pleg.ContainerDied)
	if len(died) != 1 || died[0].Exit == nil || died[0].Exit.Code != 137 || !died[0].Before {
		t.Errorf("the exit of before: %+v", died)
	}
	if died := second.of(other, pleg.ContainerDied); len(died) != 1 || died[0].Before || died[0].Latency == nil {
		t.Errorf("the exit of afterwards: %+v", died)
	}
	if n := len(first.of(id, pleg.ContainerDied)); n != 0 {
		t.Errorf("the first process reported %d exits", n)
	}
	if last := second.lines[len(second.lines)-1]; last.Type != "Stats" {
		t.Errorf("the last line is a %s", last.Type)
	}
}

// reported reports whether an event of each of the containers was.
func (c *child) reported(event pleg.EventType, containers []string) bool {
	return !slices.ContainsFunc(containers, func(id string) bool { return len(c.of(id, event)) == 0 })
}
