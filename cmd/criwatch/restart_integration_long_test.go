//go:build long

package main

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/programtest"
)

// A restartOf is the way from the exit of a container to its next beginning.
type restartOf struct {
	container string
	delay     time.Duration
	end       time.Time // noted by the process, as the beginning is
	due       time.Time // when the delay is over, and nothing is away any more
	begin     time.Time
	disturbed bool          // something was away in between
	first     time.Time     // call of the runtime that makes or starts it
	full      time.Duration // between due and first, when the runtime had more calls under way than cores
	runtime   time.Duration // in the calls for this container, until its process has begun
}

func (r restartOf) late() time.Duration { return r.begin.Sub(r.due) }
func (r restartOf) own() time.Duration  { return r.late() - r.runtime - r.full }

func (r restartOf) String() string {
	return fmt.Sprintf("%s: delay %v, late %v: %v until the first call (the runtime was full for %v), %v in the runtime, something away: %t", r.container, r.delay,
		r.late().Round(time.Millisecond), r.first.Sub(r.due).Round(time.Millisecond), r.full.Round(time.Millisecond), r.runtime.Round(time.Millisecond), r.disturbed)
}

// restarts returns what happened to each exit but those that were cut off.
func (w *crowd) restarts(lives map[string]life, calls []runtimeCall) (all []restartOf) {
	finished := w.finished()
	for _, name := range w.names {
		l := lives[name]
		for i, end := range l.ends {
			if end.IsZero() {
				continue
			}
			r := restartOf{container: name, end: end, begin: l.begins[i+1]}
			ended := end
			for _, c := range calls {
				if c.container == name && c.from.Before(r.begin.Add(tick)) && c.attempt > 0 { // an attempt may begin twice, if the runtime was killed
					r.delay, ended = w.curve.Delay(c.attempt), later(end, finished[name][uint32(c.attempt-1)])
				}
			}
			r.due, r.disturbed = w.since(ended, r.begin, r.delay)
			for _, c := range calls {
				if c.container != name || c.from.Before(r.due.Add(-tick)) || c.from.After(r.begin) {
					continue
				}
				if r.first.IsZero() {
					r.first = c.from
					r.full = saturated(calls, r.due, r.first)
				}
				to := r.begin
				if !c.to.IsZero() && c.to.Before(to) {
					to = c.to
				}
				r.runtime += to.Sub(c.from)
			}
			all = append(all, r)
		}
	}
	return all
}

