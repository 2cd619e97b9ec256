//go:build long

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/programtest"
)

// crashScript runs for a while and exits, until there is a file that says to stay. It
// notes when it begins and when it ends: what the processes did, whoever says what. Two
// that ran at once would end more often than they begin alone.
const crashScript = `read up idle </proc/uptime; echo "begin $up" >>/log/$NAME
if [ -e /log/stay ]; then exec sleep 1000000; fi
sleep %s
read up idle </proc/uptime; echo "end $up" >>/log/$NAME
exit %d`

// tick is the resolution of these times.
const tick = 10 * time.Millisecond

// booted is when the machine was, so that booted plus its uptime is now.
var booted = sync.OnceValue(func() time.Time {
	text, _ := os.ReadFile("/proc/uptime")
	up, _, _ := strings.Cut(string(text), " ")
	since, err := time.ParseDuration(up + "s")
	if err != nil {
		panic(err)
	}
	return time.Now().Add(-since)
})

// crashing makes a container that crashes again and again.
func (d *kubelet) crashing(p testPod, logs, name, runs string, code int) {
	d.t.Helper()
	created, err := d.client.CreateContainer(d.ctx, &cri.CreateContainerRequest{
		PodSandboxId: p.id, SandboxConfig: p.config,
		Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{Name: name},
			Image:    &cri.ImageSpec{Image: d.image},
			Command:  []string{"/bin/sh", "-c"},
			Args:     []string{fmt.Sprintf(crashScript, runs, code)},
			Envs:     []*cri.KeyValue{{Key: "NAME", Value: []byte(name)}}, // lost, nothing would be logged
			Mounts:   []*cri.Mount{{ContainerPath: "/log", HostPath: logs}},
			LogPath:  name + "_0.log",
			Linux: &cri.LinuxContainerConfig{SecurityContext: &cri.LinuxContainerSecurityContext{
				NamespaceOptions: p.config.Linux.SecurityContext.NamespaceOptions,
			}},
		},
	})
	if err == nil {
		_, err = d.client.StartContainer(d.ctx, &cri.StartContainerRequest{ContainerId: created.ContainerId})
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// A life is what a container's processes have noted: the n-th begins and ends, at the
// zero time if it was cut off.
type life struct{ begins, ends []time.Time }

// cut counts the attempts that were cut off: killed by the runtime.
func (l life) cut() (n int) {
	for _, end := range l.ends {
		if end.IsZero() {
			n++
		}
	}
	return n
}

// readLife reads the log of a container. Attempts that overlap are a mistake.
func readLife(t testing.TB, logs, name string) (l life) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(logs, name))
	if errors.Is(err, fs.ErrNotExist) {
		return l // it has not begun yet
	}
	if err != nil {
		t.Fatal(err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1] // a line may be being written
	for entry := range strings.Lines(string(text)) {
		word, stamp, _ := strings.Cut(strings.TrimSpace(entry), " ")
		up, err := time.ParseDuration(stamp + "s")
		if err != nil {
			t.Fatalf("%s: %q: %v", name, entry, err)
		}
		switch at := booted().Add(up); {
		case word == "begin":
			if len(l.begins) > len(l.ends) {
				l.ends = append(l.ends, time.Time{})
			}
			l.begins = append(l.begins, at)
		case word == "end" && len(l.begins) == len(l.ends)+1:
			l.ends = append(l.ends, at)
		default:
			t.Fatalf("%s: an exit was acted on twice:\n%s", name, text)
		}
	}
	return l
}

// A span is a time from one moment to another.
type span struct{ from, to time.Time }

// A crowd is fifty containers that crash, and the criwatch that restarts them.
type crowd struct {
	d     *kubelet
	logs  string // what the containers' processes note
	names []string
	curve backoff.Policy
	args  []string

	begun   time.Time
	watched time.Time // by criwatch: its containers were started before
	program *programtest.Program
	printed []*programtest.Buffer // by all of them
	away    []span                // criwatch, or the runtime
	kills   map[string]int
	cpu     time.Duration // that criwatch has used
}

