package pleg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// shown is a status that is nothing but its containers.
type shown []Container

func (s shown) Containers() []Container { return s }

// A bench is a relister whose calls the test answers by hand.
type bench struct {
	*testing.T
	*relister[string, shown]
	now     time.Time
	running bool
	period  time.Duration
	reader  *reader[string]
	told    string // to the reader
}

func newBench(t *testing.T, single bool) *bench {
	c := NewCache[string](CacheOptions[shown]{MaxSkew: -1})
	return &bench{T: t, relister: newRelister(c, GeneratorOptions{}.withDefaults(), single), now: t0, running: true, period: time.Hour}
}

// asks checks the calls that are made now.
func (b *bench) asks(want string) []call[string] {
	b.Helper()
	list := b.calls(b.now, b.running, b.period)
	var got []string
	for _, c := range list {
		got = append(got, strings.TrimSpace(c.kind.String()+" "+c.pod))
	}
	if s := strings.Join(got, ", "); s != want {
		b.Errorf("at %v it asks %q, want %q", b.now.Sub(t0), s, want)
	}
	b.holds()
	return list
}

func (b *bench) holds() {
	b.Helper()
	if err := b.valid(); err != nil {
		b.Error(err)
	}
}

// answer answers c with pods that run one container of their own name each.
func (b *bench) answer(c call[string], pods ...string) {
	a := answer[string, shown]{call: c}
	if c.kind == callStatus {
		a.status = shown{{c.pod, StateRunning}}
	}
	for _, id := range pods {
		a.pods = append(a.pods, Pod[string]{id, []Container{{id, StateRunning}}})
	}
	if c.kind == callPod && len(pods) == 0 {
		a.err = ErrNotFound
	}
	b.answered(a, b.now)
	b.holds()
}

// lists answers a call for pods with what p shows.
func (b *bench) lists(c call[string], p ...Container) {
	b.answered(answer[string, shown]{call: c, pods: []Pod[string]{{"p", p}}}, b.now)
	b.holds()
}

// status answers a Status.
func (b *bench) status(c call[string], err error, s ...Container) {
	b.answered(answer[string, shown]{call: c, status: s, err: err}, b.now)
	b.holds()
}

func (b *bench) fails(c call[string], err error) {
	b.answered(answer[string, shown]{call: c, err: err}, b.now)
	b.holds()
}

// settled finishes the relist under way.
func (b *bench) settled() {
	b.Helper()
	start, ok := b.done()
	if !ok {
		b.Fatalf("at %v the relist is still open", b.now.Sub(t0))
	}
	b.cache.UpdateTime(start)
	b.finish(b.now)
	b.holds()
}

// relisted makes one full relist that shows pods.
func (b *bench) relisted(pods ...string) {
	b.Helper()
	b.listNow = true
	list := b.calls(b.now, b.running, b.period)
	for i := 0; i < len(list); i++ {
		b.answer(list[i], pods...)
		list = append(list, b.calls(b.now, b.running, b.period)...)
	}
	b.settled()
}

