package pleg

import (
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/pleg/internal/queue"
)

// ExitPosition is the Position of an ExitReader. It encodes to JSON if K does. Its size
// is proportional to the containers and the pending exits. Containers that were removed
// before are not in it: one that the runtime shows again after a restart of the program is
// taken for a new one, whose exit is yielded.
type ExitPosition[K comparable] struct {
	Made     time.Time        `json:"made"`               // when the first of the readers was made
	Baseline bool             `json:"baseline,omitempty"` // the exits from before Made have been left out
	Due      []Exit[K]        `json:"due,omitempty"`      // pending, in order
	Lost     int              `json:"lost,omitempty"`     // dropped before Due
	Pods     []PodPosition[K] `json:"pods,omitempty"`     // each pod once
}

// PodPosition is the part of a position for one pod.
type PodPosition[K comparable] struct {
	Pod   K        `json:"pod"`
	Live  []string `json:"live,omitempty"`  // containers whose end is awaited
	Ended []string `json:"ended,omitempty"` // listed containers whose exit is pending, was read or was left out
	// Undecided are containers that a full list showed exited, without the finishing time that
	// tells whether that was before Made.
	Undecided []string `json:"undecided,omitempty"`

	Names map[string]ContainerName `json:"names,omitempty"` // of those in Live, if known
}

// ContainerName is the Name and Attempt of a Container.
type ContainerName struct {
	Name    string `json:"name"`
	Attempt int64  `json:"attempt,omitempty"`
}

// mostInPosition is the greatest number of containers and exits in a position.
const mostInPosition = 1 << 20

// validate returns nil, or a field.Errors if p repeats a pod or a container, names no pod, or has an
// undefined source, a negative number, or more than 1048576 exits and containers.
func (p *ExitPosition[K]) validate() error {
	if p == nil {
		return nil
	}
	var errs field.Errors
	size := len(p.Due)
	for _, pod := range p.Pods {
		size += len(pod.Live) + len(pod.Ended) + len(pod.Undecided)
	}
	if size > mostInPosition {
		errs.Add(field.TooMany, "pods", size, fmt.Sprintf("must have at most %d exits and containers", mostInPosition))
		return errs.Err()
	}
	if p.Lost < 0 {
		errs.Add(field.Invalid, "lost", p.Lost, "must be >= 0")
	}
	for i, e := range p.Due {
		if !slices.Contains([]ExitSource{ExitShown, ExitToldByEvent, ExitInferred}, e.Source) {
			errs.Add(field.NotSupported, fmt.Sprintf("due[%d].source", i), string(e.Source), "must be shown, event or inferred")
		}
		if e.Lost < 0 {
			errs.Add(field.Invalid, fmt.Sprintf("due[%d].lost", i), e.Lost, "must be >= 0")
		}
	}
	var none K
	pods := map[K]bool{}
	for i, pod := range p.Pods {
		path := fmt.Sprintf("pods[%d]", i)
		if pods[pod.Pod] {
			errs.Add(field.Duplicate, path+".pod", pod.Pod, "")
		}
		pods[pod.Pod] = true
		if pod.Pod == none {
			errs.Add(field.Required, path+".pod", pod.Pod, "")
		}
		seen := map[string]bool{}
		for _, list := range []struct {
			name string
			ids  []string
		}{{"live", pod.Live}, {"ended", pod.Ended}, {"undecided", pod.Undecided}} {
			for j, id := range list.ids {
				if seen[id] {
					errs.Add(field.Duplicate, fmt.Sprintf("%s.%s[%d]", path, list.name, j), id, "")
				}
				seen[id] = true
			}
		}
	}
	return errs.Err()
}

