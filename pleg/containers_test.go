package pleg

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Single steps: the known state of a container, the observed one, and the resulting
// events, or why there are none.
func TestEveryStepHasItsEvents(t *testing.T) {
	seen := map[string][]Container{
		"gone":    nil,
		"unknown": {{ID: "c", State: StateUnknown}},
		"created": {{ID: "c", State: StateCreated}},
		"running": {{ID: "c", State: StateRunning}},
		"exited":  {{ID: "c", State: StateExited}},
	}
	known := map[string]containers{
		"nothing": {},
		"told":    {"c": {is: unseen, reported: running}},
		"unknown": {"c": {is: unknown}},
		"created": {"c": {is: created}},
		"running": {"c": {is: running}},
		"exited":  {"c": {is: exited}},
		"removed": {"c": {is: removed}},
	}
	for line := range strings.SplitSeq(strings.TrimSpace(`
		nothing gone: same
		nothing unknown: Changed
		nothing created: Changed
		nothing running: Started
		nothing exited: Died
		told gone: same
		told unknown: Changed
		told created: Changed
		told running: Started
		told exited: Died
		unknown gone: Died Removed
		unknown unknown: same
		unknown created: Changed
		unknown running: Started
		unknown exited: Died
		created gone: Died Removed
		created unknown: same
		created created: same
		created running: Started
		created exited: Died
		running gone: Died Removed
		running unknown: same
		running created: older
		running running: same
		running exited: Died
		exited gone: Removed
		exited unknown: same
		exited created: older
		exited running: older
		exited exited: same
		removed gone: same
		removed unknown: risen
		removed created: risen
		removed running: risen
		removed exited: risen`), "\n") {
		var from, to string
		fmt.Sscan(strings.TrimSpace(line), &from, &to)
		_, want, _ := strings.Cut(line, ": ")
		to = strings.TrimSuffix(to, ":")
		cs := containers{}
		live := 0
		for id, c := range known[from] {
			cs[id] = &tracked{is: c.is, reported: c.reported}
			if c.is.live() {
				live++
			}
		}
		v, _ := cs.compare(seen[to], live, 1)
		var got []string
		switch v {
		case same:
			got = []string{"same"}
		case older:
			got = []string{"older"}
		case resurrected:
			got = []string{"risen"}
		default:
			for _, s := range cs.diff(seen[to]) {
				got = append(got, strings.TrimPrefix(string(s.event()), "Container"))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s → %s: %v, want %s", from, to, got, want)
		}
	}
}

// compare and diff agree: events are ordered by container; after applying them, compare
// returns same; the order of the list does not matter; an older list is behind
// somewhere.
func TestCompareAfterDiffIsSame(t *testing.T) {
	states := rapid.SampledFrom([]State{StateUnknown, StateCreated, StateRunning, StateExited, 17})
	ranks := rapid.SampledFrom([]rank{unseen, unknown, created, running, exited, removed})
	ids := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	rapid.Check(t, func(t *rapid.T) {
		cs, live := containers{}, 0
		for id, is := range rapid.MapOf(ids, ranks).Draw(t, "known") {
			cs[id] = &tracked{is: is}
			if is.live() {
				live++
			}
		}
		var list []Container
		for id, s := range rapid.MapOf(ids, states).Draw(t, "seen") {
			list = append(list, Container{ID: id, State: s})
		}
		v, duplicate := cs.compare(list, live, 1)
		if duplicate {
			t.Fatal("a duplicate in a list without one")
		}
		behind, ahead := false, false
		for _, s := range list {
			c := cs[s.ID]
			switch {
			case c == nil || c.is == unseen:
				ahead = true
			case c.is == removed, rankOf(s.State) < c.is && rankOf(s.State) != unknown:
				behind = true
			case rankOf(s.State) > c.is:
				ahead = true
			}
		}
		for id, c := range cs {
			ahead = ahead || c.is.live() && !slices.ContainsFunc(list, func(s Container) bool { return s.ID == id })
		}
		if want := behind; (v >= older) != want {
			t.Fatalf("verdict %d, behind: %v", v, behind)
		}
		if v >= older {
			return
		}
		if (v == changed) != ahead {
			t.Fatalf("verdict %d, ahead: %v", v, ahead)
		}
		steps := cs.diff(normal(list))
		if (len(steps) > 0) != ahead {
			t.Fatalf("%d steps, ahead: %v", len(steps), ahead)
		}
		if !slices.IsSortedFunc(steps, func(a, b step) int { return strings.Compare(a.container, b.container) }) {
			t.Fatalf("steps out of order: %v", steps)
		}
		slices.Reverse(list)
		if again := cs.diff(normal(list)); !slices.Equal(again, steps) {
			t.Fatalf("steps depend on the order of the list: %v, %v", steps, again)
		}
		k := &known{containers: cs, live: live}
		for _, s := range steps {
			k.step(&s, 0)
		}
		if v, _ := cs.compare(list, k.live, 2); v != same {
			t.Fatalf("after the steps %v the list compares as %d to %v", steps, v, maps.Collect(maps.All(cs)))
		}
	})
}

// compare reports duplicate containers if they could hide a difference.
func TestDuplicatesAreFound(t *testing.T) {
	cs := containers{"a": {is: running}, "b": {is: running}}
	list := []Container{{ID: "a", State: StateRunning}, {ID: "a", State: StateRunning}}
	if _, duplicate := cs.compare(list, 2, 1); !duplicate {
		t.Error("a list that names a twice, and b not, passes")
	}
	if v, _ := cs.compare(normal(list), 2, 2); v != changed {
		t.Errorf("without the duplicate: %d", v)
	}
	got := normal([]Container{{ID: "b", State: StateCreated}, {ID: "a", State: StateUnknown}, {ID: "b", State: StateExited}, {ID: "a", State: StateUnknown}, {ID: "b", State: StateRunning}})
	if want := []Container{{ID: "a", State: StateUnknown}, {ID: "b", State: StateExited}}; !slices.Equal(got, want) {
		t.Errorf("normal form %v, want %v", got, want)
	}
}

func TestCompareAllocatesNothing(t *testing.T) {
	cs, list := containers{}, []Container{}
	for i := range 1000 {
		id := fmt.Sprint("c", i)
		cs[id] = &tracked{is: running}
		list = append(list, Container{ID: id, State: StateRunning})
	}
	mark := uint64(0)
	if n := testing.AllocsPerRun(10, func() {
		mark++
		if v, _ := cs.compare(list, 1000, mark); v != same {
			t.Errorf("verdict %d", v)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The strings of states are the kubelet's.
func TestStringsAreTheKubelets(t *testing.T) {
	var got []string
	for _, s := range []State{StateUnknown, StateCreated, StateRunning, StateExited, -1, 99} {
		got = append(got, s.String())
	}
	for _, e := range []RuntimeEventType{RuntimeEventCreated, RuntimeEventStarted, RuntimeEventStopped, RuntimeEventDeleted, -1, 99} {
		got = append(got, e.String())
	}
	for _, e := range []EventType{ContainerStarted, ContainerDied, ContainerRemoved, ContainerChanged, PodSync} {
		got = append(got, string(e))
	}
	if want := "unknown created running exited unknown unknown created started stopped deleted unknown unknown ContainerStarted ContainerDied ContainerRemoved ContainerChanged PodSync"; strings.Join(got, " ") != want {
		t.Errorf("%v", got)
	}
}

// A container is gone only if a look did not find it, regardless of events.
func TestOnlyLooksMakeContainersGone(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    *tracked
		want bool
	}{
		{"nothing is known", nil, true},
		{"removed", &tracked{is: removed}, true},
		{"told, and not found", &tracked{is: unseen, synced: true}, true},
		{"told", &tracked{is: unseen}, false},
		{"running", &tracked{is: running}, false},
		{"running, and told to have exited", &tracked{is: running, synced: true}, false},
		{"exited", &tracked{is: exited}, false},
	} {
		if got := tt.c.gone(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
