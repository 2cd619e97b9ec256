package pleg_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// at is so many seconds after the begin of the histories below.
func at(seconds int) time.Time { return time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC) }

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
func truth() []change {
	over := status(3, "a:exited")
	over.Ended = map[string]pleg.ExitDetails{"a": {Code: 3}}
	return []change{
		{At: at(1), Pod: "p", Version: 1, Status: status(1, "a:created"), Container: "a", Type: pleg.RuntimeEventCreated},
		{At: at(2), Pod: "p", Version: 2, Status: status(2, "a:running"), Container: "a", Type: pleg.RuntimeEventStarted},
		{At: at(3), Pod: "p", Version: 3, Status: over, Container: "a", Type: pleg.RuntimeEventStopped},
		{At: at(4), Pod: "p", Version: 4, Container: "a", Type: pleg.RuntimeEventDeleted},
	}
}

func known(s *plegtest.Status, as time.Time) entry {
	return entry{Status: s, Modified: as, Present: s != nil}
}

func saw(second int, s *plegtest.Status) view {
	return view{Reader: "r", At: at(second), Pod: "p", Entry: known(s, at(second))}
}

func told(second int, kind pleg.EventType) eventRead {
	e := pleg.Event[string]{Pod: "p", Type: kind}
	if kind != pleg.PodSync {
		e.Container = "a"
	}
	return eventRead{Reader: "r", At: at(second), Event: e}
}

func yielded(second int, source pleg.ExitSource, d pleg.ExitDetails) exitRead {
	return exitRead{Reader: "x", At: at(second), Exit: pleg.Exit[string]{Pod: "p", Container: "a", Source: source, Known: d != pleg.ExitDetails{}, Details: d}}
}

// follows adds a reader of exits that is up to date at the end.
func (h *history) follows(shown map[containerRef]time.Time, earlier bool, read ...exitRead) {
	h.Shown, h.Showings = shown, map[containerRef][]showing{}
	for c, at := range shown {
		h.Showings[c] = []showing{{Start: at, End: at}}
	}
	h.ExitReaders = map[string]exitReader{"x": {Begin: at(0), Earlier: earlier}}
	h.ExitsRead = read
	h.Finals = []final{{At: at(9), ExitsRead: []string{"x"}}}
}