// openLog adds the log of a reader, with the exits that are due at once.
func (g *Generator[K, S]) openLog(o ExitOptions[K]) *exitLog[K] {
	l := &exitLog[K]{made: g.clock(), expects: map[ref[K]]struct{}{}, reported: map[ref[K]]struct{}{}, undecided: map[ref[K]]struct{}{}, wake: make(chan struct{}, 1)}
	switch p := o.Resume; {
	case p != nil:
		g.resume(l, p)
	case o.IncludePast:
	case g.sched.answered: // everything known is past
		for key := range g.pods.Keys() {
			for id, c := range g.find(key).containers {
				if c.endKnown > 0 {
					l.reported[ref[K]{key, id}] = struct{}{}
				}
			}
		}
		for c := range g.former.queue.Keys() {
			l.reported[c] = struct{}{}
		}
	default:
		l.baseline = notListed
	}
	var known []end[K]
	for key := range g.pods.Keys() {
		r := g.find(key)
		for _, c := range r.containers {
			if c.endReported {
				known = append(known, end[K]{exit: r.exit(c), seen: c.seen, known: c.endKnown})
			}
		}
	}
	slices.SortStableFunc(known, end[K].compare)
	for _, e := range known {
		l.take(e, g.containers)
	}
	g.publisher.logs[l] = struct{}{}
	return l
}

// resume makes l continue from a position. Its containers get records, so that full lists
// and inspections find out about them.
func (g *Generator[K, S]) resume(l *exitLog[K], p *ExitPosition[K]) {
	if p.Made.Before(l.made) && !p.Made.IsZero() {
		l.made = p.Made
	}
	if !p.Baseline {
		l.baseline = notListed
		if g.sched.answered {
			l.baseline = g.tick()
		}
	}
	l.due, l.limit, l.lost = slices.Clone(p.Due), len(p.Due), p.Lost
	if len(l.due) > 0 {
		queue.Signal(l.wake)
	}
	for _, x := range p.Pods {
		for _, id := range x.Live {
			name := x.Names[id]
			g.expect(l, x.Pod, Container{ID: id, Name: name.Name, Attempt: name.Attempt})
		}
		for _, id := range x.Ended {
			c := ref[K]{x.Pod, id}
			l.reported[c] = struct{}{}
			g.await(l, c.pod, Container{ID: id})
		}
		for _, id := range x.Undecided {
			c := ref[K]{x.Pod, id}
			l.undecided[c] = struct{}{}
			g.await(l, c.pod, Container{ID: id})
		}
	}
}

// expect makes l expect the end of a container.
func (g *Generator[K, S]) expect(l *exitLog[K], pod K, c Container) {
	at := ref[K]{pod, c.ID}
	if _, ended := l.reported[at]; ended {
		return
	}
	l.expects[at] = struct{}{}
	g.await(l, pod, c)
}

// await makes sure that l learns of the end of a container, which has a record from then on
// or is known to be removed.
func (g *Generator[K, S]) await(l *exitLog[K], pod K, c Container) {
	if x := g.former.queue.Get(ref[K]{pod, c.ID}); x != nil {
		l.take(end[K]{exit: x.exit, seen: x.seen, known: x.removed}, g.containers)
		return
	}
	r := g.record(pod)
	r.expect(c, g.tick())
	g.count(r)
}

// position returns the position of l.
func (g *Generator[K, S]) position(l *exitLog[K]) ExitPosition[K] {
	p := ExitPosition[K]{Made: l.made.Round(0).UTC(), Baseline: l.baseline != notListed, Due: slices.Clone(l.due), Lost: l.lost}
	for key := range g.pods.Keys() {
		r := g.find(key)
		x := l.podPosition(&r.pod)
		if len(x.Live)+len(x.Ended)+len(x.Undecided) > 0 {
			p.Pods = append(p.Pods, x)
		}
	}
	return p
}

// podPosition returns the part of the position for one pod.
func (l *exitLog[K]) podPosition(p *pod[K]) (x PodPosition[K]) {
	x.Pod = p.key
	for id, c := range p.containers {
		e := end[K]{exit: p.exit(c), seen: c.seen, known: c.endKnown}
		e.open = e.exit.Details.Finished.IsZero()
		v := l.judge(e)
		if alive := c.seen && c.endKnown == 0; alive && (v == verdictPast || v == verdictUndecided) {
			v = verdictDue
		}
		switch v {
		case verdictReported, verdictPast:
			x.Ended = append(x.Ended, id)
		case verdictUndecided:
			x.Undecided = append(x.Undecided, id)
		case verdictDue:
			x.Live = append(x.Live, id)
			if c.name != "" {
				if x.Names == nil {
					x.Names = map[string]ContainerName{}
				}
				x.Names[id] = ContainerName{c.name, c.attempt}
			}
		}
	}
	slices.Sort(x.Live)
	slices.Sort(x.Ended)
	slices.Sort(x.Undecided)
	return x
}
