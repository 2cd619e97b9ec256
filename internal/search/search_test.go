package search

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/internal/rapidseed"
)

var errBad = errors.New("a bad step")

// graph is a system whose states are numbers.
type graph struct {
	steps map[uint16][]arc
	ends  map[uint16]bool
}

type arc struct {
	to        uint16
	calm, bad bool
}

func (g *graph) Start() []byte      { return binary.BigEndian.AppendUint16(nil, 0) }
func (g *graph) Expander() Expander { return g }

func (g *graph) Expand(state []byte, visit func(Step)) bool {
	n := binary.BigEndian.Uint16(state)
	for _, a := range g.steps[n] {
		step := Step{Next: binary.BigEndian.AppendUint16(nil, a.to), Calm: a.calm}
		if a.bad {
			step.Broken = errBad
		}
		visit(step)
	}
	return g.ends[n]
}

// depths returns the states by their distance from the start.
func (g *graph) depths() map[uint16]int {
	depths := map[uint16]int{0: 0}
	for queue := []uint16{0}; len(queue) > 0; queue = queue[1:] {
		for _, a := range g.steps[queue[0]] {
			if _, known := depths[a.to]; !known && !a.bad {
				depths[a.to] = depths[queue[0]] + 1
				queue = append(queue, a.to)
			}
		}
	}
	return depths
}

// endless reports whether the calm steps from a state lead to no end.
func (g *graph) endless(state uint16) bool {
	for range 1000 {
		if g.ends[state] {
			return false
		}
		i := slices.IndexFunc(g.steps[state], func(a arc) bool { return a.calm })
		if i < 0 {
			return true
		}
		state = g.steps[state][i].to
	}
	return true
}

// follow returns the state after the steps, and whether the last one is bad.
func (g *graph) follow(t *rapid.T, story []int) (state uint16, bad bool) {
	for i, ordinal := range story {
		a := g.steps[state][ordinal]
		if a.bad && i < len(story)-1 {
			t.Fatalf("the story %v goes on after a bad step", story)
		}
		if state, bad = a.to, a.bad; bad {
			return state, true
		}
	}
	return state, false
}

func TestGraphs(t *testing.T) {
	outcomes := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		g := &graph{steps: map[uint16][]arc{}, ends: map[uint16]bool{}}
		states := rapid.IntRange(1, 60).Draw(t, "states")
		mostlyCalm := rapid.Bool().Draw(t, "mostly calm")
		for n := range states {
			for i := range rapid.IntRange(0, 4).Draw(t, "steps") {
				to := uint16(rapid.IntRange(0, states-1).Draw(t, "to"))
				if i == 0 && mostlyCalm {
					to = uint16(min(n+1, states-1))
				}
				g.steps[uint16(n)] = append(g.steps[uint16(n)], arc{to: to, calm: i == 0, bad: i == 2 && rapid.IntRange(1, 30).Draw(t, "bad") == 1})
			}
			g.ends[uint16(n)] = n == states-1 || rapid.IntRange(1, 4).Draw(t, "end") == 1
		}
		r := Run(context.Background(), g, Options{Workers: rapid.IntRange(1, 3).Draw(t, "workers")})
		depths := g.depths()
		nearest := func(is func(uint16) bool) (least int) {
			least = -1
			for state, depth := range depths {
				if is(state) && (least < 0 || depth < least) {
					least = depth
				}
			}
			return least
		}
		bad := nearest(func(s uint16) bool { return slices.ContainsFunc(g.steps[s], func(a arc) bool { return a.bad }) })
		endless := nearest(g.endless)
		state, last := g.follow(t, r.Story)
		switch {
		case bad >= 0:
			outcomes["bad"]++
			if r.Broken != errBad || len(r.Story) != bad+1 || !last {
				t.Fatalf("%v by %v, want a bad step after %d", r.Broken, r.Story, bad)
			}
			return
		case endless >= 0:
			outcomes["endless"]++
			if r.Broken != ErrEndless || len(r.Story) != endless || !g.endless(state) {
				t.Fatalf("%v by %v, want %v after %d", r.Broken, r.Story, ErrEndless, endless)
			}
		default:
			outcomes["fine"]++
			if r.Broken != nil {
				t.Fatalf("%v by %v, want none", r.Broken, r.Story)
			}
		}
		if !r.Complete || int(r.States) != len(depths) || r.Depth != slices.Max(slices.Collect(maps.Values(depths))) {
			t.Fatalf("%+v, want %d states", r, len(depths))
		}
	})
	t.Log(outcomes)
	for _, name := range []string{"bad", "endless", "fine"} {
		if outcomes[name] == 0 && rapidseed.Fixed() {
			t.Errorf("no graph was %s", name)
		}
	}
}

// wide is a system with so many states that the set grows and the workers share levels.
type wide struct{ depth int }

func (w wide) Start() []byte      { return []byte{} }
func (w wide) Expander() Expander { return w }

func (w wide) Expand(state []byte, visit func(Step)) bool {
	if len(state) == w.depth {
		return true
	}
	for i := range 4 {
		step := Step{Next: append(slices.Clone(state), byte(i)), Calm: i == 0}
		if string(state) == "\x01\x02\x03\x02\x01\x00" && i > 1 {
			step.Broken = errBad
		}
		visit(step)
	}
	return false
}

func TestWorkersAgree(t *testing.T) {
	one := Run(context.Background(), wide{8}, Options{})
	if want := []int{1, 2, 3, 2, 1, 0, 2}; one.Broken != errBad || !cmp.Equal(one.Story, want) {
		t.Fatalf("%+v, want %v", one, want)
	}
	for workers := 2; workers < 5; workers++ {
		many := Run(context.Background(), wide{8}, Options{Workers: workers})
		many.Time = one.Time
		if d := cmp.Diff(one, many, cmp.Comparer(func(a, b error) bool { return a == b })); d != "" {
			t.Errorf("%d workers: %s", workers, d)
		}
	}
}

func TestLimits(t *testing.T) {
	if r := Run(context.Background(), wide{6}, Options{}); !r.Complete || r.States != (4*4096-1)/3 || r.Ends != 4096 || r.Depth != 6 {
		t.Errorf("%+v", r)
	}
	if r := Run(context.Background(), wide{6}, Options{States: 100}); r.Complete || r.States != 1+4+16+64+256 || r.Broken != nil {
		t.Errorf("%+v, want the first depth with 100 states", r)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r := Run(ctx, wide{6}, Options{}); r.Complete || r.States != 1 {
		t.Errorf("%+v after the context's end", r)
	}
}