// Each checker finds its guarantee broken in made-up histories, in every way it knows,
// and accepts histories that break none.
func TestEveryBrokenGuaranteeIsNoticed(t *testing.T) {
	v := truth()
	details := v[2].Status.Ended["a"]
	shown := map[containerRef]time.Time{{Pod: "p", Container: "a"}: at(1)}
	for _, tt := range []struct {
		name string
		want int // the guarantee that is broken; 0: none
		make func(h *history)
	}{
		{"nothing", 0, func(h *history) {}},
		{"states in order", 0, func(h *history) {
			h.Views = []view{saw(1, v[0].Status), saw(3, v[2].Status), saw(4, nil)}
		}},
		{"a state back", 1, func(h *history) {
			h.Views = []view{saw(3, v[2].Status), saw(4, v[1].Status)}
		}},
		{"a state that never was", 1, func(h *history) {
			h.Views = []view{saw(3, status(3, "b:running"))}
		}},
		{"absent though it never was since", 1, func(h *history) {
			h.Changes = v[:3]
			h.Views = []view{saw(3, v[2].Status), saw(4, nil)}
		}},
		{"present without a status", 1, func(h *history) {
			h.Views = []view{{Reader: "r", Pod: "p", Entry: entry{Present: true}}}
		}},
		{"a fresh wait", 0, func(h *history) {
			h.Waits = []wait{{Pod: "p", Min: at(2), Start: at(2), End: at(3), Entry: known(v[2].Status, at(3))}}
		}},
		{"a wait with an error says so", 0, func(h *history) {
			e := known(v[0].Status, at(3))
			e.Err = errors.New("no")
			h.Waits = []wait{{Pod: "p", Min: at(3), Start: at(3), End: at(4), Entry: e}}
		}},
		{"a stale wait", 2, func(h *history) {
			h.Waits = []wait{{Pod: "p", Min: at(2), Start: at(2), End: at(3), Entry: known(v[0].Status, at(3))}}
		}},
		{"a wait that says itself that it is stale", 2, func(h *history) {
			h.Waits = []wait{{Pod: "p", Min: at(3), Start: at(3), End: at(4), Entry: known(v[2].Status, at(3))}}
		}},
		{"absent though it was not since", 2, func(h *history) {
			h.Waits = []wait{{Pod: "p", Min: at(2), Start: at(2), End: at(3), Entry: known(nil, at(3))}}
			h.Changes = v[:3]
		}},
		{"back from the dead", 3, func(h *history) {
			h.Changes = append(v, change{At: at(5), Pod: "p", Version: 5, Status: status(5, "a:exited b:created")})
			h.Views = []view{saw(3, v[2].Status), saw(4, nil), saw(5, h.Changes[4].Status)}
		}},
		{"back with an id that is used again", 0, func(h *history) {
			h.Changes = append(v, change{At: at(5), Pod: "p", Version: 5, Status: status(5, "a:created"), Container: "a", Type: pleg.RuntimeEventCreated})
			h.Views = []view{saw(3, v[2].Status), saw(4, nil), saw(5, h.Changes[4].Status)}
		}},
		{"back before its id is used again", 3, func(h *history) {
			h.Changes = append(v, change{At: at(9), Pod: "p", Version: 5, Status: status(5, "a:exited"), Container: "a", Type: pleg.RuntimeEventCreated})
			h.Views = []view{saw(3, v[2].Status), saw(4, nil), saw(5, h.Changes[4].Status)}
		}},
		{"equal", 0, func(h *history) {
			h.Finals = []final{{Guarantee: 4, Truth: map[string]*plegtest.Status{"p": v[2].Status},
				Cache: map[string]entry{"p": known(v[2].Status, at(3))}}}
		}},
		{"behind the truth", 4, func(h *history) {
			h.Finals = []final{{Guarantee: 4, Truth: map[string]*plegtest.Status{"p": v[2].Status},
				Cache: map[string]entry{"p": known(v[1].Status, at(3))}}}
		}},
		{"more than the truth", 4, func(h *history) {
			h.Finals = []final{{Guarantee: 4, Cache: map[string]entry{"p": known(v[1].Status, at(3))}}}
		}},
		{"less than the truth", 4, func(h *history) {
			h.Finals = []final{{Guarantee: 4, Truth: map[string]*plegtest.Status{"p": v[2].Status}}}
		}},
		{"wrong after wrong stamps", 9, func(h *history) {
			h.Finals = []final{{Guarantee: 9, Truth: map[string]*plegtest.Status{"p": v[2].Status}}}
		}},
		{"a wait in trouble", 0, func(h *history) {
			h.Waits = []wait{{Pod: "p", Start: at(1), End: at(9), Limit: 3 * time.Second, Entry: known(nil, at(9))}}
			h.Trouble = []time.Time{at(7)}
		}},
		{"a wait without an end", 5, func(h *history) {
			h.Waits = []wait{{Pod: "p", Start: at(1)}}
		}},
		{"a wait beyond its limit", 5, func(h *history) {
			h.Waits = []wait{{Pod: "p", Start: at(1), End: at(9), Limit: 3 * time.Second, Entry: known(nil, at(9))}}
			h.Trouble = []time.Time{at(5)}
		}},
		{"a reader that ends elsewhere", 6, func(h *history) {
			h.Finals = []final{{Cache: map[string]entry{"p": known(v[2].Status, at(3))},
				Readers: map[string]map[string]entry{"r": {"p": known(v[1].Status, at(3))}}}}
		}},
		{"a reader that hears of the exit", 0, func(h *history) {
			h.Shown, h.Readers = shown, map[string]time.Time{"r": at(0)}
			h.Events = []eventRead{told(2, pleg.ContainerStarted), told(3, pleg.ContainerDied)}
			h.Finals = []final{{At: at(9), EventsRead: []string{"r"}}}
		}},
		{"a reader that hears that something is up", 0, func(h *history) {
			h.Shown, h.Readers = shown, map[string]time.Time{"r": at(0)}
			h.Events = []eventRead{told(2, pleg.ContainerStarted), told(5, pleg.PodSync)}
			h.Finals = []final{{At: at(9), EventsRead: []string{"r"}}}
		}},
		{"a reader that came later", 0, func(h *history) {
			h.Shown, h.Readers = shown, map[string]time.Time{"r": at(6)}
			h.Finals = []final{{At: at(9), EventsRead: []string{"r"}}}
		}},
		{"an exit that nobody could know of", 0, func(h *history) {
			h.Readers = map[string]time.Time{"r": at(0)}
			h.Finals = []final{{At: at(9), EventsRead: []string{"r"}}}
		}},
		{"an exit that nobody hears of", 6, func(h *history) {
			h.Shown, h.Readers = shown, map[string]time.Time{"r": at(0)}
			h.Events = []eventRead{told(2, pleg.PodSync), told(2, pleg.ContainerStarted)}
			h.Finals = []final{{At: at(9), EventsRead: []string{"r"}}}
		}},
		{"an exit of an id that is used again", 0, func(h *history) {
			h.Changes = append(v[:3:3], change{At: at(5), Pod: "p", Version: 4, Status: status(4, "a:running"), Container: "a", Type: pleg.RuntimeEventStarted})
			h.Shown, h.Readers = shown, map[string]time.Time{"r": at(0)}
			h.Finals = []final{{At: at(9), EventsRead: []string{"r"}}}
		}},
		{"an exit of one with its id that nobody hears of", 6, func(h *history) {
			h.Changes = append(v[:3:3], change{At: at(5), Pod: "p", Version: 4, Status: status(4, "a:running"), Container: "a", Type: pleg.RuntimeEventStarted},
				change{At: at(7), Pod: "p", Version: 5, Status: status(5, "a:exited"), Container: "a", Type: pleg.RuntimeEventStopped})
			h.Shown, h.Readers = shown, map[string]time.Time{"r": at(0)}
			h.Views = []view{saw(6, h.Changes[3].Status)}
			h.Events = []eventRead{told(3, pleg.ContainerDied)}
			h.Finals = []final{{At: at(9), EventsRead: []string{"r"}}}
		}},
		{"two deaths of an id that is used again", 0, func(h *history) {
			h.Changes = append(v[:3:3], change{At: at(5), Pod: "p", Version: 4, Status: status(4, "a:running"), Container: "a", Type: pleg.RuntimeEventStarted})
			h.Events = []eventRead{told(3, pleg.ContainerDied), told(6, pleg.ContainerDied)}
		}},
		{"two deaths before an id is used again", 10, func(h *history) {
			h.Changes = append(v[:3:3], change{At: at(5), Pod: "p", Version: 4, Status: status(4, "a:running"), Container: "a", Type: pleg.RuntimeEventStarted})
			h.Events = []eventRead{told(3, pleg.ContainerDied), told(4, pleg.ContainerDied)}
		}},
		{"memory", 7, func(h *history) {
			h.Samples = []sample{{Stats: pleg.Stats{Pods: 10, Retained: 10000}, Readers: 1}}
		}},
		{"a slow event queue", 8, func(h *history) {
			h.Deliveries = []delivery{{Took: time.Second}}
		}},
		{"two deaths", 10, func(h *history) {
			h.Events = []eventRead{told(3, pleg.ContainerDied), told(4, pleg.ContainerDied)}
		}},
		{"two starts", 10, func(h *history) {
			h.Events = []eventRead{told(2, pleg.ContainerStarted), told(3, pleg.PodSync), told(4, pleg.ContainerStarted)}
		}},
		{"a start after the end", 10, func(h *history) {
			h.Events = []eventRead{told(3, pleg.ContainerRemoved), told(4, pleg.ContainerStarted)}
		}},
		{"steps that are lost", 11, func(h *history) {
			h.Samples = []sample{{Stats: pleg.Stats{Transitions: 3, ReportedEvents: 1, MissedEvents: 1}, Settled: true}}
		}},
		{"steps that are pending", 0, func(h *history) {
			h.Samples = []sample{{Stats: pleg.Stats{Transitions: 3, ReportedEvents: 1, MissedEvents: 1}}}
		}},
		{"steps that are made up", 11, func(h *history) {
			h.Samples = []sample{{Stats: pleg.Stats{Transitions: 1, ReportedEvents: 1, MissedEvents: 1}}}
		}},
		{"a call that outlives Run", 12, func(h *history) {
			h.RunEnded = at(5)
			h.Calls = []call{{Kind: "Pods", Start: at(4), End: at(5)}, {Kind: "Pods", Start: at(4), End: at(6)}}
		}},
		{"a call without an end", 12, func(h *history) {
			h.RunEnded = at(5)
			h.Calls = []call{{Kind: "Pods", Start: at(4)}}
		}},
		{"an idle time", 0, func(h *history) {
			h.Idles = []idle{{From: at(0), To: at(10), Period: 5 * time.Second}}
			h.Calls = []call{{Kind: "Pods", Start: at(1)}, {Kind: "Pods", Start: at(6)}, {Kind: "Status", Start: at(10)}}
		}},
		{"a busy idle time", 13, func(h *history) {
			h.Idles = []idle{{From: at(0), To: at(10), Period: 20 * time.Second}}
			h.Calls = []call{{Kind: "Pods", Start: at(1)}, {Kind: "Pods", Start: at(6)}}
		}},
		{"an inspection in an idle time", 13, func(h *history) {
			h.Idles = []idle{{From: at(0), To: at(10), Period: 20 * time.Second}}
			h.Calls = []call{{Kind: "Status", Start: at(1)}}
		}},
		{"an exit that is yielded", 0, func(h *history) {
			h.follows(shown, true, yielded(3, pleg.ExitSeenByRelist, details))
		}},
		{"an exit of before that is not asked for", 0, func(h *history) {
			h.follows(shown, false)
			h.ExitReaders["x"] = exitReader{Begin: at(3)}
		}},
		{"an exit of before that was removed, too", 0, func(h *history) {
			h.follows(shown, true)
			h.ExitReaders["x"] = exitReader{Begin: at(4), Earlier: true}
		}},
		{"an exit that only an event shows, behind a gap", 0, func(h *history) {
			h.follows(shown, true)
			h.Showings[containerRef{"p", "a"}] = []showing{{at(4), at(4), true}}
			h.ExitReaders["x"] = exitReader{Earlier: true, Gaps: []gap{{at(2), at(3)}}}
		}},
		{"an exit that is shown only in a gap", 0, func(h *history) {
			h.follows(shown, true)
			h.ExitReaders["x"] = exitReader{Earlier: true, Gaps: []gap{{at(0), at(2)}}}
		}},
		{"an exit that is never yielded", 14, func(h *history) {
			h.follows(shown, true)
		}},
		{"an exit before the first list that is never yielded", 14, func(h *history) {
			h.follows(shown, false)
		}},
		{"an exit of before that is asked for and never yielded", 14, func(h *history) {
			h.follows(shown, true)
			h.ExitReaders["x"] = exitReader{Begin: at(3), Earlier: true}
		}},
		{"an exit that only an event shows, before a gap, and that is never yielded", 14, func(h *history) {
			h.follows(shown, true)
			h.Showings[containerRef{"p", "a"}] = []showing{{at(1), at(1), true}}
			h.ExitReaders["x"] = exitReader{Earlier: true, Gaps: []gap{{at(2), at(3)}}}
		}},
		{"an exit that an answer shows behind a gap, and that is never yielded", 14, func(h *history) {
			h.follows(shown, true)
			h.Showings[containerRef{"p", "a"}] = []showing{{at(4), at(4), false}}
			h.ExitReaders["x"] = exitReader{Earlier: true, Gaps: []gap{{at(2), at(3)}}}
		}},
		{"an expected exit that is never yielded", 14, func(h *history) {
			h.follows(nil, true)
			h.Shown = shown
			h.ExitReaders["x"] = exitReader{Gaps: []gap{{at(0), at(5)}}, Expected: map[containerRef]bool{{"p", "a"}: true}}
		}},
		{"an exit that is yielded twice", 14, func(h *history) {
			h.follows(shown, true, yielded(3, pleg.ExitSeenByRelist, details), yielded(4, pleg.ExitInferred, pleg.ExitDetails{}))
		}},
		{"an exit that is yielded before it", 14, func(h *history) {
			h.follows(nil, false, yielded(2, pleg.ExitInferred, pleg.ExitDetails{}))
		}},
		{"an exit with another code", 14, func(h *history) {
			h.follows(shown, true, yielded(3, pleg.ExitSeenByRelist, pleg.ExitDetails{Code: 4}))
		}},
		{"an exit that is inferred, with a code", 14, func(h *history) {
			h.follows(shown, true, yielded(3, pleg.ExitInferred, details))
		}},
		{"an exit that was dropped", 14, func(h *history) {
			e := yielded(3, pleg.ExitSeenByRelist, details)
			e.Exit.Lost = 1
			h.follows(shown, true, e)
		}},
	} {
		h := history{Changes: v}
		tt.make(&h)
		violations := h.check().violations
		switch {
		case tt.want == 0 && len(violations) > 0:
			t.Errorf("%s: %v", tt.name, violations)
		case tt.want != 0 && (len(violations) != 1 || violations[0].guarantee != tt.want):
			t.Errorf("%s: %v, want one of G%d", tt.name, violations, tt.want)
		}
	}
}
