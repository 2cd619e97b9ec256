//go:build long

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/cmd/internal/programtest"
	"github.com/restartkit/restart/pleg"
)

// fates is what the test has done so far.
type fates struct {
	mu  sync.Mutex
	all map[string]fate
}

func (f *fates) set(id string, v fate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[string]fate{}
	}
	f.all[id] = v
}

// settle waits until the cache has what the runtime lists and everything done
// has been reported, then checks it. It leaves out the pods of other tests, which a
// runtime may have kept.
func settle(t *testing.T, d *kubelet, w *watch, r *recorder, f *fates) {
	t.Helper()
	ours := func(pod string) bool { _, made := f.all[pod]; return made }
	programtest.Eventually(d.t, "every exit and removal is reported", func() bool {
		for id, v := range f.all {
			if v.exited && !r.has(id, pleg.ContainerDied) || v.removed && !r.has(id, pleg.ContainerRemoved) {
				return false
			}
		}
		return same(t, w, d.client, ours)
	})
	if diff := cmp.Diff(inRuntime(t, d.client, ours), inCache(w, ours)); diff != "" {
		t.Errorf("the cache differs from the runtime's list (-list +cache):\n%s", diff)
	}
}

// Containers are created, crash and are removed while events stream: quick ones
// and killed ones, removed as they exit and later, four pods at a time.
func TestIntegrationCrashes(t *testing.T) {
	d := newKubelet(t)
	w, r, stop := startWatch(t, d.endpoint, &options{relist: time.Second, evented: 300 * time.Second})
	raw := startTally(w)
	programtest.Eventually(d.t, "the stream is in use", func() bool { return w.gen.Stats().Streaming })
	const pods, perPod, workers = 12, 18, 4
	var f fates
	var running sync.WaitGroup
	next := make(chan int, pods)
	for i := range pods {
		next <- i
	}
	close(next)
	for range workers {
		running.Go(func() {
			for i := range next {
				crashPod(d, r, &f, i, perPod)
			}
		})
	}
	running.Wait()
	if t.Failed() {
		return
	}
	settle(t, d, w, r, &f)
	stop()
	r.check(t, f.all)
	raw.check(t, r, f.all)
	s := r.last.stats
	t.Logf("%d containers and sandboxes, %d events received, %d missed, %d stale, %d merged; exit to event p50 %v, p99 %v of %d",
		len(f.all), s.EventsReceived, s.MissedEvents, s.StaleWrites, s.MergedEvents, r.last.late.at(.5), r.last.late.at(.99), r.last.late.all)
	if want := uint64(4 * pods * perPod); s.EventsReceived < want {
		t.Errorf("%d events received, want at least %d", s.EventsReceived, want)
	}
}

// crashPod runs a pod through its life; every third stays.
func crashPod(d *kubelet, r *recorder, f *fates, i, containers int) {
	random := rand.New(rand.NewPCG(1, uint64(i)))
	p := d.runPod()
	stays := i%3 == 0
	for c := range containers {
		code := int32(random.IntN(4))
		switch id := d.start(p, fmt.Sprintf("sleep %s; exit %d", []string{"0", "60", "0.1", "0.01"}[c%4], code)); c % 4 {
		case 0: // removed when it is known to have exited, as a kubelet does
			programtest.Eventually(d.t, "the exit is reported", func() bool { return r.has(id, pleg.ContainerDied) })
			d.remove(id)
			f.set(id, fate{exited: true, code: code, removed: true})
		case 1: // removed while it runs
			d.remove(id)
			f.set(id, fate{exited: true, code: 137, removed: true, hasty: true})
		case 2: // removed at once
			programtest.Eventually(d.t, "the container exits", func() bool { return d.exited(id) })
			d.remove(id)
			f.set(id, fate{exited: true, code: code, removed: true, hasty: true})
		default: // left there
			programtest.Eventually(d.t, "the container exits", func() bool { return d.exited(id) })
			f.set(id, fate{exited: true, code: code, removed: !stays})
		}
	}
	if !stays {
		d.removePod(p.id)
	}
	f.set(p.id, fate{exited: !stays, removed: !stays})
}

