package criwatch

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/restartkit/restart/pleg"
)

// quick has short periods, so that what depends on them is soon there.
func quick() Options { return Options{Relist: 20 * time.Millisecond, Evented: time.Hour} }

// story is what was reported of a container, in words.
func story(r *recorder, container string) (words []string) {
	for _, l := range r.of(container) {
		word := string(l.event)
		if l.exit != nil {
			word += fmt.Sprint(" ", l.exit.Code)
		}
		words = append(words, word)
	}
	return words
}

// streams waits until the watch relies on the stream and the fake has it open: a
// runtime does not say when it has, so what happens in between may be reported late.
func streams(t *testing.T, f *fakeRuntime, w *watch) {
	t.Helper()
	eventually(t, "the stream is in use", func() bool { return f.listening() && w.gen.Stats().Streaming })
}

// A pod's life is reported alike whether the runtime streams, streams with stamps in
// seconds or none, answers like CRI-O, or cannot stream.
func TestWatchIsAlikeOnEveryRuntime(t *testing.T) {
	for name, setup := range map[string]func(*fakeRuntime, *Options){
		"evented":       func(*fakeRuntime, *Options) {},
		"like CRI-O":    func(f *fakeRuntime, _ *Options) { f.full = true },
		"in seconds":    func(f *fakeRuntime, _ *Options) { f.full, f.unit = true, time.Second },
		"no stamps":     func(f *fakeRuntime, _ *Options) { f.unit = 0 },
		"polled":        func(_ *fakeRuntime, o *Options) { o.Poll = true },
		"not supported": func(f *fakeRuntime, _ *Options) { f.noStream = true },
	} {
		t.Run(name, func(t *testing.T) {
			f, o := newFake(t), quick()
			setup(f, &o)
			f.runPod("old")
			f.start("old", "o1")
			f.exit("o1", 9)
			time.Sleep(2 * time.Millisecond) // o1's exit is before the watch
			w, r, stop := startWatch(t, f.endpoint(), o)
			eventually(t, "what was there is reported", func() bool { return r.has("o1", pleg.ContainerDied) })
			evented := !o.Poll && !f.noStream
			if evented {
				streams(t, f, w)
			}
			f.runPod("a")
			f.start("a", "a1")
			eventually(t, "the start is reported", func() bool { return r.has("a1", pleg.ContainerStarted) })
			f.exit("a1", 3)
			eventually(t, "the exit is reported", func() bool { return r.has("a1", pleg.ContainerDied) })
			f.removePod("a")
			eventually(t, "the removal is reported", func() bool { return r.has("a", pleg.ContainerRemoved) && r.has("a1", pleg.ContainerRemoved) })
			if stats := w.gen.Stats(); stats.Streaming != evented {
				t.Errorf("streaming %v", stats.Streaming)
			}
			stop()

			for container, want := range map[string][]string{
				"old": {"ContainerStarted"},
				"o1":  {"ContainerDied 9"},
				"a":   {"ContainerStarted", "ContainerDied", "ContainerRemoved"},
				"a1":  {"ContainerStarted", "ContainerDied 3", "ContainerRemoved"},
			} {
				got := slices.DeleteFunc(story(r, container), func(s string) bool { return s == "ContainerChanged" })
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", container, diff)
				}
			}
			died := r.of("a1")
			l := died[slices.IndexFunc(died, func(l line) bool { return l.event == pleg.ContainerDied })]
			if late, ok := l.late(); !ok || late < 0 || l.meta.Name != "name-a" || l.name != "name-a1" || l.attempt != 2 || l.before {
				t.Errorf("the exit: %+v", l)
			}
			if l := r.of("o1")[0]; !l.before {
				t.Errorf("the exit of before: %+v", l)
			}
			if o.Poll && f.count("GetContainerEvents") > 0 {
				t.Error("polling, it opened a stream")
			}
			if w.late.all != 1 {
				t.Errorf("%d latencies", w.late.all)
			}
		})
	}
}

// A logBuffer can be read while it is written.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// count returns how often the words were written.
func (b *logBuffer) count(words string) int { return strings.Count(b.String(), words) }

