package pleg

import (
	"fmt"
	"iter"
	"maps"
	"testing"
	"time"
)

func (s shown) Exits() iter.Seq2[string, ExitDetails] {
	ended := map[string]ExitDetails{}
	for _, c := range s {
		if c.State == StateExited {
			ended[c.ID] = ExitDetails{Code: 1}
		}
	}
	return maps.All(ended)
}

// follow adds a reader of exits.
func (b *bench) follow(o ExitOptions[string]) *exitLog[string] {
	b.Helper()
	q, err := newExitLog(o.IncludePast, o.Resume, b.now)
	if err != nil {
		b.Fatal(err)
	}
	b.subscribeExits(q, b.now)
	return q
}

// look makes an observation of p, with these containers.
func (b *bench) look(containers ...Container) {
	b.Helper()
	b.now = b.now.Add(time.Millisecond)
	b.request("p", false)
	b.lists(b.asks("Pod p")[0], containers...)
	b.status(b.asks("Status p")[0], nil, containers...)
}

// relistP makes a full relist, of p with these containers.
func (b *bench) relistP(containers ...Container) {
	b.Helper()
	b.now, b.listNow = b.now.Add(time.Millisecond), true
	b.lists(b.asks("Pods")[0], containers...)
	for _, c := range b.calls(b.now, b.running, b.period) {
		b.status(c, nil, containers...)
	}
	b.settled()
}

// A sleeping reader holds a bounded number of exits and reports how many it dropped
// before its oldest. Its memory of forgotten containers is bounded, too.
func TestExitsOfASleepingReaderAreBounded(t *testing.T) {
	b := newBench(t, true)
	b.relisted("p")
	q := b.follow(ExitOptions[string]{})
	const exits = 20000
	keeper := Container{ID: "p", State: StateRunning}
	for i := range exits {
		c := Container{ID: fmt.Sprint(i), State: StateExited}
		b.look(keeper, c)
		b.look(keeper)
		if i%100 == 0 {
			b.relistP(keeper)
		}
		if limit := b.exitLimit(); len(q.due) > limit+200 || q.gone.Len() > limit || limit > rememberedExits+1000 {
			t.Fatalf("after %d exits %d are due and %d remembered; the limit is %d", i, len(q.due), q.gone.Len(), limit)
		}
	}
	e, _ := q.next()
	if want := fmt.Sprint(e.Lost); e.Container != want || e.Lost < exits-rememberedExits-1000 {
		t.Errorf("the first is that of %s, and %d were lost", e.Container, e.Lost)
	}
	lost, taken := e.Lost, 1
	for e, ok := q.next(); ok; e, ok = q.next() {
		lost += e.Lost
		taken++
	}
	if lost+taken != exits {
		t.Errorf("%d taken, %d lost, want %d in all", taken, lost, exits)
	}
	if q.due != nil {
		t.Error("an empty reader keeps its memory")
	}
}

// The timestamp distinguishes an event of a forgotten container from one of an unseen
// container. Without a timestamp, the event reports no exit.
func TestExitOfForgottenContainerIsNotRepeated(t *testing.T) {
	b := newBench(t, true)
	b.relisted("p")
	q := b.follow(ExitOptions[string]{})
	keeper := Container{ID: "p", State: StateRunning}
	for i := range 2 * rememberedExits {
		b.look(keeper, Container{ID: fmt.Sprint(i), State: StateExited})
		b.look(keeper)
		if i%100 == 0 {
			b.relistP(keeper)
		}
	}
	if q.has(containerRef[string]{"p", "0"}) || !q.evicted {
		t.Fatal("nothing was forgotten")
	}
	for _, ok := q.next(); ok; _, ok = q.next() {
	}
	for _, tt := range []struct {
		container string
		told      time.Time
		want      bool
	}{
		{"0", q.evictedBefore, false},
		{"1", time.Time{}, false},
		{fmt.Sprint(2*rememberedExits - 1), b.now, false}, // remembered
		{"newer", q.evictedBefore.Add(mostAhead), false},  // by a clock that is ahead, perhaps
		{"new", q.evictedBefore.Add(mostAhead + 1), true},
	} {
		b.noteEvents("p", map[string]rank{tt.container: exited})
		b.noteExits("p", map[string]exitNote{tt.container: {source: ExitSeenByEvent, told: tt.told, known: true, details: ExitDetails{Code: 9}}})
		b.lists(b.asks("Pod p")[0], keeper)
		b.status(b.asks("Status p")[0], nil, keeper)
		if e, ok := q.next(); ok != tt.want || ok && (e.Details.Code != 9 || e.Source != ExitSeenByEvent) {
			t.Errorf("an event of container %s of %v: %+v, %v", tt.container, tt.told, e, ok)
		}
	}
}