// A second client opens the stream and does not read it. containerd stands still
// then, for everything that makes an event; what is over can still be listed.
func TestIntegrationStalledClient(t *testing.T) {
	d := newKubelet(t)
	w, r, stop := startWatch(t, d.endpoint, &options{relist: 500 * time.Millisecond, evented: time.Second})
	raw := startTally(w)
	programtest.Eventually(d.t, "the stream is in use", func() bool { return w.gen.Stats().Streaming })
	var f fates
	p := d.runPod()
	f.set(p.id, fate{})
	var early []string
	for i := range 5 {
		id := d.start(p, fmt.Sprintf("sleep 3600; exit %d", i))
		early = append(early, id)
		f.set(id, fate{exited: true, code: 137})
	}
	unstall := stallStream(t, d)
	enough := make(chan struct{})
	made := make(chan string, 2000)
	go func() { // creates containers, which gets stuck
		defer close(made)
		for range cap(made) {
			select {
			case <-enough:
				return
			default:
			}
			id, err := d.create(p, "exit 0")
			if err != nil {
				t.Errorf("CreateContainer: %v", err)
				return
			}
			made <- id
		}
	}()
	// Once containers are no longer made, those that run are killed.
	stuckAt := -1
	for ; stuckAt != len(made); time.Sleep(5 * time.Second) {
		stuckAt = len(made)
	}
	for _, id := range early {
		kill(t, d.containerPid(id))
	}
	programtest.Eventually(d.t, "exits are reported while the stream stands still", func() bool {
		for _, id := range early {
			if !r.has(id, pleg.ContainerDied) {
				return false
			}
		}
		return true
	})
	if n := len(made); n != stuckAt || n == cap(made) {
		t.Errorf("a client that does not read stalled nothing: %d containers were made before the exits, %d with them", stuckAt, n)
	}
	close(enough)
	unstall()
	for id := range made {
		f.set(id, fate{})
	}
	settle(t, d, w, r, &f)
	stop()
	r.check(t, f.all)
	raw.check(t, r, f.all)
	t.Logf("%d containers made until the runtime stood still; %+v", stuckAt, r.last.stats)
}

// stallStream opens an event stream with the smallest window and reads nothing
// of it until unstall.
func stallStream(t *testing.T, d *kubelet) (unstall func()) {
	t.Helper()
	conn, err := dial(d.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cri.NewRuntimeServiceClient(conn).GetContainerEvents(t.Context(), &cri.GetEventsRequest{}); err != nil {
		t.Fatal(err)
	}
	unstall = sync.OnceFunc(func() { conn.Close() })
	t.Cleanup(unstall)
	return unstall
}

// A tally is a second reader of the generator's events, as they come: a reporter
// would drop what is reported twice.
type tally struct {
	events map[string][]pleg.EventType // by container
	merged map[string]bool             // pods that a PodSync reported
	done   chan struct{}               // closed when all of it is there
}

// startTally reads until the watch has ended.
func startTally(w *watch) *tally {
	y := &tally{events: map[string][]pleg.EventType{}, merged: map[string]bool{}, done: make(chan struct{})}
	go func() {
		defer close(y.done)
		for e := range w.gen.Events(context.Background()) {
			if e.Type == pleg.PodSync {
				y.merged[e.Pod] = true
			} else {
				y.events[e.Container] = append(y.events[e.Container], e.Type)
			}
		}
	}()
	return y
}

// check compares what the generator reported with what was done: no start, exit or
// removal twice, nothing after a removal, and, but for pods that a PodSync reported
// of, every exit and removal.
func (y *tally) check(t checker, r *recorder, done map[string]fate) {
	t.Helper()
	<-y.done
	for id, events := range y.events {
		for i, e := range events[1:] {
			if slices.Index(lifeOrder, e) <= slices.Index(lifeOrder, events[i]) {
				t.Errorf("%s: the generator reported %v", id, events)
			}
		}
	}
	whole := 0
	for id, f := range done {
		if lines := r.of(id); len(lines) == 0 || y.merged[lines[0].pod] || y.merged[""] {
			continue
		}
		whole++
		if got := slices.Contains(y.events[id], pleg.ContainerDied); got != (f.exited || f.removed) {
			t.Errorf("%s: exited %v, but the generator reported %v", id, f.exited || f.removed, y.events[id])
		}
		if got := slices.Contains(y.events[id], pleg.ContainerRemoved); got != f.removed {
			t.Errorf("%s: removed %v, but the generator reported %v", id, f.removed, y.events[id])
		}
	}
	t.Logf("%d of %d fates reported by the generator without a PodSync", whole, len(done))
}
