package statuscache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/pleg/statuscache"
	"pgregory.net/rapid"
)

// The cache answers like the model after every operation. No stale write wins, no
// waiter that could be answered remains, knowledge never gets older, and a Watch loop
// ends with the cache's state.
func TestCacheAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			m := newModel()
			o := statuscache.Options[string]{AcceptEqual: rapid.Bool().Draw(t, "equal"), MaxSkew: -1}
			if rapid.Bool().Draw(t, "skew") {
				o.MaxSkew = 3 * time.Second
			}
			if rapid.Bool().Draw(t, "merge") {
				o.Merge = func(old, new string) string { return new + "|" + old[:1] }
			}
			m.acceptEqual, m.maxSkew, m.merge = o.AcceptEqual, o.MaxSkew, o.Merge
			x := &machine{c: statuscache.New[string](o), m: m, known: map[string]time.Time{}}
			t.Repeat(map[string]func(*rapid.T){
				"set": x.set, "delete": x.delete, "confirm": x.confirm, "time": x.updateTime, "sleep": x.sleep, "burst": x.burst,
				"wait": x.wait, "waitFor": x.waitFor, "cancel": x.cancel, "watch": x.watch, "read": x.read,
				"": x.check,
			})
			x.finish(t)
		})
	})
}

// machine drives a cache and its model through the same random operations, with
// waits and slow Watch loops around them.
type machine struct {
	c        *statuscache.Cache[string, string]
	m        *model
	known    map[string]time.Time
	waits    []*pendingWait
	watchers []*slowWatcher
	writes   int
}

// when draws a time around now, on a grid so that equal times happen.
func (x *machine) when(t *rapid.T) time.Time {
	return time.Now().Add(time.Duration(rapid.IntRange(-6, 6).Draw(t, "when")) * time.Second)
}

func (x *machine) sleep(t *rapid.T) {
	time.Sleep(time.Duration(rapid.IntRange(1, 4).Draw(t, "seconds")) * time.Second)
}

func (x *machine) set(t *rapid.T) {
	key, at := machineKeys.Draw(t, "key"), x.when(t)
	var err error
	if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
		err = errInspect
	}
	x.writes++
	status := fmt.Sprint(x.writes)
	if got, want := x.c.Set(key, status, err, at), x.m.set(key, status, err, at, time.Now()); got != want {
		t.Fatalf("Set(%q) at %v = %v, want %v", key, at, got, want)
	}
}

func (x *machine) delete(t *rapid.T) {
	key, at := machineKeys.Draw(t, "key"), x.when(t)
	if got, want := x.c.Delete(key, at), x.m.delete(key, at, time.Now()); got != want {
		t.Fatalf("Delete(%q) at %v = %v, want %v", key, at, got, want)
	}
}

func (x *machine) confirm(t *rapid.T) {
	key, at := machineKeys.Draw(t, "key"), x.when(t)
	if got, want := x.c.Writer().SetObservedTime(key, at), x.m.confirm(key, at, time.Now()); got != want {
		t.Fatalf("Confirm(%q) at %v = %v, want %v", key, at, got, want)
	}
}

func (x *machine) updateTime(t *rapid.T) {
	at := x.when(t)
	x.c.Writer().UpdateTime(at)
	x.m.updateTime(at, time.Now())
}

// burst writes one key from several goroutines at once: the newest must win.
func (x *machine) burst(t *rapid.T) {
	key, n := machineKeys.Draw(t, "key"), rapid.IntRange(2, 5).Draw(t, "n")
	base := time.Now().Add(-time.Second)
	if !base.After(x.m.known(key)) || x.m.merge != nil {
		return
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { x.c.Set(key, fmt.Sprint("burst", i), nil, base.Add(time.Duration(i))) })
	}
	all.Wait()
	x.m.set(key, fmt.Sprint("burst", n-1), nil, base.Add(time.Duration(n-1)), time.Now())
}