// saturated returns how much of the time between two moments more calls of the runtime
// were under way than the machine has cores.
func saturated(calls []runtimeCall, from, to time.Time) (sum time.Duration) {
	type change struct {
		at time.Time
		by int
	}
	changes := []change{{to, 0}}
	for _, c := range calls {
		if c.from.Before(to) && c.to.After(from) {
			changes = append(changes, change{later(c.from, from), 1}, change{c.to, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return a.at.Compare(b.at) })
	n, last := 0, from
	for _, c := range changes {
		if c.at.After(to) {
			break
		}
		if n > runtime.NumCPU() {
			sum += c.at.Sub(last)
		}
		n, last = n+c.by, c.at
	}
	return sum
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Fifty containers crash; criwatch is killed with -9 ten times, and containerd three
// times. Each exit is acted on once, none is missed, and every container begins between
// its delay and a second after it, but for the time that the runtime takes to start it, and
// that in which it starts more others than the machine has cores.
func TestIntegrationRestartsFiftyThroughKills(t *testing.T) {
	d := newKubelet(t)
	w := newCrowd(d, backoff.Policy{Initial: 2 * time.Second, Max: 16 * time.Second, ResetAfter: 10 * time.Minute})
	for n := range 10 {
		time.Sleep(4*time.Second + rand.N(2*time.Second))
		w.kill()
		if n%3 == 2 {
			time.Sleep(rand.N(2 * time.Second))
			w.killRuntime(rand.N(3 * time.Second))
		}
	}
	time.Sleep(45 * time.Second) // nothing is killed
	lives, took := w.end()
	exits := w.judge(lives, runtimeCalls(t, d.endpoint), time.Second)
	fmt.Printf("%v, killed: %v; criwatch's CPU time per exit: %.1f ms\n\n", took.Round(time.Second), w.kills, milliseconds(w.cpu)/float64(exits))
}

// judge checks that each exit was followed by one beginning, not before its delay was
// over, and no later than a limit without the runtime. It prints how late they were, and
// returns the number of exits.
func (w *crowd) judge(lives map[string]life, calls []runtimeCall, limit time.Duration) (exits int) {
	t := w.d.t
	t.Helper()
	begins, cut := 0, 0
	for _, l := range lives {
		exits, begins, cut = exits+len(l.ends), begins+len(l.begins)-1, cut+l.cut()
	}
	if begins != exits {
		t.Errorf("%d exits, %d restarts", exits, begins)
	}
	var raw, own, disturbed, disturbedOwn, inRuntime latencies
	for _, r := range w.restarts(lives, calls) {
		if gap := r.begin.Sub(r.end); gap+tick < r.delay {
			t.Errorf("%s began %v after its exit, its delay is %v", r.container, gap, r.delay)
		}
		if r.late() > time.Second {
			fmt.Println(r)
		}
		inRuntime.add(r.runtime)
		if r.disturbed {
			disturbed.add(r.late())
			disturbedOwn.add(r.own())
		} else {
			raw.add(r.late())
			own.add(r.own())
		}
		if r.own() > limit {
			t.Errorf("%v", r)
		}
	}
	fmt.Printf("\n%d containers: %d exits (%d attempts cut off by the runtime), %d restarts, no two at once; load average %s\n", len(w.names), exits, cut, begins, loadAverage(t))
	for _, x := range []struct {
		what string
		l    latencies
	}{{"nothing away", raw}, {"nothing away, without the runtime", own}, {"something away", disturbed}, {"something away, without the runtime", disturbedOwn}, {"the runtime's time", inRuntime}} {
		fmt.Printf("%-40s %v, max %.1f ms; later than 1 s: %d\n", x.what, x.l, milliseconds(x.l.at(1)), x.l.above(time.Second))
	}
	return exits
}

// The starts keep to -rate while criwatch and containerd are killed.
func TestIntegrationRateHoldsThroughKills(t *testing.T) {
	d := newKubelet(t)
	const rate, burst, window = 6, 3, 5 * time.Second
	w := newCrowd(d, backoff.Policy{Initial: 2 * time.Second, Max: 4 * time.Second, ResetAfter: 10 * time.Minute}, "-rate", fmt.Sprint(rate), "-burst", fmt.Sprint(burst))
	for n := range 4 {
		time.Sleep(4*time.Second + rand.N(2*time.Second))
		w.kill()
		if n == 2 {
			w.killRuntime(rand.N(3 * time.Second))
		}
	}
	time.Sleep(10 * time.Second)
	lives, took := w.end()
	exits, begins := 0, 0
	for _, l := range lives {
		exits, begins = exits+len(l.ends), begins+len(l.begins)-1
	}
	if begins != exits {
		t.Errorf("%d exits, %d restarts", exits, begins)
	}
	var starts []time.Time
	known := map[string]bool{} // a start that the runtime's death cut off is made again
	for _, c := range runtimeCalls(t, d.endpoint) {
		if c.method == "StartContainer" && c.from.After(w.watched) && !known[c.id] {
			starts = append(starts, c.from)
			known[c.id] = true
		}
	}
	// Calls that are under way when the window begins may be logged in it.
	most := mostWithin(starts, window)
	if limit := int(rate*window.Seconds()) + burst + mostStarts; most > limit {
		t.Errorf("%d containers were started within %v, at most %d should", most, window, limit)
	}
	fmt.Printf("\n%d exits in %v, killed: %v; most started within %v: %d (rate %d, burst %d)\n\n", exits, took.Round(time.Second), w.kills, window, most, rate, burst)
}

var awayFor = flag.Duration("away", 0, "how long the runtime is gone in TestIntegrationRuntimeAwayForMinutes, for example 130s")

// containerd is gone for minutes. What exited before and meanwhile is started when it is
// back, and criwatch neither fills its log nor its memory.
func TestIntegrationRuntimeAwayForMinutes(t *testing.T) {
	if *awayFor == 0 {
		t.Skip("takes minutes: -away 130s")
	}
	d := newKubelet(t)
	w := newCrowd(d, backoff.Policy{Initial: 2 * time.Second, Max: 16 * time.Second, ResetAfter: 10 * time.Minute})
	time.Sleep(20 * time.Second)
	pid := w.program.Process.Pid
	lines, used, memory := strings.Count(w.program.Err.String(), "\n"), cpu(t, pid), residentMemory(t, pid)
	w.killRuntime(*awayFor)
	lines, used = strings.Count(w.program.Err.String(), "\n")-lines, cpu(t, pid)-used
	fmt.Printf("\nthe runtime was gone for %v: %d lines of log, %v of CPU time, resident memory %d kB before and %d kB after\n", *awayFor, lines, used, memory, residentMemory(t, pid))
	time.Sleep(20 * time.Second)
	lives, _ := w.end()
	w.judge(lives, runtimeCalls(t, d.endpoint), *awayFor) // a minute's exits are due at once
}

// residentMemory returns that of a process, in kB.
func residentMemory(t testing.TB, pid int) (kB int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	if _, err := fmt.Sscan(rest, &kB); err != nil {
		t.Fatal(err)
	}
	return kB
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
		args := []string{"-endpoint", d.endpoint, "-format", "json", "-restart", policy, "-state", filepath.Join(t.TempDir(), "state")}
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
