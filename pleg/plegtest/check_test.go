package plegtest_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// at is so many seconds after the begin of the histories below.
func at(seconds int) time.Time { return time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC) }

type history = plegtest.History[string]

// status is a version of a pod with containers as in "a:running b:exited".
func status(version int, containers string) *plegtest.Status {
	s := &plegtest.Status{Version: version}
	for c := range strings.FieldsSeq(containers) {
		id, state, _ := strings.Cut(c, ":")
		s.Listed = append(s.Listed, pleg.Container{ID: id, State: map[string]pleg.State{
			"created": pleg.StateCreated, "running": pleg.StateRunning, "exited": pleg.StateExited,
		}[state]})
	}
	return s
}

// truth is the life of pod p that the histories below are about.
func truth() []plegtest.Change[string] {
	return []plegtest.Change[string]{
		{At: at(1), Pod: "p", Version: 1, Status: status(1, "a:created"), Container: "a", Type: pleg.RuntimeCreated},
		{At: at(2), Pod: "p", Version: 2, Status: status(2, "a:running"), Container: "a", Type: pleg.RuntimeStarted},
		{At: at(3), Pod: "p", Version: 3, Status: status(3, "a:exited"), Container: "a", Type: pleg.RuntimeStopped},
		{At: at(4), Pod: "p", Version: 4, Container: "a", Type: pleg.RuntimeDeleted},
	}
}

func known(s *plegtest.Status, as time.Time) pleg.Entry[*plegtest.Status] {
	return pleg.Entry[*plegtest.Status]{Status: s, Modified: as, Present: s != nil}
}

func saw(second int, s *plegtest.Status) plegtest.View[string] {
	return plegtest.View[string]{Reader: "r", At: at(second), Pod: "p", Entry: known(s, at(second))}
}

func told(second int, kind pleg.EventType) plegtest.Told[string] {
	e := pleg.Event[string]{Pod: "p", Type: kind}
	if kind != pleg.PodSync {
		e.Container = "a"
	}
	return plegtest.Told[string]{Reader: "r", At: at(second), Event: e}
}

