package pleg

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/pleg/statuscache"
)

// A failed list is retried after RelistPeriod, also with a stream, and not earlier on
// any request.
func TestFailedListIsRetriedWithinRelistPeriod(t *testing.T) {
	b := newBench(t, false)
	b.fails(b.asks("Pods")[0], errors.New("down"))
	b.listNow, b.listForPods = true, true
	if at := b.wake(b.period); !at.set || !at.at.Equal(t1) {
		t.Errorf("wakes at %v, want %v", at.at, t1)
	}
	b.now = t1.Add(-1)
	b.asks("")
	b.now = t1
	list := b.asks("Pods")
	if w := b.wake(b.period); w.set {
		t.Errorf("wakes at %v for a relist that is under way", w.at)
	}
	b.asks("")
	b.answer(list[0])
	b.settled()
	if at := b.wake(b.period); !at.set || !at.at.Equal(t1.Add(time.Hour)) {
		t.Errorf("wakes at %v, want an hour after %v", at.at, t1)
	}
	b.now = t1.Add(time.Hour - 1)
	b.asks("")
	b.now = t1.Add(time.Hour)
	b.asks("Pods")
}

// If single pods can be listed, full lists are made only to forget, at most once per
// RelistPeriod. Otherwise one starts as soon as the previous one has ended.
func TestPodListerMakesFullListsRare(t *testing.T) {
	for _, single := range []bool{true, false} {
		b := newBench(t, single)
		b.relisted()
		b.listForPods = true
		want, at := "Pods", t0
		if single {
			want, at = "", t1
		}
		if w := b.wake(b.period); !w.at.Equal(at) {
			t.Errorf("single %v: wakes at %v, want %v", single, w.at, at)
		}
		b.asks(want)
		if single {
			b.now = t1
			b.asks("Pods")
		}
		if !b.relist.lenient {
			t.Errorf("single %v: what a list for single pods finds is counted as missed at once", single)
		}
	}
}

// Only Run follows periods, events and streams. Callers of Relist are served in and
// outside Run.
func TestOnlyRelistListsOutsideRun(t *testing.T) {
	b := newBench(t, true)
	b.running, b.listNow, b.listForPods = false, true, true
	b.asks("")
	b.waiters = []*relistWaiter{{serial: b.next(), done: make(chan error, 1)}}
	list := b.asks("Pods")
	if !b.relist.explicit || b.relist.lenient || b.listNow || b.listForPods {
		t.Errorf("relist %+v; still wanted: now %v, for pods %v", b.relist, b.listNow, b.listForPods)
	}
	late := &relistWaiter{serial: b.next(), done: make(chan error, 1)}
	other := &relistWaiter{serial: b.next(), done: make(chan error, 1)}
	first := b.waiters[0]
	b.waiters = append(b.waiters, late, other)
	b.answer(list[0])
	b.settled()
	if err, ok := receive(first.done); err != nil || !ok {
		t.Errorf("the first waiter has %v, %v", err, ok)
	}
	if _, ok := receive(late.done); ok {
		t.Error("a waiter has a relist that began before it")
	}
	b.dropWaiter(late)
	if !slices.Equal(b.waiters, []*relistWaiter{other}) {
		t.Errorf("%d waiters are left, want the last", len(b.waiters))
	}
	reason := errors.New("down")
	b.fails(b.asks("Pods")[0], reason)
	if err, ok := receive(other.done); err != reason || !ok || len(b.waiters) > 0 {
		t.Errorf("the last waiter has %v, %v; %d are left", err, ok, len(b.waiters))
	}
}

// Calls in progress when Run ends are repeated at once, at most MaxConcurrent at a
// time. If a container they showed is then gone, a PodSync reports it.
func TestInterruptedCallsAreRepeated(t *testing.T) {
	b := newBench(t, true)
	b.o.MaxConcurrent = 2
	b.relisted("p", "q")
	b.now = t1
	b.listNow = true
	b.handleResult(result[string, shown]{call: b.asks("Pods")[0], pods: []Pod[string]{
		{"p", []Container{{ID: "p", State: StateRunning}, {ID: "brief", State: StateRunning}}},
		{"q", []Container{{ID: "q", State: StateExited}}},
		{"r", []Container{{ID: "r", State: StateRunning}}},
	}}, b.now)
	b.asks("Status p, Status q")
	b.abandon()
	b.holds()
	b.now = t2
	rd := b.subscribe()
	rd.take()
	rd.take()
	list := b.asks("Pod r, Pod p, Pods")
	b.answer(list[0], "r")
	b.answer(list[1], "p")
	list = b.asks("Pod q, Status r")
	b.answer(list[0], "q")
	b.answer(list[1])
	for _, c := range b.asks("Status p, Status q") {
		b.answer(c)
	}
	b.asks("")
	for _, want := range []Event[string]{{"r", ContainerStarted, "r"}, {"p", PodSync, ""}} {
		if events, _ := rd.take(); !slices.Equal(events, []Event[string]{want}) {
			t.Errorf("told %v, want %v", events, want)
		}
	}
}

