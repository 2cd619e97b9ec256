package pleg

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// id is a container id of the usual length.
func id(i int) string { return fmt.Sprintf("%064x", i) }

// positionText is the JSON of where q is.
func positionText(t *testing.T, q *exitLog[string]) string {
	t.Helper()
	text, err := json.Marshal(q.position())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// goOn is a reader behind a restart: another relister, at the position of q.
func (b *bench) goOn(q *exitLog[string]) (*bench, *exitLog[string]) {
	b.Helper()
	var p ExitPosition[string]
	if err := json.Unmarshal([]byte(positionText(b.T, q)), &p); err != nil {
		b.Fatal(err)
	}
	n := newBench(b.T, true)
	n.now = b.now.Add(time.Second)
	return n, n.follow(ExitOptions[string]{Resume: &p})
}

// A position contains the containers that the runtime lists. A look that does not show
// a container removes it.
func TestPositionForgetsGoneContainers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, and runs in one goroutine")
	}
	b := newBench(t, true)
	b.relisted("p")
	q := b.follow(ExitOptions[string]{})
	keeper := Container{ID: "p", State: StateRunning, Name: "main", Attempt: 100000}
	const each = 1000
	for i := range 100 {
		var list []Container
		for j := range each {
			list = append(list, Container{ID: id(i*each + j), State: StateExited})
		}
		b.look(append(list, keeper)...)
		for e, ok := q.next(); ok; e, ok = q.next() {
			if e.Lost > 0 {
				t.Fatalf("%d exits are lost", e.Lost)
			}
		}
		if i%50 == 0 {
			if n := strings.Count(positionText(t, q), `"0`); n != each {
				t.Fatalf("the position names %d containers that are listed, want %d", n, each)
			}
		}
		b.look(keeper)
		if i < 99 {
			b.relistP(keeper)
		}
	}
	text := positionText(t, q)
	t.Logf("after 100000 exits the position has %d bytes: %.300s", len(text), text)
	if len(text) > 2048 || !strings.Contains(text, `"main"`) {
		t.Error("want at most 2048 bytes, with the name of the live container")
	}

	n, r := b.goOn(q)
	n.relistP(keeper)
	last := containerRef[string]{"p", id(100*each - 1)}
	for _, told := range []time.Time{{}, r.evictedBefore, r.evictedBefore.Add(mostAhead)} {
		n.noteEvents("p", map[string]rank{last.container: exited})
		n.noteExits("p", map[string]exitNote{last.container: {source: ExitSeenByEvent, told: told}})
		if text := positionText(t, r); strings.Contains(text, last.container) {
			t.Errorf("news of %v of a container that is forgotten are in the position %s", told, text)
		}
		n.look(keeper)
		if e, ok := r.next(); ok {
			t.Errorf("news of %v of a container that is forgotten: %+v", told, e)
		}
		n.relistP(keeper)
		n.relistP(keeper)
		r.gone.Drop(last) // as if it had never been told
	}
	n.noteEvents("p", map[string]rank{"new": exited})
	n.noteExits("p", map[string]exitNote{"new": {source: ExitSeenByEvent, told: r.evictedBefore.Add(mostAhead + 1)}})
	if text := positionText(t, r); !strings.Contains(text, `"new"`) {
		t.Errorf("the position %s lacks a container that an event has shown", text)
	}
	n.look(keeper)
	if e, ok := r.next(); !ok || e.Container != "new" {
		t.Errorf("news of after the horizon: %+v, %v", e, ok)
	}
}