// TestCheck breaks each guarantee in a made-up history, in every way that its
// checker knows, beside histories that break none.
func TestCheck(t *testing.T) {
	v := truth()
	shown := map[plegtest.Ref[string]]time.Time{{Pod: "p", Container: "a"}: at(1)}
	for _, tt := range []struct {
		name string
		want int // the guarantee that is broken; 0: none
		make func(h *history)
	}{
		{"nothing", 0, func(h *history) {}},
		{"states in order", 0, func(h *history) {
			h.Views = []plegtest.View[string]{saw(1, v[0].Status), saw(3, v[2].Status), saw(4, nil)}
		}},
		{"a state back", 1, func(h *history) {
			h.Views = []plegtest.View[string]{saw(3, v[2].Status), saw(4, v[1].Status)}
		}},
		{"a state that never was", 1, func(h *history) {
			h.Views = []plegtest.View[string]{saw(3, status(3, "b:running"))}
		}},
		{"absent though it never was since", 1, func(h *history) {
			h.Changes = v[:3]
			h.Views = []plegtest.View[string]{saw(3, v[2].Status), saw(4, nil)}
		}},
		{"present without a status", 1, func(h *history) {
			h.Views = []plegtest.View[string]{{Reader: "r", Pod: "p", Entry: pleg.Entry[*plegtest.Status]{Present: true}}}
		}},
		{"a fresh wait", 0, func(h *history) {
			h.Waits = []plegtest.Wait[string]{{Pod: "p", Min: at(2), Start: at(2), End: at(3), Entry: known(v[2].Status, at(3))}}
		}},
		{"a wait with an error says so", 0, func(h *history) {
			e := known(v[0].Status, at(3))
			e.Err = errors.New("no")
			h.Waits = []plegtest.Wait[string]{{Pod: "p", Min: at(3), Start: at(3), End: at(4), Entry: e}}
		}},
		{"a stale wait", 2, func(h *history) {
			h.Waits = []plegtest.Wait[string]{{Pod: "p", Min: at(2), Start: at(2), End: at(3), Entry: known(v[0].Status, at(3))}}
		}},
		{"a wait that says itself that it is stale", 2, func(h *history) {
			h.Waits = []plegtest.Wait[string]{{Pod: "p", Min: at(3), Start: at(3), End: at(4), Entry: known(v[2].Status, at(3))}}
		}},
		{"absent though it was not since", 2, func(h *history) {
			h.Waits = []plegtest.Wait[string]{{Pod: "p", Min: at(2), Start: at(2), End: at(3), Entry: known(nil, at(3))}}
			h.Changes = v[:3]
		}},
		{"back from the dead", 3, func(h *history) {
			h.Changes = append(v, plegtest.Change[string]{At: at(5), Pod: "p", Version: 5, Status: status(5, "a:exited b:created")})
			h.Views = []plegtest.View[string]{saw(3, v[2].Status), saw(4, nil), saw(5, h.Changes[4].Status)}
		}},
		{"back with an id that is used again", 0, func(h *history) {
			h.Changes = append(v, plegtest.Change[string]{At: at(5), Pod: "p", Version: 5, Status: status(5, "a:created"), Container: "a", Type: pleg.RuntimeCreated})
			h.Views = []plegtest.View[string]{saw(3, v[2].Status), saw(4, nil), saw(5, h.Changes[4].Status)}
		}},
		{"back before its id is used again", 3, func(h *history) {
			h.Changes = append(v, plegtest.Change[string]{At: at(9), Pod: "p", Version: 5, Status: status(5, "a:exited"), Container: "a", Type: pleg.RuntimeCreated})
			h.Views = []plegtest.View[string]{saw(3, v[2].Status), saw(4, nil), saw(5, h.Changes[4].Status)}
		}},
		{"equal", 0, func(h *history) {
			h.Finals = []plegtest.Final[string]{{Guarantee: 4, Truth: map[string]*plegtest.Status{"p": v[2].Status},
				Cache: map[string]pleg.Entry[*plegtest.Status]{"p": known(v[2].Status, at(3))}}}
		}},
		{"behind the truth", 4, func(h *history) {
			h.Finals = []plegtest.Final[string]{{Guarantee: 4, Truth: map[string]*plegtest.Status{"p": v[2].Status},
				Cache: map[string]pleg.Entry[*plegtest.Status]{"p": known(v[1].Status, at(3))}}}
		}},
		{"more than the truth", 4, func(h *history) {
			h.Finals = []plegtest.Final[string]{{Guarantee: 4, Cache: map[string]pleg.Entry[*plegtest.Status]{"p": known(v[1].Status, at(3))}}}
		}},
		{"less than the truth", 4, func(h *history) {
			h.Finals = []plegtest.Final[string]{{Guarantee: 4, Truth: map[string]*plegtest.Status{"p": v[2].Status}}}
		}},
		{"wrong after wrong stamps", 9, func(h *history) {
			h.Finals = []plegtest.Final[string]{{Guarantee: 9, Truth: map[string]*plegtest.Status{"p": v[2].Status}}}
		}},
		{"a wait in trouble", 0, func(h *history) {
			h.Waits = []plegtest.Wait[string]{{Pod: "p", Start: at(1), End: at(9), Limit: 3 * time.Second, Entry: known(nil, at(9))}}
			h.Trouble = []time.Time{at(7)}
		}},
		{"a wait without an end", 5, func(h *history) {
			h.Waits = []plegtest.Wait[string]{{Pod: "p", Start: at(1)}}
		}},
		{"a wait beyond its limit", 5, func(h *history) {
			h.Waits = []plegtest.Wait[string]{{Pod: "p", Start: at(1), End: at(9), Limit: 3 * time.Second, Entry: known(nil, at(9))}}
			h.Trouble = []time.Time{at(5)}
		}},
		{"a reader that ends elsewhere", 6, func(h *history) {
			h.Finals = []plegtest.Final[string]{{Cache: map[string]pleg.Entry[*plegtest.Status]{"p": known(v[2].Status, at(3))},
				Readers: map[string]map[string]pleg.Entry[*plegtest.Status]{"r": {"p": known(v[1].Status, at(3))}}}}
		}},
		{"a reader that hears of the exit", 0, func(h *history) {
			h.Shown, h.Readers = shown, map[string]time.Time{"r": at(0)}
			h.Told = []plegtest.Told[string]{told(2, pleg.ContainerStarted), told(3, pleg.ContainerDied)}
			h.Finals = []plegtest.Final[string]{{At: at(9), EventsRead: []string{"r"}}}
		}},
		{"a reader that hears that something is up", 0, func(h *history) {
			h.Shown, h.Readers = shown, map[string]time.Time{"r": at(0)}
			h.Told = []plegtest.Told[string]{told(2, pleg.ContainerStarted), told(5, pleg.PodSync)}
			h.Finals = []plegtest.Final[string]{{At: at(9), EventsRead: []string{"r"}}}
		}},
		{"a reader that came later", 0, func(h *history) {
			h.Shown, h.Readers = shown, map[string]time.Time{"r": at(6)}
			h.Finals = []plegtest.Final[string]{{At: at(9), EventsRead: []string{"r"}}}
		}},
		{"an exit that nobody could know of", 0, func(h *history) {
			h.Readers = map[string]time.Time{"r": at(0)}
			h.Finals = []plegtest.Final[string]{{At: at(9), EventsRead: []string{"r"}}}
		}},
		{"an exit that nobody hears of", 6, func(h *history) {
			h.Shown, h.Readers = shown, map[string]time.Time{"r": at(0)}
			h.Told = []plegtest.Told[string]{told(2, pleg.PodSync), told(2, pleg.ContainerStarted)}
			h.Finals = []plegtest.Final[string]{{At: at(9), EventsRead: []string{"r"}}}
		}},
		{"an exit of an id that is used again", 0, func(h *history) {
			h.Changes = append(v[:3:3], plegtest.Change[string]{At: at(5), Pod: "p", Version: 4, Status: status(4, "a:running"), Container: "a", Type: pleg.RuntimeStarted})
			h.Shown, h.Readers = shown, map[string]time.Time{"r": at(0)}
			h.Finals = []plegtest.Final[string]{{At: at(9), EventsRead: []string{"r"}}}
		}},
		{"an exit of one with its id that nobody hears of", 6, func(h *history) {
			h.Changes = append(v[:3:3], plegtest.Change[string]{At: at(5), Pod: "p", Version: 4, Status: status(4, "a:running"), Container: "a", Type: pleg.RuntimeStarted},
				plegtest.Change[string]{At: at(7), Pod: "p", Version: 5, Status: status(5, "a:exited"), Container: "a", Type: pleg.RuntimeStopped})
			h.Shown, h.Readers = shown, map[string]time.Time{"r": at(0)}
			h.Views = []plegtest.View[string]{saw(6, h.Changes[3].Status)}
			h.Told = []plegtest.Told[string]{told(3, pleg.ContainerDied)}
			h.Finals = []plegtest.Final[string]{{At: at(9), EventsRead: []string{"r"}}}
		}},
		{"two deaths of an id that is used again", 0, func(h *history) {
			h.Changes = append(v[:3:3], plegtest.Change[string]{At: at(5), Pod: "p", Version: 4, Status: status(4, "a:running"), Container: "a", Type: pleg.RuntimeStarted})
			h.Told = []plegtest.Told[string]{told(3, pleg.ContainerDied), told(6, pleg.ContainerDied)}
		}},
		{"two deaths before an id is used again", 10, func(h *history) {
			h.Changes = append(v[:3:3], plegtest.Change[string]{At: at(5), Pod: "p", Version: 4, Status: status(4, "a:running"), Container: "a", Type: pleg.RuntimeStarted})
			h.Told = []plegtest.Told[string]{told(3, pleg.ContainerDied), told(4, pleg.ContainerDied)}
		}},
		{"memory", 7, func(h *history) {
			h.Samples = []plegtest.Sample{{Stats: pleg.Stats{Pods: 10, Backlog: 10000}, Readers: 1}}
		}},
		{"a slow intake", 8, func(h *history) {
			h.Deliveries = []plegtest.Delivery[string]{{Took: time.Second}}
		}},
		{"two deaths", 10, func(h *history) {
			h.Told = []plegtest.Told[string]{told(3, pleg.ContainerDied), told(4, pleg.ContainerDied)}
		}},
		{"two starts", 10, func(h *history) {
			h.Told = []plegtest.Told[string]{told(2, pleg.ContainerStarted), told(3, pleg.PodSync), told(4, pleg.ContainerStarted)}
		}},
		{"a start after the end", 10, func(h *history) {
			h.Told = []plegtest.Told[string]{told(3, pleg.ContainerRemoved), told(4, pleg.ContainerStarted)}
		}},
		{"steps that are lost", 11, func(h *history) {
			h.Samples = []plegtest.Sample{{Stats: pleg.Stats{Transitions: 3, ReportedEvents: 1, MissedEvents: 1}, Settled: true}}
		}},
		{"steps that are pending", 0, func(h *history) {
			h.Samples = []plegtest.Sample{{Stats: pleg.Stats{Transitions: 3, ReportedEvents: 1, MissedEvents: 1}}}
		}},
		{"steps that are made up", 11, func(h *history) {
			h.Samples = []plegtest.Sample{{Stats: pleg.Stats{Transitions: 1, ReportedEvents: 1, MissedEvents: 1}}}
		}},
		{"a call that outlives Run", 12, func(h *history) {
			h.RunEnded = at(5)
			h.Calls = []plegtest.Call[string]{{Kind: "Pods", Start: at(4), End: at(5)}, {Kind: "Pods", Start: at(4), End: at(6)}}
		}},
		{"a call without an end", 12, func(h *history) {
			h.RunEnded = at(5)
			h.Calls = []plegtest.Call[string]{{Kind: "Pods", Start: at(4)}}
		}},
		{"an idle time", 0, func(h *history) {
			h.Idles = []plegtest.Idle{{From: at(0), To: at(10), Period: 5 * time.Second}}
			h.Calls = []plegtest.Call[string]{{Kind: "Pods", Start: at(1)}, {Kind: "Pods", Start: at(6)}, {Kind: "Status", Start: at(10)}}
		}},
		{"a busy idle time", 13, func(h *history) {
			h.Idles = []plegtest.Idle{{From: at(0), To: at(10), Period: 20 * time.Second}}
			h.Calls = []plegtest.Call[string]{{Kind: "Pods", Start: at(1)}, {Kind: "Pods", Start: at(6)}}
		}},
		{"an inspection in an idle time", 13, func(h *history) {
			h.Idles = []plegtest.Idle{{From: at(0), To: at(10), Period: 20 * time.Second}}
			h.Calls = []plegtest.Call[string]{{Kind: "Status", Start: at(1)}}
		}},
	} {
		h := history{Changes: v}
		tt.make(&h)
		violations := plegtest.Check(h)
		switch {
		case tt.want == 0 && len(violations) > 0:
			t.Errorf("%s: %v", tt.name, violations)
		case tt.want != 0 && (len(violations) != 1 || violations[0].Guarantee != tt.want):
			t.Errorf("%s: %v, want one of G%d", tt.name, violations, tt.want)
		}
	}
}