func TestLateCallErrorNamesCallAndLimit(t *testing.T) {
	o := GeneratorOptions{}.withDefaults()
	for want, c := range map[string]call[string]{
		"pleg: Pods: no answer within 3m0s":     {kind: callPods},
		"pleg: Pod(p): no answer within 10s":    {kind: callPod, pod: "p"},
		"pleg: Status(p): no answer within 10s": {kind: callStatus, pod: "p"},
	} {
		if err := c.lateError(o); !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A list has RelistThreshold, other calls StatusTimeout.
func TestCallsHaveTheDeadlinesOfTheOptions(t *testing.T) {
	b := newBench(t, true)
	b.request("p", false)
	list := b.asks("Pod p, Pods")
	if got := list[0].deadline.Sub(t0); got != 10*time.Second {
		t.Errorf("Pod has %v", got)
	}
	if got := list[1].deadline.Sub(t0); got != 3*time.Minute {
		t.Errorf("Pods has %v", got)
	}
	b.now = t1
	b.answer(list[0], "p")
	list = b.asks("Status p")
	if got := list[0].deadline.Sub(t1); got != 10*time.Second || !list[0].start.Equal(t1) {
		t.Errorf("Status begins %v and has %v", list[0].start, got)
	}
}

// Requests during an observation cause one more after it.
func TestOneObservationOfAPodAtATime(t *testing.T) {
	b := newBench(t, true)
	b.relisted()
	b.request("p", false)
	list := b.asks("Pod p")
	b.request("p", false)
	b.request("p", true)
	b.asks("")
	b.answer(list[0], "p")
	b.answer(b.asks("Status p")[0])
	b.answer(b.asks("Pod p")[0], "p")
	b.answer(b.asks("Status p")[0])
	b.asks("")
}

// Each failing pod has its own backoff, for which the Generator wakes up. An urgent
// request ignores it.
func TestFailingPodsHaveSeparateBackoffs(t *testing.T) {
	b := newBench(t, true)
	b.relisted()
	fail := func(pod string) {
		b.request(pod, false)
		b.fails(b.asks("Pod " + pod)[0], errors.New("no"))
	}
	fail("p")
	b.now = t0.Add(500 * time.Millisecond)
	fail("q")
	if w := b.retries(b.now); !w.set || !w.at.Equal(t1) {
		t.Errorf("wakes at %v, want %v", w.at, t1)
	}
	b.asks("")
	b.request("q", false) // not urgent
	b.asks("")
	b.now = t1
	if w := b.retries(b.now); !w.set || !w.at.Equal(t0.Add(1500*time.Millisecond)) {
		t.Errorf("wakes at %v for q", w.at)
	}
	b.fails(b.asks("Pod p")[0], errors.New("no")) // now for two seconds
	b.request("p", true)
	b.answer(b.asks("Pod p")[0], "p")
	b.answer(b.asks("Status p")[0])
	b.request("p", false)
	b.answer(b.asks("Pod p")[0], "p") // nothing is left of its backoff
	b.answer(b.asks("Status p")[0])
	b.now = t2
	if w := b.retries(b.now); w.set {
		t.Errorf("wakes at %v for nobody", w.at)
	}
	b.answer(b.asks("Pod q")[0])
	b.asks("")
	if len(b.pods) != 1 {
		t.Errorf("%d pods are remembered, want one", len(b.pods))
	}
}

// The earlier of two wakeups wins, and never is later than any time.
func TestEarlierWakeupWins(t *testing.T) {
	never, early, late := wakeup{}, wakeAt(t1), wakeAt(t2)
	for _, tt := range []struct{ a, b, want wakeup }{
		{never, never, never}, {never, early, early}, {early, never, early}, {early, late, early}, {late, early, early}, {early, early, early},
	} {
		if got := tt.a.or(tt.b); got != tt.want {
			t.Errorf("%v or %v = %v", tt.a, tt.b, got)
		}
	}
}

// Missing and future timestamps count as now, and one older than ten minutes as that
// old. Only the others are believed.
func TestLocalTimeOfStamps(t *testing.T) {
	for _, tt := range []struct {
		stamp time.Time
		age   time.Duration
		clean bool
	}{
		{time.Time{}, 0, false}, {t9, 0, true}, {t9.Add(1), 0, false}, {t9.Add(-1), 1, true},
		{t9.Add(-oldest), oldest, true}, {t9.Add(-oldest - 1), oldest, false}, {time.Unix(1, 0), oldest, false},
	} {
		if at, clean := localTime(t9, tt.stamp); t9.Sub(at) != tt.age || clean != tt.clean {
			t.Errorf("%v: %v old, clean %v", tt.stamp, t9.Sub(at), clean)
		}
	}
	for stamp, want := range map[time.Time]time.Time{
		{}: {}, t1: t2.Add(-1), t1.Add(1): t1.Add(1), t2.Add(-1): t2.Add(-1),
	} {
		if got := lenientStamp(stamp); !got.Equal(want) {
			t.Errorf("%v stands for %v, want %v", stamp, got, want)
		}
	}
}

// A Relist that waits for another look at a pod, because a call was in progress during
// its list, returns the error of that look. Other waits continue.
func TestFailedLookOfAWaitedPodFailsTheRelist(t *testing.T) {
	b := newBench(t, true)
	b.relisted("p")
	b.now = t1
	b.request("p", false)
	look := b.asks("Pod p")[0]
	waiter := &relistWaiter{serial: b.next(), done: make(chan error, 1)}
	b.waiters = append(b.waiters, waiter)
	b.answer(b.asks("Pods")[0], "p")
	if _, ok := b.done(); ok {
		t.Error("the relist does not wait for p, whose look began before it")
	}
	b.answer(look, "p")
	b.status(b.asks("Status p")[0], nil, Container{ID: "p", State: StateRunning})
	if _, ok := b.done(); ok {
		t.Error("the relist took a look that began before it")
	}
	reason := errors.New("down")
	b.fails(b.asks("Pod p")[0], reason)
	if err, ok := receive(waiter.done); !ok || err != reason {
		t.Errorf("the relist returned %v, %v", err, ok)
	}
	b.request("p", true)
	b.fails(b.asks("Pod p")[0], reason) // nothing waits
	if !b.listFailed || b.relist != nil {
		t.Error("the relist is not failed")
	}
}

// A status stamped earlier than its request counts from its timestamp. One more call of
// Status follows, whose answer counts from its request.
func TestOldStampCausesOneMoreStatusCall(t *testing.T) {
	b := newBench(t, true)
	b.relisted()
	b.now = t2
	b.request("p", false)
	b.answer(b.asks("Pod p")[0], "p")
	old := t0.Add(time.Second + 1)
	for _, want := range []time.Time{old, t2} {
		b.handleResult(result[string, shown]{call: b.asks("Status p")[0], status: shown{{ID: "p", State: StateRunning}}, stamp: old}, b.now)
		if e := b.cache.Get("p"); !e.Modified.Equal(want) {
			t.Errorf("known as of %v, want %v", e.Modified, want)
		}
	}
	b.asks("")
}

// A full list that does not show a pod leaves it to a newer or concurrent look, and the
// relist waits for the latter. If that look shows the pod, or may show it, another look
// follows. If it does not find the pod either, none does.
func TestListLeavesPodsToNewerLooks(t *testing.T) {
	begin := func(known bool) (b *bench, list, look call[string]) {
		b = newBench(t, true)
		b.relisted()
		if known {
			b.relisted("p")
		}
		b.now, b.listNow = t1, true
		list = b.asks("Pods")[0]
		b.request("p", false)
		return b, list, b.asks("Pod p")[0]
	}
	b, list, look := begin(false)
	b.answer(look, "p")
	b.answer(b.asks("Status p")[0])
	b.answer(list)
	b.asks("Pod p")
	b.settled()

	b, list, look = begin(false)
	b.answer(list)
	if _, done := b.done(); done {
		t.Error("the relist has ended while a look is under way")
	}
	b.answer(look, "p")
	b.answer(b.asks("Status p")[0])
	b.answer(b.asks("Pod p")[0], "p")
	b.answer(b.asks("Status p")[0])
	b.settled()

	b, list, look = begin(true)
	b.answer(look)
	b.answer(list)
	b.asks("")
	b.settled()
}

// A step back in two lists in a row is believed with the first status that shows it.
func TestStepBackOfTwoListsIsBelieved(t *testing.T) {
	running, exited := Container{ID: "p", State: StateRunning}, Container{ID: "p", State: StateExited}
	b := newBench(t, true)
	b.listNow = true
	b.lists(b.asks("Pods")[0], exited)
	b.status(b.asks("Status p")[0], nil, exited)
	b.settled()
	b.now, b.listNow = t1, true
	b.lists(b.asks("Pods")[0], running)
	b.now = t2
	b.lists(b.asks("Pods")[0], running)
	b.status(b.asks("Status p")[0], nil, running)
	b.asks("")
	b.settled()
	if n := b.relister.stats.StaleWrites; n != 1 || b.cache.Get("p").Status[0] != running {
		t.Errorf("%d refused; it shows %v", n, b.cache.Get("p").Status)
	}
}

// A container in a list that was repeated causes a look even if the next list shows
// nothing new, because the container may be gone.
func TestContainerOfDroppedListCausesALook(t *testing.T) {
	running, exited, other := Container{ID: "p", State: StateRunning}, Container{ID: "p", State: StateExited}, Container{ID: "other", State: StateRunning}
	b := newBench(t, true)
	b.listNow = true
	b.lists(b.asks("Pods")[0], exited)
	b.status(b.asks("Status p")[0], nil, exited)
	b.settled()
	b.reader = b.subscribe()
	b.reader.take()
	b.now, b.listNow = t1, true
	b.lists(b.asks("Pods")[0], running, other)
	b.lists(b.asks("Pods")[0], exited)
	b.status(b.asks("Status p")[0], nil, exited)
	b.settled()
	if b.drain(); b.told != "PodSync" {
		t.Errorf("told %s", b.told)
	}
	b.now, b.listNow = t2, true
	b.lists(b.asks("Pods")[0], exited)
	b.asks("")
}

// Answered calls are cancelled and forgotten. A late call has an error of its own,
// others that of the runtime, and a late answer counts.
func TestAnsweredCallIsForgotten(t *testing.T) {
	reason := errors.New("down")
	for _, tt := range []struct {
		late bool
		err  error
		want string
	}{
		{false, nil, ""}, {true, nil, ""}, {false, reason, "down"}, {true, reason, "pleg: Pods: no answer within 3m0s: context deadline exceeded"},
	} {
		g, err := NewGenerator[string, int](panicking{}, nil, statuscache.New[string](statuscache.Options[int]{}), GeneratorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		waiter := &relistWaiter{serial: g.core.next(), done: make(chan error, 1)}
		g.core.waiters = append(g.core.waiters, waiter)
		c := g.core.calls(t1, false, 0)[0]
		cancelled := false
		d := &runner[string, int]{g: g, inFlight: map[call[string]]*inFlightCall{c: {cancel: func() { cancelled = true }, late: tt.late}}}
		g.RequestRelist("p")
		d.handleResult(result[string, int]{call: c, err: tt.err})
		if len(d.inFlight) != 0 || !cancelled || g.events.pods.Len() != 0 {
			t.Errorf("%+v: %d calls, cancelled %v, %d requests left", tt, len(d.inFlight), cancelled, g.events.pods.Len())
		}
		got := ""
		select {
		case err := <-waiter.done:
			got = err.Error()
		default:
		}
		if got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

// A full relist in progress when Run ends is repeated, even if the next periodic one is
// far off.
func TestInterruptedListIsRepeated(t *testing.T) {
	r := newRelister[int, int](statuscache.New[int](statuscache.Options[int]{}), GeneratorOptions{}.withDefaults(), true)
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

// A panic of the Runtime reaches the caller and leaves no lock held.
func TestPanicOfARuntimeLeavesNoLock(t *testing.T) {
	g, err := NewGenerator[string, int](panicking{}, nil, statuscache.New[string](statuscache.Options[int]{}), GeneratorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := &runner[string, int]{g: g, results: make(chan result[string, int], 1)}
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

// panicking is a Runtime whose Status panics.
type panicking struct{}

func (panicking) Pods(context.Context) ([]Pod[string], error) { return []Pod[string]{{ID: "p"}}, nil }

func (panicking) Status(context.Context, string) (int, time.Time, error) {
	panic("status")
}