// TestFailedListIsRetriedWithinRelistPeriod, also where a stream is relied upon
// and the next periodic one would be far off; no sooner, whatever else asks for one.
func TestFailedListIsRetriedWithinRelistPeriod(t *testing.T) {
	b := newBench(t, false)
	b.fails(b.asks("Pods")[0], errors.New("down"))
	b.listNow, b.listHint = true, true
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

// TestListForSinglePodsHasTime where these can be listed alone: it is made only
// to forget, no more often than every RelistPeriod. Without that it is made as
// soon as the one before has ended.
func TestListForSinglePodsHasTime(t *testing.T) {
	for _, single := range []bool{true, false} {
		b := newBench(t, single)
		b.relisted()
		b.listHint = true
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

// TestOnlyRelistListsOutsideRun: periods, hints and streams are Run's; a ticket is
// served in and outside of it.
func TestOnlyRelistListsOutsideRun(t *testing.T) {
	b := newBench(t, true)
	b.running, b.listNow, b.listHint = false, true, true
	b.asks("")
	b.tickets = []*ticket{{serial: b.next(), done: make(chan error, 1)}}
	list := b.asks("Pods")
	if !b.relist.explicit || b.relist.lenient || b.listNow || b.listHint {
		t.Errorf("relist %+v; still wanted: now %v, hint %v", b.relist, b.listNow, b.listHint)
	}
	late := &ticket{serial: b.next(), done: make(chan error, 1)}
	other := &ticket{serial: b.next(), done: make(chan error, 1)}
	first := b.tickets[0]
	b.tickets = append(b.tickets, late, other)
	b.answer(list[0])
	b.settled()
	if err, ok := receive(first.done); err != nil || !ok {
		t.Errorf("the first ticket has %v, %v", err, ok)
	}
	if _, ok := receive(late.done); ok {
		t.Error("a ticket has a relist that began before it")
	}
	b.drop(late)
	if !slices.Equal(b.tickets, []*ticket{other}) {
		t.Errorf("%d tickets are left, want the last", len(b.tickets))
	}
	reason := errors.New("down")
	b.fails(b.asks("Pods")[0], reason)
	if err, ok := receive(other.done); err != reason || !ok || len(b.tickets) > 0 {
		t.Errorf("the last ticket has %v, %v; %d are left", err, ok, len(b.tickets))
	}
}

func receive(c <-chan error) (err error, ok bool) {
	select {
	case err = <-c:
		return err, true
	default:
		return nil, false
	}
}

// TestAbandonedCallsAreMadeAnew: what was under way when nobody drives any longer
// is asked again, at once and not more than Parallel at a time; what it had shown
// of a container that is gone then is told by a PodSync.
func TestAbandonedCallsAreMadeAnew(t *testing.T) {
	b := newBench(t, true)
	b.o.Parallel = 2
	b.relisted("p", "q")
	b.now = t1
	b.listNow = true
	b.answered(answer[string, shown]{call: b.asks("Pods")[0], pods: []Pod[string]{
		{"p", []Container{{"p", StateRunning}, {"brief", StateRunning}}},
		{"q", []Container{{"q", StateExited}}},
		{"r", []Container{{"r", StateRunning}}},
	}}, b.now)
	b.asks("Status p, Status q")
	b.abandon()
	b.holds()
	b.now = t2
	rd := b.join()
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

// TestLateCallSaysWhatWasLate and by which limit.
func TestLateCallSaysWhatWasLate(t *testing.T) {
	o := GeneratorOptions{}.withDefaults()
	for want, c := range map[string]call[string]{
		"pleg: Pods(): no answer within 3m0s":   {kind: callPods},
		"pleg: Pod(p): no answer within 10s":    {kind: callPod, pod: "p"},
		"pleg: Status(p): no answer within 10s": {kind: callStatus, pod: "p"},
	} {
		if err := c.late(o); !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestCallsHaveTheDeadlinesOfTheOptions: a list has RelistThreshold, the others have
// StatusTimeout.
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

// TestOneObservationOfAPodAtATime: what is asked meanwhile is asked after it, once.
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

// TestFailingPodsAreRetriedEachInItsTime, which the generator wakes up for; an
// urgent request does not wait for it.
func TestFailingPodsAreRetriedEachInItsTime(t *testing.T) {
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

// TestEarlierWakeupWins; never is later than any time.
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

// TestStampCountsByItsAge: none is now, one from the future is now, one older
// than ten minutes is that old, and only the others are believed.
func TestStampCountsByItsAge(t *testing.T) {
	for _, tt := range []struct {
		stamp time.Time
		age   time.Duration
		clean bool
	}{
		{time.Time{}, 0, false}, {t9, 0, true}, {t9.Add(1), 0, false}, {t9.Add(-1), 1, true},
		{t9.Add(-oldest), oldest, true}, {t9.Add(-oldest - 1), oldest, false}, {time.Unix(1, 0), oldest, false},
	} {
		if at, clean := local(t9, tt.stamp); t9.Sub(at) != tt.age || clean != tt.clean {
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

// TestGlobalTimeBeforeTheWaitEndsIt: one that is set after a wait has looked and
// before it has begun is not slept through; nor is a write.
func TestGlobalTimeBeforeTheWaitEndsIt(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	c := free(CacheOptions[string]{})
	c.Set("old", "x", nil, t1)
	for _, key := range []string{"absent", "old"} {
		r, floor := c.look(key)
		w := &waiter[string]{key: key, min: max(r.when(), floor)}
		if err := c.wait(over, w, r); err != context.Canceled {
			t.Errorf("%s: nothing has happened: %v", key, err)
		}
	}
	r, floor := c.look("old")
	missing, _ := c.look("absent")
	c.UpdateTime(t2)
	if err := c.wait(over, &waiter[string]{key: "absent", min: floor}, missing); err != nil {
		t.Errorf("absent: %v", err)
	}
	if err := c.wait(over, &waiter[string]{key: "old", min: r.when()}, r); err != nil {
		t.Errorf("old: %v", err)
	}
	r, floor = c.look("old")
	c.Set("old", "y", nil, t2)
	if err := c.wait(over, &waiter[string]{key: "old", min: floor, any: true}, r); err != nil {
		t.Errorf("written: %v", err)
	}
}

// TestTimeItselfFreesNoWait that wants to know of later, nor is such a wait
// overdue before: newer is strictly after.
func TestTimeItselfFreesNoWait(t *testing.T) {
	c := free(CacheOptions[string]{})
	w := &waiter[string]{key: "a", min: c.instant(t2), done: make(chan struct{}), asked: t0}
	c.waits.add(w)
	if freed := c.waits.written("a", w.min); freed != nil || !w.waiting() {
		t.Error("freed by a write of that time")
	}
	if freed, more := c.waits.upTo(w.min); freed != nil || more || !w.waiting() {
		t.Error("freed by a global time of that time")
	}
	if keys, next := c.overdue(t2, time.Second); len(keys) > 0 || !next.at.Equal(t3) {
		t.Errorf("overdue at that time: %v, next %v", keys, next.at)
	}
	if keys, next := c.overdue(t3.Add(-1), time.Second); len(keys) > 0 || !next.at.Equal(t3) {
		t.Errorf("overdue before its limit: %v, next %v", keys, next.at)
	}
	if keys, next := c.overdue(t3, time.Second); !slices.Equal(keys, []string{"a"}) || !next.at.Equal(t4) {
		t.Errorf("overdue at its limit: %v, next %v", keys, next.at)
	}
	c.Delete("b", t3)
	c.waits.add(&waiter[string]{key: "b", any: true, done: make(chan struct{})})
	if c.Delete("b", t3); len(c.waits.byTime) != 2 {
		t.Error("a deletion that says nothing new frees a wait")
	}
	if freed, _ := c.waits.upTo(w.min + 1); freed == nil {
		t.Error("not freed by a later time")
	}
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
		table.add(k, &record[int]{})
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

var brief = Container{"brief", StateRunning}

// TestBriefContainerIsTold: a container that only an observation showed that was
// not recorded, for whatever reason, has been: when the next one does not show
// it, a PodSync says that something was.
func TestBriefContainerIsTold(t *testing.T) {
	running, exited := Container{"p", StateRunning}, Container{"p", StateExited}
	no := errors.New("no")
	for name, seen := range map[string]func(b *bench){
		"the status does not show it": func(b *bench) {
			b.lists(b.asks("Pods")[0], exited, brief)
			b.status(b.asks("Status p")[0], nil, exited)
		},
		"its status failed": func(b *bench) {
			b.lists(b.asks("Pods")[0], running, brief)
			b.status(b.asks("Status p")[0], no)
		},
		"its status came with an error": func(b *bench) {
			b.lists(b.asks("Pods")[0], exited)
			b.status(b.asks("Status p")[0], no, exited, brief)
		},
		"its pod backed off": func(b *bench) {
			b.lists(b.asks("Pods")[0], exited)
			b.status(b.asks("Status p")[0], no)
			b.settled()
			b.listNow = true
			b.lists(b.asks("Pods")[0], exited, brief)
		},
		"something newer refused it": func(b *bench) {
			b.cache.Set("p", nil, nil, t2)
			b.lists(b.asks("Pods")[0], exited, brief)
			b.status(b.asks("Status p")[0], nil, exited, brief)
		},
		"a later list replaced it": func(b *bench) {
			b.o.Parallel, b.listNow = 1, false
			b.request("p", false)
			b.request("q", false)
			b.lists(b.asks("Pod p")[0], exited, brief)
			q := b.asks("Pod q")[0]
			b.listNow = true
			b.lists(b.asks("Pods")[0], exited)
			b.fails(q, ErrNotFound)
		},
		"another look was under way": func(b *bench) {
			b.request("p", false)
			list := b.asks("Pod p, Pods")
			b.lists(list[1], running, brief)
			b.lists(list[0], running)
			b.status(b.asks("Status p")[0], nil, running)
			if b.drain(); strings.Contains(b.told, "PodSync") {
				b.Error("the look that began before concludes from the list")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, true)
			b.relisted("p")
			b.now, b.listNow = t1, true
			b.reader = b.join()
			b.reader.take()
			seen(b)
			b.drain()
			for range 10 { // until all is quiet
				b.now = b.now.Add(time.Minute)
				b.retries(b.now)
				for _, c := range b.calls(b.now, b.running, b.period) {
					switch c.kind {
					case callStatus:
						b.status(c, nil, exited)
					case callPod:
						if c.pod == "p" {
							b.lists(c, exited)
						} else {
							b.fails(c, ErrNotFound)
						}
					case callPods:
						b.lists(c, exited)
					}
				}
				if _, ok := b.done(); ok {
					b.settled()
				}
				b.drain()
			}
			if b.told != "ContainerDied p, PodSync" {
				t.Errorf("told %s", b.told)
			}
		})
	}
}

// drain adds what the reader is due to told.
func (b *bench) drain() {
	for {
		events, ok := b.reader.take()
		if !ok {
			return
		}
		for _, e := range events {
			b.told = strings.TrimPrefix(strings.TrimSpace(b.told+", "+string(e.Type)+" "+e.Container), ", ")
		}
	}
}

// TestFailedLookOfAWaitedPodFailsTheRelist: a Relist that waits for another look
// at a pod, because a call was under way with its list, returns the error of that
// look; other waits go on.
func TestFailedLookOfAWaitedPodFailsTheRelist(t *testing.T) {
	b := newBench(t, true)
	b.relisted("p")
	b.now = t1
	b.request("p", false)
	look := b.asks("Pod p")[0]
	ticket := &ticket{serial: b.next(), done: make(chan error, 1)}
	b.tickets = append(b.tickets, ticket)
	b.answer(b.asks("Pods")[0], "p")
	if _, ok := b.done(); ok {
		t.Error("the relist does not wait for p, whose look began before it")
	}
	b.answer(look, "p")
	b.status(b.asks("Status p")[0], nil, Container{"p", StateRunning})
	if _, ok := b.done(); ok {
		t.Error("the relist took a look that began before it")
	}
	reason := errors.New("down")
	b.fails(b.asks("Pod p")[0], reason)
	if err, ok := receive(ticket.done); !ok || err != reason {
		t.Errorf("the relist returned %v, %v", err, ok)
	}
	b.request("p", true)
	b.fails(b.asks("Pod p")[0], reason) // nothing waits
	if !b.listFailed || b.relist != nil {
		t.Error("the relist is not failed")
	}
}

// TestDeletionWaitsForTheCache: what the cache refuses to delete, because somebody
// stamped it ahead, is not told as gone before it can be.
func TestDeletionWaitsForTheCache(t *testing.T) {
	b := newBench(t, true)
	b.relisted("p")
	b.now, b.listNow = t1, true
	b.reader = b.join()
	b.reader.take()
	b.cache.Set("p", nil, nil, t3)
	b.answer(b.asks("Pods")[0])
	if b.drain(); b.told != "" || !b.cache.Get("p").Present {
		t.Errorf("told %s; present %v", b.told, b.cache.Get("p").Present)
	}
	b.now = t4
	b.retries(b.now)
	b.answer(b.asks("Pod p")[0])
	if b.drain(); b.told != "ContainerDied p, ContainerRemoved p" || b.cache.Get("p").Present {
		t.Errorf("told %s; present %v", b.told, b.cache.Get("p").Present)
	}
}

// TestStrangersAreRememberedUpToABound: one more than that, and of the next only
// a full list is asked for, which forgets them.
func TestStrangersAreRememberedUpToABound(t *testing.T) {
	b := newBench(t, true)
	b.relisted("p", "q")
	b.o.Parallel = 0
	bound := strangers + 2*(b.present+b.live)
	for i := range bound + 1 {
		if b.crowded() || b.listHint {
			t.Fatalf("crowded with %d of %d", i, bound)
		}
		b.tell("p", map[string]rank{fmt.Sprint(i): created})
	}
	if b.held() != bound+1 || !b.crowded() || b.listHint {
		t.Errorf("%d are held, crowded %v, a list wanted %v", b.held(), b.crowded(), b.listHint)
	}
	b.tell("p", map[string]rank{"more": created, "p": running})
	if p := b.pods["p"]; !b.listHint || p.containers["more"] != nil || p.containers["p"].told != running {
		t.Error("one more container is remembered, or one that is there is not told of")
	}
	b.listHint = false
	if b.tell("stranger", nil); b.pods["stranger"] != nil || !b.listHint {
		t.Error("one more pod is remembered")
	}
	o := &observation{serial: b.serial}
	if b.glimpse(b.pods["p"], o, []Container{{"more", StateRunning}}); b.held() != bound+1 {
		t.Error("one more container is remembered for having been seen")
	}
}

// TestLateEventPaysForWhatItTells: a step that the look at a pod found counts as
// told when its event comes before the next full relist, and only up to what that
// tells; else as missed, once.
func TestLateEventPaysForWhatItTells(t *testing.T) {
	b := newBench(t, true)
	b.relisted()
	b.expectTold = true
	counts := func(transitions, told, missed uint64) {
		t.Helper()
		s := b.relister.stats
		if s.Transitions != transitions || s.ReportedEvents != told || s.MissedEvents != missed {
			t.Errorf("%d steps, %d told, %d missed; want %d, %d, %d", s.Transitions, s.ReportedEvents, s.MissedEvents, transitions, told, missed)
		}
	}
	for _, state := range []State{StateCreated, StateRunning, StateExited} {
		b.now = b.now.Add(time.Millisecond)
		b.request("p", false)
		b.lists(b.asks("Pod p")[0], Container{"c", state})
		b.status(b.asks("Status p")[0], nil, Container{"c", state})
	}
	counts(3, 0, 0)
	b.tell("p", map[string]rank{"c": running})
	counts(3, 2, 0)
	b.tell("p", map[string]rank{"c": running})
	counts(3, 2, 0)
	b.lists(b.asks("Pod p")[0], Container{"c", StateExited})
	b.status(b.asks("Status p")[0], nil, Container{"c", StateExited})
	period := time.Second + time.Millisecond // after the first of the steps was found
	for _, tt := range []struct {
		at     time.Duration
		missed uint64
	}{{period - 1, 0}, {period, 1}, {2 * period, 1}} {
		b.now = t0.Add(tt.at)
		b.listNow = true
		b.lists(b.asks("Pods")[0], Container{"c", StateExited})
		b.settled()
		counts(3, 2, tt.missed)
	}
	b.tell("p", map[string]rank{"c": exited}) // too late
	counts(3, 2, 1)
}

// TestNothingIsMissedWithoutAStream, nor by the first relist, nor by an event.
func TestNothingIsMissedWithoutAStream(t *testing.T) {
	for name, expect := range map[string]struct{ told, first bool }{"no stream": {false, false}, "the first list": {true, true}} {
		b := newBench(t, true)
		if !expect.first {
			b.relisted()
		}
		b.expectTold = expect.told
		b.now = t1
		b.relisted("p")
		if s := b.relister.stats; s.Transitions+s.MissedEvents+s.ReportedEvents != 0 {
			t.Errorf("%s: %d steps", name, s.Transitions)
		}
	}
}
