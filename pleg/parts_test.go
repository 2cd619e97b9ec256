package pleg

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestMailbox holds the queue against a slice and a map.
func TestMailbox(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m queue[int, int]
		var order []int
		values := map[int]int{}
		key := rapid.IntRange(0, 5)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k := key.Draw(t, "key")
				if _, ok := values[k]; !ok {
					order = append(order, k)
				}
				values[k]++
				*m.put(k)++
			},
			"drop": func(t *rapid.T) {
				k := key.Draw(t, "key")
				m.drop(k)
				delete(values, k)
				order = slices.DeleteFunc(order, func(x int) bool { return x == k })
			},
			"take": func(t *rapid.T) {
				k, v, ok := m.take()
				if ok != (len(order) > 0) || ok && (k != order[0] || v != values[k]) {
					t.Fatalf("took %d, %d, %v from %v", k, v, ok, order)
				}
				if ok {
					delete(values, k)
					order = order[1:]
				}
			},
			"": func(t *rapid.T) {
				if got := slices.Collect(m.keys()); !slices.Equal(got, order) || m.len() != len(order) {
					t.Fatalf("keys %v, want %v", got, order)
				}
			},
		})
	})
}

// TestTable holds the table against a map, over growing and shrinking.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, model := &table[int, int]{}, map[int]*version[int]{}
		table.init()
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				from := rapid.IntRange(0, 300).Draw(t, "from")
				for k := from; k < from+rapid.IntRange(1, 60).Draw(t, "n"); k++ {
					if model[k] == nil {
						model[k] = &version[int]{at: instant(k)}
						table.add(k, model[k])
					}
				}
			},
			"remove": func(t *rapid.T) {
				from := rapid.IntRange(0, 300).Draw(t, "from")
				for k := from; k < from+rapid.IntRange(1, 200).Draw(t, "n"); k++ {
					if model[k] != nil {
						delete(model, k)
						table.remove(k)
					}
				}
			},
			"": func(t *rapid.T) {
				got := map[int]*version[int]{}
				for n := range table.all() {
					if got[n.key] != nil {
						t.Fatalf("key %d twice", n.key)
					}
					got[n.key] = n.last.Load()
				}
				if !maps.Equal(got, model) || table.len != len(model) {
					t.Fatalf("%d keys, want %d", table.len, len(model))
				}
				for k := range 400 {
					if n := table.find(k); (n == nil) != (model[k] == nil) || n != nil && n.last.Load() != model[k] {
						t.Fatalf("find(%d) = %v", k, n)
					}
				}
				if size := len(*table.buckets.Load()); size < len(model) || size > fewestBuckets && size > 8*len(model)+16 {
					t.Fatalf("%d buckets for %d keys", size, len(model))
				}
			},
		})
	})
}

// TestTableKeepsItsSize in proportion to its keys while it grows and shrinks,
// and makes a new one only then.
func TestTableKeepsItsSize(t *testing.T) {
	table := &table[int, int]{}
	table.init()
	if n := len(*table.buckets.Load()); n != fewestBuckets {
		t.Errorf("it begins with %d buckets", n)
	}
	resizes, last := 0, table.buckets.Load()
	check := func() {
		t.Helper()
		if now := table.buckets.Load(); now != last {
			resizes, last = resizes+1, now
		}
		if size := len(*last); size < table.len || size > max(fewestBuckets, 8*table.len+8) {
			t.Fatalf("%d buckets for %d keys", size, table.len)
		}
	}
	for k := range 1000 {
		table.add(k, &version[int]{})
		check()
	}
	for k := range 1000 {
		table.remove(k)
		check()
	}
	if resizes > 20 || len(*last) != fewestBuckets {
		t.Errorf("%d buckets for none, after %d tables", len(*last), resizes)
	}
}

// TestReadersWithoutLock reads while keys are written, deleted and forgotten:
// what is known of a key never gets older, and what was deleted is not seen
// again under a later time.
func TestReadersWithoutLock(t *testing.T) {
	c := NewCache[int](CacheOptions[int64]{MaxSkew: -1})
	const keys, writes = 8, 4000
	base := time.Now()
	var all sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		all.Go(func() {
			var known [keys]time.Time
			for {
				select {
				case <-stop:
					return
				default:
				}
				for k := range keys {
					e := c.Get(k)
					if e.Modified.Before(known[k]) {
						t.Errorf("key %d: known as of %v, before that as of %v", k, e.Modified, known[k])
						return
					}
					known[k] = e.Modified
					// A present status is the number of its write; a deletion follows
					// every third, and a global time every fifth.
					if e.Present && e.Status%3 == 0 && e.Modified.After(base.Add(time.Duration(10*e.Status+1))) {
						t.Errorf("key %d: write %d, which was deleted, is known as of %v", k, e.Status, e.Modified.Sub(base))
						return
					}
				}
				for range c.All() {
				}
			}
		})
	}
	for i := int64(1); i < writes; i++ {
		for k := range keys {
			c.Set(k, i, nil, base.Add(time.Duration(10*i)))
			if i%3 == 0 {
				c.Delete(k, base.Add(time.Duration(10*i+1)))
			}
		}
		if i%5 == 0 {
			c.UpdateTime(base.Add(time.Duration(10*i + 2)))
		}
	}
	close(stop)
	all.Wait()
	if err := c.valid(); err != nil {
		t.Error(err)
	}
}