// TestRuntime: the fake does what it is told, and nothing that makes no sense.
func TestRuntime(t *testing.T) {
	rt := plegtest.New[string](1, plegtest.Faults{})
	rt.Start("p", "a") // not there
	rt.Create("p", "a")
	rt.Create("p", "a") // there
	rt.Exit("p", "a")
	rt.Start("p", "a") // over
	rt.Create("p", "b")
	rt.Remove("p", "a")
	rt.Create("p", "a") // ids are used once
	rt.Create("q", "c")
	rt.Remove("q", "c")
	var got []string
	for _, c := range rt.History().Changes {
		got = append(got, c.Pod+" "+c.Status.String())
	}
	want := "p v1 a:created,p v2 a:exited,p v3 a:exited b:created,p v4 b:created,q v1 c:created,q gone"
	if s := strings.Join(got, ","); s != want {
		t.Errorf("history %s\nwant    %s", s, want)
	}
	pods, err := rt.Pods(t.Context())
	if err != nil || len(pods) != 1 || pods[0].ID != "p" || len(pods[0].Containers) != 1 {
		t.Errorf("Pods() = %v, %v", pods, err)
	}
	if _, err := rt.Pod(t.Context(), "q"); !errors.Is(err, pleg.ErrNotFound) {
		t.Errorf("Pod(q): %v", err)
	}
	if _, _, err := rt.Status(t.Context(), "nobody"); !errors.Is(err, pleg.ErrNotFound) {
		t.Errorf("Status(nobody): %v", err)
	}
}

// TestSeed: the same seed and script give the same faults, another seed others.
func TestSeed(t *testing.T) {
	script := func(seed uint64) string {
		var trace string
		synctest.Test(t, func(t *testing.T) {
			rt := plegtest.New[string](seed, plegtest.Faults{Drop: 0.3, Duplicate: 0.3, Late: 0.3, Stale: 0.3, Error: 0.3, Unstamped: 0.2, Step: 0.2})
			go rt.Events(t.Context(), func(pleg.RuntimeEvent[string, *plegtest.Status]) {})
			synctest.Wait()
			for c := range strings.SplitSeq("abcdefghij", "") {
				rt.Create("p", c)
				rt.Start("p", c)
				rt.Status(t.Context(), "p")
				time.Sleep(time.Second)
			}
			time.Sleep(time.Minute)
			trace = rt.History().String()
		})
		return trace
	}
	first := script(7)
	if again := script(7); again != first {
		t.Errorf("seed 7 gives\n%s\nand then\n%s", first, again)
	}
	if other := script(8); other == first {
		t.Errorf("seeds 7 and 8 both give\n%s", first)
	}
}