// A reader resumed from a position with containers that ended long ago repeats no exit,
// and the first list without them removes them from its position.
func TestResumeFromPositionWithGoneContainers(t *testing.T) {
	b := newBench(t, true)
	p := ExitPosition[string]{Pods: []podPosition[string]{
		{Pod: "p", Live: []string{"p"}, Ended: []string{"gone", "here"}},
		{Pod: "q", Ended: []string{"gone"}},
	}}
	q := b.follow(ExitOptions[string]{Resume: &p})
	if diff := cmp.Diff(p, q.position()); diff != "" {
		t.Errorf("before the first list:\n%s", diff)
	}
	b.relistP(Container{ID: "p", State: StateRunning}, Container{ID: "here", State: StateExited})
	got := q.position()
	if got.EvictedBefore.IsZero() {
		t.Error("nothing says that containers are forgotten")
	}
	got.EvictedBefore = time.Time{}
	want := ExitPosition[string]{Pods: []podPosition[string]{{Pod: "p", Live: []string{"p"}, Ended: []string{"here"}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after the first list:\n%s", diff)
	}
	if e, ok := q.next(); ok {
		t.Errorf("a second exit: %+v", e)
	}
}

// A container in an unrecorded answer is in the position, and its exit is yielded after
// a restart.
func TestUnrecordedAnswerShowsContainersToReaders(t *testing.T) {
	b := newBench(t, true)
	b.relisted("p")
	q := b.follow(ExitOptions[string]{})
	keeper := Container{ID: "p", State: StateRunning}
	b.look(keeper, Container{ID: "a", State: StateExited})
	b.look(keeper)
	n, r := b.goOn(q)
	for _, ok := r.next(); ok; _, ok = r.next() {
	}
	n.relistP(keeper)
	n.request("p", false)
	n.lists(n.asks("Pod p")[0], keeper, Container{ID: "z", State: StateRunning})
	if text := positionText(t, r); !strings.Contains(text, `"z"`) {
		t.Errorf("the position %s lacks what an answer shows", text)
	}
	n.status(n.asks("Status p")[0], nil, keeper) // it has come and gone
	n.look(keeper)
	if e, ok := r.next(); !ok || e.Container != "z" {
		t.Errorf("%+v, %v", e, ok)
	}
}

// A container that is listed again as exited, and known only to readers, is not a new
// exit, also for a resumed reader.
func TestPositionKeepsExitedContainerListedAgain(t *testing.T) {
	b := newBench(t, true)
	b.relisted("p")
	q := b.follow(ExitOptions[string]{})
	keeper, ended := Container{ID: "p", State: StateRunning}, Container{ID: "a", State: StateExited}
	b.look(keeper, ended)
	q.next()
	b.look(keeper)
	b.relistP(keeper)
	b.relistP(keeper)
	b.look(keeper, ended)
	if text := positionText(t, q); !strings.Contains(text, `"ended":["a"]`) {
		t.Errorf("the position is %s", text)
	}
	n, r := b.goOn(q)
	n.relistP(keeper, ended)
	for _, q := range []*exitLog[string]{q, r} {
		if e, ok := q.next(); ok {
			t.Errorf("it has ended again: %+v", e)
		}
	}
}

// A pod whose looks fail keeps its containers in the position.
func TestFailingPodKeepsThePosition(t *testing.T) {
	b := newBench(t, true)
	p := ExitPosition[string]{Pods: []podPosition[string]{{Pod: "p", Live: []string{"p"}, Ended: []string{"a"}}}}
	q := b.follow(ExitOptions[string]{Resume: &p})
	seen := []Container{{ID: "p", State: StateRunning}, {ID: "a", State: StateExited}}
	fail := func() {
		for _, c := range b.calls(b.now, b.running, b.period) {
			b.status(c, errors.New("not today"))
		}
	}
	b.lists(b.asks("Pods")[0], seen...)
	fail()
	b.settled()
	b.now, b.listNow = b.now.Add(time.Millisecond), true
	b.lists(b.asks("Pods")[0], seen...)
	b.settled()
	late := b.follow(ExitOptions[string]{Resume: &p})
	for i, q := range []*exitLog[string]{q, late} {
		if diff := cmp.Diff(p, q.position()); diff != "" {
			t.Errorf("reader %d:\n%s", i, diff)
		}
		if e, ok := q.next(); ok {
			t.Errorf("reader %d is told %+v", i, e)
		}
	}
	b.now = b.now.Add(time.Hour)
	b.relistP(seen...)
	if diff := cmp.Diff(p, late.position()); diff != "" {
		t.Errorf("when it can be looked at again:\n%s", diff)
	}
}

// Unrecorded containers beyond the limit are not awaited; the next full list reports
// their ends.
func TestUnrecordedContainersBeyondTheLimit(t *testing.T) {
	b := newBench(t, true)
	b.relisted("p")
	q := b.follow(ExitOptions[string]{})
	for i := 0; !b.crowded(); i++ {
		b.trackOrphan(b.pods["p"], fmt.Sprint("other ", i))
	}
	before := q.awaited.Len()
	b.noteUnrecorded(b.pods["p"], &observation{}, []Container{{ID: "p", State: StateRunning}, {ID: "a", State: StateExited}, {ID: "b", State: StateRunning}})
	if n := q.awaited.Len() - before; n != 0 {
		t.Errorf("%d more containers are awaited", n)
	}
	known := b.pods["p"].containers["other 0"]
	b.noteUnrecorded(b.pods["p"], &observation{}, []Container{{ID: "a", State: StateRunning}, {ID: "other 0", State: StateExited}})
	if known.exit == nil || known.exit.source != ExitSeenByRelist {
		t.Errorf("of a container that is remembered, behind one that is not: %+v", known.exit)
	}
}

// The time before which containers are forgotten never goes back, though the clock does.
func TestTimeOfForgottenContainersNeverGoesBack(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	for _, test := range []struct {
		name     string
		resumed  time.Time
		left     []int64 // when containers left, in turn
		kept     int     // of those, not evicted
		evicted  time.Time
		position time.Time
	}{
		{"nothing", time.Time{}, nil, 0, time.Time{}, time.Time{}},
		{"none evicted", time.Time{}, []int64{1, 3, 2}, 3, time.Time{}, at(3)},
		{"later ones evicted first", time.Time{}, []int64{3, 1, 2}, 1, at(3), at(3)},
		{"later ones evicted last", time.Time{}, []int64{1, 3}, 0, at(3), at(3)},
		{"resumed at a later time", at(5), []int64{1, 3}, 1, at(5), at(5)},
		{"resumed at a later time, none evicted", at(5), []int64{1}, 1, at(5), at(5)},
		{"resumed at an earlier time", at(2), []int64{1, 3}, 1, at(2), at(3)},
		{"resumed, nothing left", at(2), nil, 0, at(2), at(2)},
	} {
		l, err := newExitLog(false, &ExitPosition[string]{EvictedBefore: test.resumed}, at(0))
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range test.left {
			c := containerRef[string]{"p", fmt.Sprint(i)}
			l.end(c)
			l.leave(c, at(s))
		}
		l.evict(test.kept, func(containerRef[string]) bool { return false })
		if l.evicted != !test.evicted.IsZero() || !l.evictedBefore.Equal(test.evicted) {
			t.Errorf("%s: evicted %v, before %v", test.name, l.evicted, l.evictedBefore)
		}
		if got := l.position().EvictedBefore; !got.Equal(test.position) {
			t.Errorf("%s: the position names %v, want %v", test.name, got, test.position)
		}
	}
}

// Only a container that has ended is known to be gone.
func TestOnlyEndedContainersAreGone(t *testing.T) {
	l, err := newExitLog(false, (*ExitPosition[string])(nil), time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	alive, ended, never := containerRef[string]{"p", "alive"}, containerRef[string]{"p", "ended"}, containerRef[string]{"p", "never"}
	l.begin(alive, 1)
	if !l.end(ended) || l.end(ended) {
		t.Error("the first end is news, and a second report is not")
	}
	for i, c := range []containerRef[string]{alive, never, ended, ended} {
		l.leave(c, time.Unix(int64(5-i), 0))
	}
	if l.gone.Len() != 1 || l.gone.Get(ended) == nil || l.listed.Len() != 0 || !l.latest.Equal(time.Unix(3, 0)) {
		t.Errorf("%d are gone, %d listed, the latest since %v", l.gone.Len(), l.listed.Len(), l.latest)
	}
	if l.end(ended) || l.gone.Len() != 0 || l.listed.Len() != 1 {
		t.Errorf("listed again: %d are gone, %d listed", l.gone.Len(), l.listed.Len())
	}
	l.begin(ended, 2)
	if l.has(ended) {
		t.Error("another container has its id, and has not ended")
	}
}

// Gone containers that the relister still tracks are not forgotten.
func TestTrackedGoneContainersAreKept(t *testing.T) {
	l, err := newExitLog[string](false, nil, t0)
	if err != nil {
		t.Fatal(err)
	}
	for i, container := range []string{"tracked", "a", "b"} {
		c := containerRef[string]{"p", container}
		l.end(c)
		l.leave(c, t0.Add(time.Duration(i)*time.Second))
	}
	l.evict(1, func(c containerRef[string]) bool { return c.container == "tracked" })
	at := l.gone.Get(containerRef[string]{"p", "tracked"})
	if l.gone.Len() != 1 || at == nil || !at.Equal(t0) || !l.evictedBefore.Equal(t0.Add(2*time.Second)) {
		t.Errorf("%d gone containers, tracked since %v, forgotten up to %v", l.gone.Len(), at, l.evictedBefore)
	}
}

// An exit without details has the name that the container had alive. A status without
// containers names none.
func TestExitWithoutDetailsHasTheKnownName(t *testing.T) {
	l, err := newExitLog[string](false, nil, t0)
	if err != nil {
		t.Fatal(err)
	}
	l.show("p", Container{ID: "a"}, 1)
	l.setNames("p", 5)
	l.setNames("p", shown{{ID: "a", Name: "main", Attempt: 3}, {ID: "never shown", Name: "other"}})
	l.report(end[string]{exit: Exit[string]{Pod: "p", Container: "a", Details: ExitDetails{Name: "wrong"}}}, t0, 2, 10)
	known := Exit[string]{Pod: "p", Container: "b", Known: true, Details: ExitDetails{Name: "told"}}
	l.report(end[string]{exit: known}, t0, 2, 10)
	for _, want := range []ExitDetails{{Name: "main", Attempt: 3}, {Name: "told"}} {
		if e, ok := l.next(); !ok || e.Details != want {
			t.Errorf("%+v, want %+v", e, want)
		}
	}
	if n := l.awaited.Len(); n != 0 {
		t.Errorf("%d containers are awaited", n)
	}
}