// A container that comes after a list, and is gone before the next, but was in the
// status between them, does not stay in the cache.
func TestContainerSeenOnlyInAStatusIsForgotten(t *testing.T) {
	f, o := newFake(t), quick()
	o.Poll = true
	f.full = true // a status in one call
	f.runPod("a")
	came := make(chan struct{})
	f.hooks["PodSandboxStatus"] = func() {
		f.start("a", "a1")
		f.with(func() {
			f.hooks = map[string]func(){"ListContainers": func() {
				f.with(func() { f.hooks = nil })
				f.removeQuietly("a1")
				close(came)
			}}
		})
	}
	w, r, _ := startWatch(t, f.endpoint(), o)
	<-came
	eventually(t, "the removal is reported", func() bool { return r.has("a1", pleg.ContainerRemoved) })
	eventually(t, "the cache has what the runtime lists", func() bool { return same(t, w, w.node.client, everyPod) })
	got := slices.DeleteFunc(story(r, "a1"), func(s string) bool { return s == "ContainerChanged" })
	if diff := cmp.Diff([]string{"ContainerStarted", "ContainerDied", "ContainerRemoved"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The runtime goes down, containers exit meanwhile, it comes back, with the stream
// or without it.
func TestWatchSurvivesARestartOfTheRuntime(t *testing.T) {
	f := newFake(t)
	w, r, stop := startWatch(t, f.endpoint(), quick())
	streams(t, f, w)
	f.runPod("a")
	for _, id := range []string{"a1", "a2", "a3"} {
		f.start("a", id)
		eventually(t, "the start is reported", func() bool { return r.has(id, pleg.ContainerStarted) })
	}
	f.down()
	f.exitQuietly("a1", 1)
	eventually(t, "the stream is given up", func() bool { return !w.gen.Stats().Streaming })
	eventually(t, "the failure is noted", func() bool { return w.node.troubles().list != nil })
	f.up()
	eventually(t, "the exit while it was down is reported", func() bool { return r.has("a1", pleg.ContainerDied) })
	streams(t, f, w)
	f.exit("a2", 2)
	eventually(t, "the exit is reported", func() bool { return r.has("a2", pleg.ContainerDied) })

	f.down()
	f.with(func() { f.noStream = true })
	f.exitQuietly("a3", 3)
	f.up()
	eventually(t, "the exit while it was down is reported", func() bool { return r.has("a3", pleg.ContainerDied) })
	stop()
	for id, want := range map[string][]string{
		"a1": {"ContainerStarted", "ContainerDied 1"},
		"a2": {"ContainerStarted", "ContainerDied 2"},
		"a3": {"ContainerStarted", "ContainerDied 3"},
	} {
		got := slices.DeleteFunc(story(r, id), func(s string) bool { return s == "ContainerChanged" })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

// A stuckWriter records, but waits before the first line for a token.
type stuckWriter struct {
	recorder
	free chan struct{}
	once sync.Once
}

func (w *stuckWriter) line(l line) error {
	w.once.Do(func() { <-w.free })
	return w.recorder.line(l)
}

// The output is stuck while hundreds of containers come, exit and go. Every exit of a
// container that the runtime's answers have shown is reported once, with its code.
func TestStuckOutputLosesNoExit(t *testing.T) {
	f := newFake(t)
	conn, err := dial(f.endpoint())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	out := &stuckWriter{free: make(chan struct{})}
	w, stop := startWatchTo(t, conn, quick(), out, testLog{t})
	streams(t, f, w)
	done := map[string]fate{"a": {}, "b": {exited: true, removed: true}}
	f.runPod("a")
	f.runPod("b")
	seen := func() {
		eventually(t, "the cache has it all", func() bool { return same(t, w, w.node.client, everyPod) })
	}
	for i := range 120 {
		id := fmt.Sprint("c", i)
		f.start([]string{"a", "b"}[i%2], id)
		done[id] = fate{}
	}
	seen()
	for i := range 120 {
		if i%3 > 0 {
			id := fmt.Sprint("c", i)
			done[id] = fate{exited: true, code: int32(i)}
			f.exit(id, int32(i))
		}
	}
	seen()
	for i := range 120 {
		if i%3 > 1 {
			id := fmt.Sprint("c", i)
			done[id] = fate{exited: true, code: int32(i), removed: true}
			f.remove(id)
		}
	}
	seen()
	f.removePod("b")
	for id, v := range done {
		if f.containers[id] == nil && !v.removed && id != "a" {
			v.hasty, v.exited, v.removed = !v.exited, true, true // gone with its pod, perhaps while it ran
			done[id] = v
		}
	}
	eventually(t, "the cache has it all, and every event came in", func() bool {
		return same(t, w, w.node.client, everyPod) && w.gen.Stats().EventsReceived == uint64(f.count("event"))
	})
	close(out.free)
	missing := func() (ids []string) {
		for id, v := range done {
			if v.exited && !out.has(id, pleg.ContainerDied) {
				ids = append(ids, id)
			}
		}
		return ids
	}
	t.Cleanup(func() {
		for _, id := range missing() {
			t.Errorf("%s: not reported that it exited: %+v, %v", id, done[id], story(&out.recorder, id))
		}
	})
	eventually(t, "every exit is reported", func() bool { return len(missing()) == 0 })
	stop()
	for id, v := range done { // removals need not be reported
		v.removed = v.removed && out.has(id, pleg.ContainerRemoved)
		done[id] = v
	}
	out.check(t, done)
	if w.gen.Stats().MergedEvents == 0 {
		t.Error("no events were merged: the output was not stuck")
	}
}

// inWatch calls do in a bubble of synctest, where a watch over a runtime without a
// socket runs until do returns. The bubble fails the test if a goroutine of the watch
// does not end.
func inWatch(t *testing.T, f func(*fakeRuntime), o Options, do func(*testing.T, *fakeRuntime, *watch, *logBuffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		runtime, log := fakeAt(t, ""), &logBuffer{}
		defer runtime.down()
		f(runtime)
		conn, err := dial("passthrough:///fake", grpc.WithContextDialer(runtime.connect))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		w, stop := startWatchTo(t, conn, o, &recorder{}, log)
		defer stop()
		do(t, runtime, w, log)
	})
}

// The log reports every change once: of the stream, and of the runtime.
func TestEveryTroubleIsLoggedOnce(t *testing.T) {
	says := func(t *testing.T, log *logBuffer, lines ...string) {
		t.Helper()
		time.Sleep(30 * time.Second)
		for _, want := range lines {
			if log.count(want) != 1 {
				t.Errorf("not once: %s", want)
			}
		}
		if n := log.count("msg="); n != len(lines) || t.Failed() {
			t.Fatalf("%d lines, want %d:\n%s", n, len(lines), log)
		}
	}
	o := Options{Relist: time.Second, Evented: time.Hour}
	lines := []string{`msg="streaming events" relisting=1h0m0s`}
	inWatch(t, func(*fakeRuntime) {}, o, func(t *testing.T, f *fakeRuntime, _ *watch, log *logBuffer) {
		says(t, log, lines...)
		f.down()
		lines = append(lines, `msg="no event stream" relisting=1s reason="GetContainerEvents: `, `msg="the runtime does not answer" error="ListContainers: `)
		says(t, log, lines...)
		f.with(func() { f.noStream = true })
		f.up()
		lines = append(lines, `msg="the runtime answers again"`)
		says(t, log, lines...)
	})
	inWatch(t, func(f *fakeRuntime) { f.noStream = true }, o, func(t *testing.T, _ *fakeRuntime, _ *watch, log *logBuffer) {
		says(t, log, `msg="no event stream" relisting=1s reason="GetContainerEvents: pleg: the runtime has no event stream`)
	})
}

// With a stream and nothing happening, nothing is asked of the runtime.
func TestIdleWatchAsksNothing(t *testing.T) {
	pod := func(f *fakeRuntime) {
		f.runPod("a")
		f.start("a", "a1")
	}
	inWatch(t, pod, quick(), func(t *testing.T, f *fakeRuntime, w *watch, _ *logBuffer) {
		time.Sleep(time.Minute)
		before := f.count("ListContainers")
		time.Sleep(50 * time.Minute) // the next full list comes after an hour
		if n := f.count("ListContainers"); n != before || before == 0 || !w.gen.Stats().Streaming {
			t.Errorf("%d lists, then %d", before, n)
		}
	})
}

// Nothing outlives a watch.
func TestWatchLeavesNoGoroutine(t *testing.T) {
	for _, o := range []Options{quick(), {Relist: time.Millisecond, Evented: time.Hour, Poll: true, Stats: time.Millisecond}} {
		inWatch(t, func(f *fakeRuntime) { f.runPod("a") }, o, func(t *testing.T, _ *fakeRuntime, w *watch, _ *logBuffer) {
			time.Sleep(time.Second)
			if w.cache.Len() != 1 {
				t.Errorf("%d pods", w.cache.Len())
			}
		})
	}
}
