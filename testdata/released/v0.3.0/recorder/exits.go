package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/statuscache"
)

// view is a runtime that shows the same until it is replaced: the containers of each pod.
type view map[string][]container

// container is running, or has exited.
type container struct {
	ID     string            `json:"id"`
	Exited *pleg.ExitDetails `json:"exited,omitempty"`
}

func (v *view) Pods(context.Context) ([]pleg.Pod[string], error) {
	var pods []pleg.Pod[string]
	for _, name := range slices.Sorted(maps.Keys(*v)) {
		pods = append(pods, pleg.Pod[string]{ID: name, Containers: status((*v)[name]).Containers()})
	}
	return pods, nil
}

// status is the containers of a pod.
type status []container

func (v *view) Status(_ context.Context, pod string) (status, time.Time, error) {
	if s, ok := (*v)[pod]; ok {
		return s, time.Time{}, nil
	}
	return nil, time.Time{}, pleg.ErrNotFound
}

func (s status) Containers() (list []pleg.Container) {
	for _, c := range s {
		state := pleg.StateRunning
		if c.Exited != nil {
			state = pleg.StateExited
		}
		list = append(list, pleg.Container{ID: c.ID, State: state})
	}
	return list
}

func (s status) Exits() iter.Seq2[string, pleg.ExitDetails] {
	return func(yield func(string, pleg.ExitDetails) bool) {
		for _, c := range s {
			if c.Exited != nil && !yield(c.ID, *c.Exited) {
				return
			}
		}
	}
}

func running(id string) container { return container{ID: id} }

func exited(id string, code int32, at time.Duration) container {
	return container{id, &pleg.ExitDetails{Code: code, Reason: "Error", Started: start, Finished: start.Add(at)}}
}

// recordExits records the position of a reader that has read some of the exits.
func recordExits(folder string) {
	shown := view{
		"p": {running("p-read"), running("p-pending"), running("p-runs"), running("p-ends"), running("p-vanishes")},
		"q": {running("q-goes-with-its-pod")},
		"r": {exited("r-old", 3, 0), running("r-runs")},
	}
	first, pending, later := exited("p-read", 1, second), exited("p-pending", 2, 2*second), exited("p-ends", 5, 60*second)
	r, relist := follow(&shown, pleg.ExitOptions[string]{})
	relist()
	shown["p"][0] = first
	relist()
	read(r)
	shown["p"][1] = pending
	relist()
	text, err := json.Marshal(r.Position())
	must(err)
	write(folder, "position.json", json.RawMessage(text))

	// While no program runs, a container ends, one vanishes with its pod and one without,
	// and another comes and ends.
	shown = view{
		"p": {first, pending, running("p-runs"), later, exited("p-came", 6, 61*second)},
		"r": {exited("r-old", 3, 0), running("r-runs")},
	}
	var position pleg.ExitPosition[string]
	must(json.Unmarshal(text, &position))
	r, relist = follow(&shown, pleg.ExitOptions[string]{Resume: &position})
	relist()
	exits := read(r)
	write(folder, "position.expected.json", map[string]any{"view": shown, "exits": exits})
}

// follow returns a reader of the exits in the view, and a function that looks at it.
func follow(v *view, o pleg.ExitOptions[string]) (*pleg.ExitReader[string], func()) {
	cache := statuscache.New[string](statuscache.Options[status]{})
	gen, err := pleg.NewGenerator[string, status](v, nil, cache, pleg.GeneratorOptions{})
	must(err)
	r, err := gen.ExitReader(o)
	must(err)
	return r, func() { must(gen.Relist(context.Background())) }
}

// read returns the pending exits.
func read(r *pleg.ExitReader[string]) (exits []string) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		e, err := r.Next(done)
		if err != nil {
			return exits
		}
		exits = append(exits, fmt.Sprintf("%s %s %s known=%v code=%d", e.Pod, e.Container, e.Source, e.Known, e.Details.Code))
	}
}