func (x *machine) wait(t *rapid.T) {
	w := &pendingWait{key: machineKeys.Draw(t, "key"), min: x.when(t), out: make(chan answered, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	w.out = make(chan answered, 1)
	go func() {
		e, err := x.c.GetNewerThan(ctx, w.key, w.min)
		w.out <- answered{e, err}
	}()
	x.waits = append(x.waits, w)
}

func (x *machine) waitFor(t *rapid.T) {
	w := &pendingWait{key: machineKeys.Draw(t, "key"), want: fmt.Sprint(x.writes + rapid.IntRange(0, 3).Draw(t, "ahead")), out: make(chan answered, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	go func() {
		e, err := x.c.WaitFor(ctx, w.key, func(e statuscache.Entry[string]) bool { return strings.HasPrefix(e.Status, w.want) })
		w.out <- answered{e, err}
	}()
	x.waits = append(x.waits, w)
}

func (x *machine) cancel(t *rapid.T) {
	if len(x.waits) > 0 {
		w := rapid.SampledFrom(x.waits).Draw(t, "wait")
		w.cancel()
		w.over = true
	}
}

func (x *machine) watch(t *rapid.T) {
	if len(x.watchers) == 3 {
		return
	}
	w := &slowWatcher{view: map[string]statuscache.Entry[string]{}, gate: make(chan struct{}, 1<<20), done: make(chan struct{})}
	ctx := t.Context()
	go func() {
		defer close(w.done)
		for key, e := range x.c.Watch(ctx) {
			if _, shown := w.view[key]; e.Present {
				w.view[key] = e
			} else if shown {
				delete(w.view, key)
			} else {
				w.view["deleted though never shown"] = e
			}
			select {
			case <-w.gate:
			case <-ctx.Done():
			}
		}
	}()
	x.watchers = append(x.watchers, w)
}

func (x *machine) read(t *rapid.T) {
	if len(x.watchers) > 0 {
		w := rapid.SampledFrom(x.watchers).Draw(t, "watcher")
		for range rapid.IntRange(1, 3).Draw(t, "n") {
			w.gate <- struct{}{}
		}
	}
}

func (x *machine) check(t *rapid.T) {
	synctest.Wait()
	if err := x.c.Valid(); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c"} {
		e := x.c.Get(key)
		if want := x.m.get(key); !alike(e, want) {
			t.Fatalf("Get(%q) = %+v, want %+v", key, e, want)
		}
		if e.Modified.Before(x.known[key]) {
			t.Fatalf("Get(%q): known as of %v, before that as of %v", key, e.Modified, x.known[key])
		}
		x.known[key] = e.Modified
	}
	if x.c.Len() != len(x.m.entries) {
		t.Fatalf("Len = %d, want %d", x.c.Len(), len(x.m.entries))
	}
	x.waits = slices.DeleteFunc(x.waits, func(w *pendingWait) bool { return x.answered(t, w) })
}

// answered checks one wait and reports whether it is over.
func (x *machine) answered(t *rapid.T, w *pendingWait) bool {
	e := x.m.get(w.key)
	ready := w.want == "" && e.Modified.After(w.min) || w.want != "" && strings.HasPrefix(e.Status, w.want)
	select {
	case got := <-w.out:
		switch {
		case got.err != nil:
			if !w.over {
				t.Fatalf("wait for %q ended: %v", w.key, got.err)
			}
		case w.want == "" && !got.Modified.After(w.min), w.want != "" && !strings.HasPrefix(got.Status, w.want):
			t.Fatalf("wait for %q newer than %v or %q: %+v", w.key, w.min, w.want, got)
		}
		w.cancel()
		return true
	default:
		if ready || w.over {
			t.Fatalf("wait for %q newer than %v or %q is left", w.key, w.min, w.want)
		}
		return false
	}
}

func (x *machine) finish(t *rapid.T) {
	x.check(t)
	for _, w := range x.watchers {
		for range 1000 {
			w.gate <- struct{}{}
		}
	}
	synctest.Wait()
	for i, w := range x.watchers {
		if len(w.view) != x.c.Len() {
			t.Fatalf("watcher %d ended with %v", i, w.view)
		}
		for key, e := range w.view {
			if got := x.c.Get(key); got.Status != e.Status || got.Err != e.Err {
				t.Fatalf("watcher %d ended with %+v for %q, the cache has %+v", i, e, key, got)
			}
		}
	}
	x.c.Close()
	for _, w := range x.watchers {
		<-w.done
	}
	for _, w := range x.waits {
		if got := <-w.out; got.err != statuscache.ErrClosed && !w.over {
			t.Fatalf("after Close a wait ended with %v", got.err)
		}
		w.cancel()
	}
	if _, waits, watchers := x.c.Held(); waits+watchers != 0 {
		t.Fatalf("%d waits and %d loops left behind", waits, watchers)
	}
}

type pendingWait struct {
	key    string
	min    time.Time
	want   string // WaitFor this status, if not empty
	cancel context.CancelFunc
	over   bool // cancelled
	out    chan answered
}

type slowWatcher struct {
	view map[string]statuscache.Entry[string]
	gate chan struct{} // a token per entry
	done chan struct{}
}

var machineKeys = rapid.SampledFrom([]string{"a", "b", "c"})

// model is the cache as the text of KEP-3386 and the Cache comment describe it:
// two maps and a time, nothing concurrent, nothing fast.
type model struct {
	acceptEqual bool
	maxSkew     time.Duration // negative: no check
	merge       func(old, new string) string
	closed      bool
	global      time.Time
	entries     map[string]statuscache.Entry[string]
	tombstones  map[string]time.Time
	base        map[string]string // the last status written without an error
}

func (m *model) refuses(at, now time.Time) bool {
	return m.closed || at.IsZero() || m.maxSkew >= 0 && at.Sub(now) > m.maxSkew
}

func (m *model) set(key, status string, err error, at, now time.Time) bool {
	if m.refuses(at, now) {
		return false
	}
	if old, ok := m.entries[key]; ok {
		if !at.After(old.Modified) && !(m.acceptEqual && at.Equal(old.Modified)) {
			return false
		}
	} else if !at.After(m.global) || !at.After(m.tombstones[key]) {
		return false
	}
	if err == nil {
		if base, ok := m.base[key]; ok && m.merge != nil {
			status = m.merge(base, status)
		}
		m.base[key] = status
	}
	delete(m.tombstones, key)
	m.entries[key] = statuscache.Entry[string]{Status: status, Err: err, Modified: at, Present: true}
	return true
}

func (m *model) delete(key string, at, now time.Time) bool {
	if m.refuses(at, now) || m.entries[key].Modified.After(at) {
		return false
	}
	if at.After(m.known(key)) || m.entries[key].Present {
		m.tombstones[key] = at
	}
	delete(m.entries, key)
	delete(m.base, key)
	return true
}

func (m *model) confirm(key string, at, now time.Time) bool {
	e, ok := m.entries[key]
	if !ok || m.refuses(at, now) || !at.After(m.known(key)) {
		return false
	}
	e.Modified = at
	m.entries[key] = e
	return true
}

func (m *model) updateTime(at, now time.Time) {
	if !m.refuses(at, now) && at.After(m.global) {
		m.global = at
	}
}

// known returns the time of the model's knowledge of key.
func (m *model) known(key string) time.Time {
	latest := m.global
	for _, t := range []time.Time{m.entries[key].Modified, m.tombstones[key]} {
		if t.After(latest) {
			latest = t
		}
	}
	return latest
}

func (m *model) get(key string) statuscache.Entry[string] {
	e := m.entries[key]
	e.Modified = m.known(key)
	return e
}

func newModel() *model {
	return &model{maxSkew: -1, entries: map[string]statuscache.Entry[string]{}, tombstones: map[string]time.Time{}, base: map[string]string{}}
}

// alike reports whether two entries are equal; times are compared as times.
func alike(a, b statuscache.Entry[string]) bool {
	return a.Status == b.Status && errors.Is(a.Err, b.Err) && errors.Is(b.Err, a.Err) && a.Modified.Equal(b.Modified) && a.Present == b.Present
}
