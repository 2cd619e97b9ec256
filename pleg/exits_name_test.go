package pleg_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/statuscache"
)

// An exit without details has the name and attempt of its container, from a list, from
// Expect or from the position, with a reader from before or after the first list.
func TestUnknownExitHasItsName(t *testing.T) {
	web := pleg.Container{ID: "a", Name: "web", Attempt: 3}
	relist := func(w *world) { w.gen.Relist(w.ctx) }
	restart := func(w *world, r *pleg.ExitReader[string]) *pleg.ExitReader[string] {
		place := stored(t, r.Position())
		*w = *w.again()
		r, _ = w.follow(pleg.ExitOptions[string]{Resume: place})
		return r
	}
	for _, tt := range []struct {
		name string
		do   func(w *world) *pleg.ExitReader[string]
		want pleg.ExitDetails
	}{
		{"listed", func(w *world) *pleg.ExitReader[string] {
			w.rt.CreateContainer("p", web)
			r, _ := w.follow(pleg.ExitOptions[string]{})
			relist(w)
			return r
		}, pleg.ExitDetails{Name: "web", Attempt: 3}},
		{"listed before the reader was made", func(w *world) *pleg.ExitReader[string] {
			w.rt.CreateContainer("p", web)
			relist(w)
			r, _ := w.follow(pleg.ExitOptions[string]{})
			return r
		}, pleg.ExitDetails{Name: "web", Attempt: 3}},
		{"expected", func(w *world) *pleg.ExitReader[string] {
			w.rt.CreateContainer("p", web)
			r, _ := w.follow(pleg.ExitOptions[string]{})
			r.Expect("p", web)
			return r
		}, pleg.ExitDetails{Name: "web", Attempt: 3}},
		{"listed before a crash", func(w *world) *pleg.ExitReader[string] {
			w.rt.CreateContainer("p", web)
			r, _ := w.follow(pleg.ExitOptions[string]{})
			relist(w)
			return restart(w, r)
		}, pleg.ExitDetails{Name: "web", Attempt: 3}},
		{"expected before two crashes", func(w *world) *pleg.ExitReader[string] {
			w.rt.CreateContainer("p", web)
			r, _ := w.follow(pleg.ExitOptions[string]{})
			r.Expect("p", web)
			return restart(w, restart(w, r))
		}, pleg.ExitDetails{Name: "web", Attempt: 3}},
		{"in a position without names", func(w *world) *pleg.ExitReader[string] {
			r, _ := w.follow(pleg.ExitOptions[string]{Resume: position(t, `{"pods": [{"pod": "p", "live": ["a"]}]}`)})
			return r
		}, pleg.ExitDetails{}},
		{"in such a position, and listed since", func(w *world) *pleg.ExitReader[string] {
			w.rt.CreateContainer("p", web)
			r, _ := w.follow(pleg.ExitOptions[string]{Resume: position(t, `{"pods": [{"pod": "p", "live": ["a"]}]}`)})
			relist(w)
			return r
		}, pleg.ExitDetails{Name: "web", Attempt: 3}},
		{"expected without a name, after it was listed", func(w *world) *pleg.ExitReader[string] {
			w.rt.CreateContainer("p", web)
			r, _ := w.follow(pleg.ExitOptions[string]{})
			relist(w)
			r.Expect("p", pleg.Container{ID: "a"})
			return r
		}, pleg.ExitDetails{Name: "web", Attempt: 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			setup{}.run(t, func(w *world) {
				r := tt.do(w)
				w.rt.Remove("p", "a")
				relist(w)
				e, ok := r.TryNext()
				want := pleg.Exit[string]{Pod: "p", Container: "a", Source: pleg.ExitInferred, Details: tt.want}
				if diff := cmp.Diff(want, e); !ok || diff != "" {
					t.Errorf("an exit: %v\n%s", ok, diff)
				}
				if e, ok := r.TryNext(); ok {
					t.Errorf("another exit: %+v", e)
				}
			})
		})
	}
}

// An exit with details keeps those of the status.
func TestKnownExitKeepsItsName(t *testing.T) {
	setup{}.run(t, func(w *world) {
		r, _ := w.follow(pleg.ExitOptions[string]{})
		w.rt.CreateContainer("p", pleg.Container{ID: "a", Name: "web", Attempt: 3})
		w.gen.Relist(w.ctx)
		w.rt.ExitWith("p", "a", pleg.ExitDetails{Name: "other", Code: 1})
		w.gen.Relist(w.ctx)
		if e, _ := r.TryNext(); !e.Known || e.Details != (pleg.ExitDetails{Name: "other", Code: 1}) {
			t.Errorf("%+v", e)
		}
	})
}

// Exits convert with all details, or as the kubelet reports a missing container.
func TestExitForBackoff(t *testing.T) {
	begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	d := pleg.ExitDetails{Name: "web", Attempt: 3, Code: 7, Reason: "Error", Started: begin, Finished: begin.Add(time.Second)}
	for _, tt := range []struct {
		exit pleg.Exit[string]
		want backoff.Exit
	}{
		{pleg.Exit[string]{Pod: "p", Source: pleg.ExitSeenByRelist, Known: true, Details: d},
			backoff.Exit{Run: 4, Code: 7, Reason: "Error", Started: begin, Finished: begin.Add(time.Second)}},
		{pleg.Exit[string]{Pod: "p", Source: pleg.ExitInferred, Details: pleg.ExitDetails{Name: "web", Attempt: 3}},
			backoff.Exit{Run: 4, Code: 137, Reason: "ContainerStatusUnknown"}},
		{pleg.Exit[string]{Pod: "p", Source: pleg.ExitSeenByEvent, Details: pleg.ExitDetails{Attempt: 3}},
			backoff.Exit{Run: 4, Code: 137, Reason: "ContainerStatusUnknown"}},
	} {
		equal(t, "exit", tt.exit.Backoff(tt.exit.Details.Attempt+1), tt.want)
	}
}

// namedOnly is a status that lists containers with their names, but not their exits.
type namedOnly []pleg.Container

func (n namedOnly) Containers() []pleg.Container { return n }

// onePod is a runtime with the pod p.
type onePod struct{ containers namedOnly }

func (r *onePod) Pods(context.Context) ([]pleg.Pod[string], error) {
	return []pleg.Pod[string]{{ID: "p", Containers: r.containers}}, nil
}

func (r *onePod) Status(context.Context, string) (namedOnly, time.Time, error) {
	return slices.Clone(r.containers), time.Time{}, nil
}

// A reader made after an exit takes the name from the cached status.
func TestPastExitHasItsName(t *testing.T) {
	rt := &onePod{namedOnly{{ID: "a", Name: "web", Attempt: 3, State: pleg.StateRunning}}}
	cache := statuscache.New[string](statuscache.Options[namedOnly]{})
	defer cache.Close()
	gen, err := pleg.NewGenerator(rt, nil, cache, pleg.GeneratorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []pleg.State{pleg.StateRunning, pleg.StateExited} {
		rt.containers[0].State = state
		if err := gen.Relist(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r, err := gen.ExitReader(pleg.ExitOptions[string]{IncludePast: true})
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := r.TryNext(); !ok || e.Known || e.Details.Name != "web" || e.Details.Attempt != 3 {
		t.Errorf("%+v, %v", e, ok)
	}
}