// newCrowd makes the containers and starts criwatch.
func newCrowd(d *kubelet, curve backoff.Policy, args ...string) *crowd {
	d.t.Helper()
	control(d.t, "up")
	w := &crowd{d: d, logs: d.t.TempDir(), curve: curve, kills: map[string]int{}, begun: time.Now()}
	for i := range 10 {
		p := d.runPod()
		for j := range 5 {
			name := fmt.Sprintf("c%d-%d", i, j)
			w.names = append(w.names, name)
			d.crashing(p, w.logs, name, fmt.Sprintf("%d.%d", 1+j, i), 1+j)
		}
	}
	policy := policyOf(d.t, fmt.Sprintf("containers: [{namespace: %s, curve: {initial: %v, max: %v}}]", d.namespace, curve.Initial, curve.Max))
	w.args = append([]string{"-endpoint", d.endpoint, "-format", "json", "-restart", policy, "-state", filepath.Join(d.t.TempDir(), "state")}, args...)
	w.watched = time.Now()
	w.start()
	w.away = append(w.away, span{w.begun, time.Now()})
	return w
}

func (w *crowd) start() {
	w.program = programtest.New(w.d.t, w.args...)
	w.program.Start()
	w.printed = append(w.printed, &w.program.Out)
}

// finished returns when the attempts of each container ended according to the runtime.
// Where it was killed in the middle of a start, that is later than what the process has
// noted.
func (w *crowd) finished() map[string]map[uint32]time.Time {
	all := map[string]map[uint32]time.Time{}
	for _, name := range w.names {
		all[name] = map[uint32]time.Time{}
	}
	for _, out := range w.printed {
		for line := range strings.Lines(out.String()) {
			var r jsonRow
			if json.Unmarshal([]byte(line), &r) == nil && r.State == "CrashLoopBackOff" && r.Exit != nil && all[r.Name] != nil {
				all[r.Name][r.Restarts] = r.Exit.Finished
			}
		}
	}
	return all
}

// kill kills criwatch and starts it again.
func (w *crowd) kill() {
	from := time.Now()
	w.cpu += cpu(w.d.t, w.program.Process.Pid)
	w.program.Kill()
	w.start()
	w.away = append(w.away, span{from, time.Now()})
	w.program.Eventually("it has found the runtime", func() bool { return strings.Contains(w.program.Err.String(), "msg=watching") })
	w.kills["criwatch"]++
}

// killRuntime kills the runtime and starts it again after a while.
func (w *crowd) killRuntime(pause time.Duration) {
	from := time.Now()
	control(w.d.t, "kill")
	time.Sleep(pause)
	control(w.d.t, "up")
	w.away = append(w.away, span{from, time.Now()})
	w.kills["the runtime"]++
}

// end has the containers stay when they begin next, waits until all have, and ends
// criwatch. It returns what each of them did.
func (w *crowd) end() (lives map[string]life, took time.Duration) {
	t := w.d.t
	t.Helper()
	programtest.WriteFile(t, w.logs, "stay", "", 0o600)
	programtest.Eventually(t, "all of them run and stay", func() bool {
		return !slices.ContainsFunc(w.names, func(name string) bool {
			l := readLife(t, w.logs, name)
			return len(l.begins) == len(l.ends)
		}) && w.d.running() == len(w.names)
	})
	took = time.Since(w.begun)
	w.cpu += cpu(t, w.program.Process.Pid)
	w.program.Signal(syscall.SIGTERM)
	w.program.Done(exitEnded)
	lives = map[string]life{}
	for _, name := range w.names {
		lives[name] = readLife(t, w.logs, name)
	}
	return lives, took
}

// since returns the moment from which the restart of what ended at a time is late: when
// its delay is over, and nothing was away any more that was in between.
func (w *crowd) since(end, begin time.Time, delay time.Duration) (from time.Time, disturbed bool) {
	from = end.Add(delay)
	for _, s := range w.away {
		disturbed = disturbed || s.from.Before(begin) && end.Before(s.to)
		if s.to.After(from) && s.to.Before(begin) {
			from = s.to
		}
	}
	return from, disturbed
}

// running counts the containers of d that run.
func (d *kubelet) running() int {
	list, err := d.client.ListContainers(d.ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{
		State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING},
	}})
	if err != nil {
		return -1
	}
	pods := d.pods()
	return len(slices.DeleteFunc(list.Containers, func(c *cri.Container) bool { return !slices.Contains(pods, c.PodSandboxId) }))
}

// mostWithin returns the largest number of times, in order, within a window.
func mostWithin(all []time.Time, window time.Duration) (most int) {
	from := 0
	for i, at := range all {
		for at.Sub(all[from]) > window {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

// above counts the kept latencies above a limit.
func (l latencies) above(limit time.Duration) (n int) {
	for _, d := range l.last {
		if d > limit {
			n++
		}
	}
	return n
}