// TestAllocations pins what hot calls cost.
func TestAllocations(t *testing.T) {
	c := NewCache[string](CacheOptions[*int]{MaxSkew: -1})
	now := time.Now()
	for i := range 100 {
		c.Set(fmt.Sprint(i), nil, nil, now)
	}
	for range 1000 {
		w := &waiter[string]{key: "1", min: c.instant(now.Add(time.Hour)), done: make(chan struct{})}
		c.waits.add(w)
	}
	ctx, at := context.Background(), now
	for _, tt := range []struct {
		name string
		want float64
		do   func()
	}{
		{"Get", 0, func() { c.Get("7") }},
		{"Get miss", 0, func() { c.Get("x") }},
		{"GetNewerThan hit", 0, func() { c.GetNewerThan(ctx, "7", now.Add(-1)) }},
		{"Set", 1, func() { at = at.Add(1); c.Set("7", nil, nil, at) }},
		{"Set refused", 1, func() { c.Set("7", nil, nil, now) }},
		{"UpdateTime", 0, func() { at = at.Add(1); c.UpdateTime(at) }},
	} {
		if n := testing.AllocsPerRun(100, tt.do); n > tt.want {
			t.Errorf("%s allocates %v times, want %v", tt.name, n, tt.want)
		}
	}
}

// TestStreamState drives the state machine alone, by seconds.
func TestStreamState(t *testing.T) {
	var now time.Time
	s := streamState{period: time.Second}
	for i, line := range strings.Split(strings.TrimSpace(`
		0 connect yes
		0 connect no
		0 listed reliable=no
		1 prove yes
		1 prove no
		1 reliable no
		1 listed reliable=yes
		50 ended lost=yes
		50 connect yes
		50 listed reliable=no
		51 prove yes
		51 reliable no
		51 listed reliable=yes
		60 ended lost=yes
		60 connect no
		61 connect yes
		61 ended lost=no
		62 connect no
		63 connect yes
		123 prove yes
		123 ended lost=no
		123 connect yes
		123 unsupported lost=no
		182 connect no
		183 connect yes
		183 ended lost=no
		183 connect yes
		243 ended lost=no
		243 connect yes`), "\n") {
		var second int
		var do, want string
		fmt.Sscan(strings.TrimSpace(line), &second, &do, &want)
		now = t0.Add(time.Duration(second) * time.Second)
		_, value, found := strings.Cut(want, "=")
		if !found {
			value = want
		}
		var got bool
		switch do {
		case "connect":
			got = s.connect(now)
		case "prove":
			got = s.prove(now)
		case "reliable":
			got = s.reliable()
		case "listed":
			s.listed(now)
			got = s.reliable()
		case "ended":
			got = s.ended(now, nil)
		case "unsupported":
			got = s.ended(now, fmt.Errorf("really: %w", ErrUnsupported))
		}
		if got != (value == "yes") {
			t.Errorf("line %d: %s: got %v", i+1, strings.TrimSpace(line), got)
		}
	}
}