// An event of a container that no list has shown is kept only if it reports an end that
// a reader awaits, and within the limit.
func TestUnknownContainerIsKeptForItsExitOnly(t *testing.T) {
	end := exitNote{source: ExitSeenByEvent, told: t1}
	for _, tt := range []struct {
		name            string
		reader, crowded bool
		note            exitNote
		want            int
	}{
		{"an end", true, false, end, 1},
		{"no end", true, false, exitNote{told: t1}, 0},
		{"no reader", false, false, end, 0},
		{"no room", true, true, end, 0},
		{"no end and no room", true, true, exitNote{told: t1}, 0},
	} {
		b := newBench(t, true)
		b.relisted("p")
		if tt.reader {
			b.follow(ExitOptions[string]{})
		}
		for i := 0; tt.crowded && !b.crowded(); i++ {
			b.trackOrphan(b.pods["p"], fmt.Sprint("other ", i))
		}
		before := len(b.orphans)
		b.noteExits("p", map[string]exitNote{"unknown": tt.note})
		if got := len(b.orphans) - before; got != tt.want {
			t.Errorf("%s: %d containers are kept", tt.name, got)
		}
	}
}

// An event's timestamp applies to its own container. Its contents about others may be
// older.
func TestEventStampDatesOnlyItsContainer(t *testing.T) {
	q := &eventQueue[string, shown]{wake: make(chan struct{}, 1), limit: 100, exits: true}
	seen := shown{{ID: "a", State: StateExited}, {ID: "b", State: StateExited}}
	q.event(RuntimeEvent[string, shown]{Pod: "p", Container: "b", Type: RuntimeEventStopped, At: t1, Seen: &PodSnapshot[string, shown]{Pod[string]{"p", seen}, seen}}, t1)
	pods, _, _ := q.drain(1)
	_, e, _ := pods.Take()
	for id, want := range map[string]time.Time{"a": {}, "b": t1} {
		if n := e.exits[id]; !n.told.Equal(want) || n.source != ExitSeenByEvent || n.details.Code != 1 {
			t.Errorf("of container %s: %+v, want the time %v", id, n, want)
		}
	}
}

// Containers of an unrecorded answer are remembered with and without readers of exits.
func TestUnrecordedContainersAreRemembered(t *testing.T) {
	for _, readers := range []int{0, 1, 2} {
		b := newBench(t, true)
		b.relisted("p")
		for range readers {
			b.follow(ExitOptions[string]{})
		}
		b.noteUnrecorded(b.pods["p"], &observation{}, []Container{{ID: "a", State: StateRunning}, {ID: "b", State: StateExited}, {ID: "c", State: StateRunning}})
		if n := len(b.orphans); n != 3 {
			t.Errorf("with %d readers %d containers are remembered, want 3", readers, n)
		}
	}
}

// A reader's limit of exits grows by two for each pod, each running container and each
// remembered gone container.
func TestExitLimitGrowsWithContainers(t *testing.T) {
	b := newBench(t, true)
	b.relisted("p")
	b.present, b.live = 5, 3
	for i := range 2 {
		b.trackOrphan(b.pods["p"], fmt.Sprint(i))
	}
	if got, want := b.exitLimit(), rememberedExits+2*(5+3+2); got != want {
		t.Errorf("%d, want %d", got, want)
	}
}

