package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
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
	"github.com/restartkit/restart/examples/internal/programtest"
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

// A span is a time in which something was away.
type span struct{ from, to time.Time }

// Fifty containers crash; criwatch is killed with -9 ten times, and containerd three
// times. Each exit is acted on once, none is missed, no container begins before its
// delay is over, and the starts keep to the rate.
func TestIntegrationRestartsFiftyThroughKills(t *testing.T) {
	d := newKubelet(t)
	control(t, "up")
	const pods, perPod, rate, burst = 10, 5, 6, 3
	curve := backoff.Policy{Initial: 2 * time.Second, Max: 16 * time.Second, ResetAfter: 10 * time.Minute}
	logs := t.TempDir()
	var names []string
	for i := range pods {
		p := d.runPod()
		for j := range perPod {
			name := fmt.Sprintf("c%d-%d", i, j)
			names = append(names, name)
			d.crashing(p, logs, name, fmt.Sprintf("%d.%d", 1+j, i), 1+j)
		}
	}
	policy := policyOf(t, fmt.Sprintf("containers: [{namespace: %s, curve: {initial: %v, max: %v}}]\nburst: %d\nrate: 1", testNamespace, curve.Initial, curve.Max, burst))
	state := filepath.Join(t.TempDir(), "state")
	var away []span
	var cpuUsed time.Duration
	start := func() *programtest.Program {
		p := programtest.New(t, "-endpoint", d.endpoint, "-o", "json", "-restart", policy, "-state", state, "-rate", fmt.Sprint(rate))
		p.Start()
		return p
	}
	begun := time.Now()
	c := start()
	for kills := range 10 {
		time.Sleep(4*time.Second + rand.N(2*time.Second))
		from := time.Now()
		cpuUsed += cpu(t, c.Process.Pid)
		c.Kill()
		c = start()
		away = append(away, span{from, time.Now()})
		if kills%3 == 2 {
			time.Sleep(rand.N(2 * time.Second))
			from := time.Now()
			control(t, "kill")
			time.Sleep(rand.N(3 * time.Second))
			control(t, "up")
			away = append(away, span{from, time.Now()})
		}
	}
	time.Sleep(45 * time.Second) // nothing is killed
	programtest.WriteFile(t, logs, "stay", "", 0o600)
	programtest.Eventually(t, "all of them run and stay", func() bool {
		return !slices.ContainsFunc(names, func(name string) bool {
			l := readLife(t, logs, name)
			return len(l.begins) == len(l.ends)
		}) && d.running() == len(names)
	})
	cpuUsed += cpu(t, c.Process.Pid)
	took := time.Since(begun)
	c.Signal(syscall.SIGTERM)
	c.Done(exitEnded)

	var all []time.Time
	var late, disturbed latencies
	exits, cut := 0, 0
	for _, name := range names {
		l := readLife(t, logs, name)
		exits += len(l.ends)
		cut += l.cut()
		all = append(all, l.begins[1:]...)
		for i, end := range l.ends {
			if end.IsZero() {
				continue
			}
			gap, delay := l.begins[i+1].Sub(end), curve.Delay(i+1)
			if gap+tick < delay {
				t.Errorf("%s: attempt %d began %v after the exit, its delay is %v", name, i+1, gap, delay)
			}
			if during(away, end, l.begins[i+1]) {
				disturbed.add(gap - delay)
			} else {
				late.add(gap - delay)
			}
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	const window = 5 * time.Second
	most := mostWithin(all, window)
	// A start takes a while, and not always the same.
	if limit := int(rate*(window+2*time.Second).Seconds()) + burst; most > limit {
		t.Errorf("%d containers began within %v, at most %d should", most, window, limit)
	}
	if len(all) != exits {
		t.Errorf("%d exits, %d restarts", exits, len(all))
	}
	if late.all == 0 || disturbed.all == 0 || late.at(1) > 30*time.Second {
		t.Errorf("undisturbed %v, max %v; disturbed %v", late, late.at(1), disturbed)
	}
	fmt.Printf("\n%d containers, %v: %d exits (%d attempts cut off by the runtime), %d restarts, no two at once; criwatch killed 10 times, containerd 3 times\n", len(names), took.Round(time.Second), exits, cut, len(all))
	fmt.Printf("begin after exit and delay: %v, max %.1f ms; %d of %d later than 1 s\n", late, milliseconds(late.at(1)), late.above(time.Second), late.all)
	fmt.Printf("with a kill in between:     %v, max %.1f ms\n", disturbed, milliseconds(disturbed.at(1)))
	fmt.Printf("most begun within %v: %d (rate %d, burst %d); criwatch's CPU time per exit: %.1f ms\n\n", window, most, rate, burst, milliseconds(cpuUsed)/float64(exits))
}

// running counts the containers of the tests that run.
func (d *kubelet) running() int {
	list, err := d.client.ListContainers(d.ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{
		State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING},
	}})
	if err != nil {
		return -1
	}
	return len(list.Containers)
}

// during reports whether something was away between two times, or shortly before, when
// what it missed was still being made up for.
func during(away []span, from, to time.Time) bool {
	return slices.ContainsFunc(away, func(s span) bool { return s.from.Before(to) && from.Add(-10*time.Second).Before(s.to) })
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

// How long after its exit a container begins again if there is no delay: with events,
// and by relisting every second, as a kubelet does.
func TestIntegrationExitToRestart(t *testing.T) {
	d := newKubelet(t)
	const exits = 30
	for _, mode := range []string{"", "-poll"} {
		logs := t.TempDir()
		p := d.runPod()
		name := cmp.Or(strings.TrimPrefix(mode, "-"), "events")
		policy := policyOf(t, "containers: [{name: "+name+", curve: {initial: 1ns, max: 1ns}}]")
		args := []string{"-endpoint", d.endpoint, "-o", "json", "-restart", policy, "-state", filepath.Join(t.TempDir(), "state")}
		if mode != "" {
			args = append(args, mode)
		}
		c := programtest.New(t, args...)
		c.Start()
		time.Sleep(3 * time.Second) // the stream is relied upon
		d.crashing(p, logs, name, "0.7", 1)
		programtest.Eventually(t, "it was restarted often", func() bool { return len(readLife(t, logs, name).begins) > exits })
		programtest.WriteFile(t, logs, "stay", "", 0o600)
		c.Signal(syscall.SIGTERM)
		c.Done(exitEnded)
		var gaps latencies
		l := readLife(t, logs, name)
		for i, begin := range l.begins[1:] {
			gaps.add(begin.Sub(l.ends[i]))
		}
		fmt.Printf("\nexit to restart, %s: %v, max %.1f ms\n", name, gaps, milliseconds(gaps.at(1)))
		d.removePod(p.id)
	}
}