// TestAnswerFreesItsCall: what has been answered is cancelled and forgotten; the
// error of a call that was late says so, that of another is the runtime's, and an
// answer that comes late is one.
func TestAnswerFreesItsCall(t *testing.T) {
	reason := errors.New("down")
	for _, tt := range []struct {
		late bool
		err  error
		want string
	}{
		{false, nil, ""}, {true, nil, ""}, {false, reason, "down"}, {true, reason, "pleg: Pods: no answer within 3m0s: context deadline exceeded"},
	} {
		g, err := NewGenerator[string, int](panicking{}, nil, NewCache[string](CacheOptions[int]{}), GeneratorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ticket := &relistWaiter{serial: g.core.next(), done: make(chan error, 1)}
		g.core.waiters = append(g.core.waiters, ticket)
		c := g.core.calls(t1, false, 0)[0]
		cancelled := false
		d := &runner[string, int]{g: g, inFlight: map[call[string]]*inFlightCall{c: {cancel: func() { cancelled = true }, late: tt.late}}}
		g.RequestRelist("p")
		d.handleResult(result[string, int]{call: c, err: tt.err})
		if len(d.inFlight) != 0 || !cancelled || g.events.pods.len() != 0 {
			t.Errorf("%+v: %d calls, cancelled %v, %d requests left", tt, len(d.inFlight), cancelled, g.events.pods.len())
		}
		got := ""
		select {
		case err := <-ticket.done:
			got = err.Error()
		default:
		}
		if got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

// TestAbandon: a full relist that was under way when nobody drives any longer is
// made anew, though the next periodic one is far off.
func TestAbandon(t *testing.T) {
	r := newRelister[int, int](NewCache[int](CacheOptions[int]{}), GeneratorOptions{}.withDefaults(), true)
	list := func(now time.Time) []call[int] { return r.calls(now, true, time.Hour) }
	r.handleResult(result[int, int]{call: list(t0)[0]}, t0)
	r.finish(t0)
	if calls := list(t1); len(calls) != 0 {
		t.Fatalf("calls %v between relists", calls)
	}
	r.listNow = true
	for range 3 {
		if calls := list(t1); len(calls) != 1 || calls[0].kind != callPods {
			t.Fatalf("calls %v", calls)
		}
		r.abandon()
	}
}

// TestShed: a reader that sleeps through pods by the thousand is told that it
// did, and holds no more than what is there.
func TestShed(t *testing.T) {
	r := newRelister[int, int](NewCache[int](CacheOptions[int]{}), GeneratorOptions{}.withDefaults(), true)
	p := r.record(-1)
	p.present, r.present = true, 1
	rd := r.subscribe()
	for i := range 10000 {
		r.emit(i, []Event[int]{{i, ContainerStarted, "c"}, {i, ContainerDied, "c"}})
		if rd.pending.len() > maxOrphans+2 || rd.dropped != (i > maxOrphans) {
			t.Fatalf("%d slots after %d pods, lost %v", rd.pending.len(), i, rd.dropped)
		}
	}
	if n := int(r.stats.MergedEvents) + 2*(rd.pending.len()-1); n != 20000 {
		t.Errorf("%d events are due or counted as merged, want all", n)
	}
	events, _ := rd.take()
	if !slices.Equal(events, []Event[int]{{Type: PodSync}}) {
		t.Errorf("first %v", events)
	}
	if events, _ = rd.take(); !slices.Equal(events, []Event[int]{{-1, PodSync, ""}}) {
		t.Errorf("then %v", events)
	}
	for i := range 100 {
		r.emit(-1, []Event[int]{{-1, ContainerChanged, fmt.Sprint(i)}})
	}
	for events, ok := rd.take(); ok; events, ok = rd.take() {
		if len(events) > slotEvents || events[0].Pod == -1 && !slices.Equal(events, []Event[int]{{-1, PodSync, ""}}) {
			t.Errorf("at once %v", events)
		}
	}
}

// TestHistogram: a duration counts in the first bucket that it does not exceed.
func TestHistogram(t *testing.T) {
	var h Histogram
	for i, bound := range HistogramBounds() {
		before := h.Counts[i]
		h.observe(time.Duration(bound * 1e9))
		if h.Counts[i] != before+1 {
			t.Errorf("%vs counts elsewhere: %v", bound, h.Counts)
		}
	}
	h.observe(time.Hour)
	h.observe(-time.Hour)
	if h.Counts[14] != 1 || h.Counts[0] != 2 || h.Count() != 16 || h.Sum < 3600 {
		t.Errorf("%+v", h)
	}
}

// panicking is a Runtime whose Status panics.
type panicking struct{}

func (panicking) Pods(context.Context) ([]Pod[string], error) { return []Pod[string]{{ID: "p"}}, nil }
func (panicking) Status(context.Context, string) (int, time.Time, error) {
	panic("status")
}

// TestStatusPanics: the panic is the caller's to see, and no lock is held.
func TestStatusPanics(t *testing.T) {
	g, err := NewGenerator[string, int](panicking{}, nil, NewCache[string](CacheOptions[int]{}), GeneratorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	close(stop)
	d := &runner[string, int]{g: g, stop: stop}
	func() {
		defer func() {
			if r := recover(); r != "status" {
				t.Errorf("recovered %v", r)
			}
		}()
		d.ask(t.Context(), call[string]{kind: callStatus, pod: "p"})
	}()
	g.Stats()
	if err := g.Healthy(); err == nil {
		t.Error("healthy without a relist")
	}
	g.RequestRelist("p")
	g.cache.Close()
	if err := g.Relist(t.Context()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