// Without a reader, no state of exits is kept, and an idle relist costs the same as
// with one.
func TestExitsCostNothingWithoutAReader(t *testing.T) {
	q := &eventQueue[string, shown]{wake: make(chan struct{}, 1), limit: 100}
	seen := shown{{ID: "a", State: StateExited}}
	q.event(RuntimeEvent[string, shown]{Pod: "p", Container: "a", Type: RuntimeEventStopped, At: t1, Seen: &PodSnapshot[string, shown]{Pod[string]{"p", seen}, seen}}, t1)
	pods, _, _ := q.drain(1)
	if _, e, _ := pods.Take(); e.exits != nil {
		t.Errorf("an event keeps %v", e.exits)
	}
	b := newBench(t, true)
	b.relisted("p")
	b.look(Container{ID: "p", State: StateRunning}, Container{ID: "a", State: StateCreated})
	b.look(Container{ID: "p", State: StateRunning}, Container{ID: "a", State: StateExited})
	b.noteUnrecorded(b.pods["p"], &observation{}, []Container{{ID: "p", State: StateExited}, {ID: "z", State: StateExited}})
	for id, c := range b.pods["p"].containers {
		if c.exit != nil {
			t.Errorf("of container %s %+v is kept", id, *c.exit)
		}
	}

	b = newBench(t, true)
	var list []Pod[string]
	for i := range 1000 {
		id := fmt.Sprint(i)
		list = append(list, Pod[string]{id, []Container{{ID: id, State: StateRunning}}})
	}
	relist := func() {
		b.now, b.listNow = b.now.Add(time.Millisecond), true
		b.handleResult(result[string, shown]{call: b.calls(b.now, true, b.period)[0], pods: list}, b.now)
		for calls := b.calls(b.now, true, b.period); len(calls) > 0; calls = b.calls(b.now, true, b.period) {
			for _, c := range calls {
				b.handleResult(result[string, shown]{call: c, status: shown{{ID: c.pod, State: StateRunning}}}, b.now)
			}
		}
		b.finish(b.now)
	}
	relist()
	without := testing.AllocsPerRun(10, relist)
	b.follow(ExitOptions[string]{})
	if with := testing.AllocsPerRun(10, relist); with > without || without > 20 {
		t.Errorf("an idle relist of 1000 pods allocates %v times, %v with a reader of exits", without, with)
	}
}

// Evidence of an end is kept for a container that has not ended, and only if it shows
// an end.
func TestEvidenceIsOfAnEndToCome(t *testing.T) {
	end := exitNote{source: ExitSeenByEvent, told: t1}
	for _, test := range []struct {
		name string
		is   rank
		note exitNote
		kept bool
	}{
		{"a running container", running, end, true},
		{"an unseen one", unseen, end, true},
		{"an ended one", exited, end, false},
		{"a removed one", removed, end, false},
		{"no end", running, exitNote{told: t1}, false},
		{"no end of an ended one", exited, exitNote{told: t1}, false},
	} {
		c := &tracked{is: test.is}
		if c.noteExit(test.note); (c.exit != nil) != test.kept {
			t.Errorf("%s: %+v", test.name, c.exit)
		}
	}
}

// What a reader holds beyond the live containers counts as retained.
func TestReaderRetainsExitsAndContainers(t *testing.T) {
	l, err := newExitLog[string](false, nil, t0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		ref := containerRef[string]{"p", fmt.Sprint(i)}
		l.awaited.Put(ref)
		if i < 3 {
			l.listed.Put(ref)
		}
		if i < 2 {
			*l.gone.Put(ref) = t0
		}
	}
	l.due = make([]Exit[string], 4)
	for live, want := range map[int]int{0: 14, 6: 8, 8: 6, 9: 6} {
		if got := l.retained(live); got != want {
			t.Errorf("%d live: %d retained, want %d", live, got, want)
		}
	}
}
