package main

import (
	"maps"
	"slices"
	"time"

	"github.com/restartkit/restart/pleg"
)

// A reporter makes lines of events and exits. The generator reports every exit once,
// but merges other events of a pod into one PodSync if their reader is slow. After a
// PodSync the reporter compares its lines so far with the cache, so that starts and
// removals that can still be seen there make a line, too.
//
// A reporter is not safe for concurrent use.
type reporter struct {
	cache  *pleg.Cache[string, *status]
	exits  func() (pleg.Exit[string], bool) // the next exit, if there is one
	told   func(container string) time.Time // when an event said that it had ended; zero: none did
	now    func() time.Time
	begun  time.Time
	report func(line)

	pods map[string]*podView
	due  map[string][]pleg.Exit[string] // by pod; each comes with an event of its pod
}

func newReporter(cache *pleg.Cache[string, *status], exits func() (pleg.Exit[string], bool), told func(string) time.Time, now func() time.Time, report func(line)) *reporter {
	return &reporter{
		cache: cache, exits: exits, told: told, now: now, begun: now(), report: report,
		pods: map[string]*podView{}, due: map[string][]pleg.Exit[string]{},
	}
}

// handle takes the next event.
func (r *reporter) handle(e pleg.Event[string]) {
	switch {
	case e.Type == pleg.PodSync && e.Pod == "":
		r.takeExits()
		for _, pod := range r.known() {
			r.catchUp(pod)
		}
		r.report(line{at: r.now(), event: e.Type})
	case e.Type == pleg.PodSync:
		meta := r.catchUp(e.Pod)
		r.report(line{at: r.now(), event: e.Type, pod: e.Pod, meta: meta})
	default:
		p := r.look(e.Pod)
		r.takeExits()
		if e.Type == pleg.ContainerDied {
			r.end(e.Pod, p, func(x pleg.Exit[string]) bool { return x.Container == e.Container })
		} else {
			r.step(e.Pod, p, e.Container, e.Type)
		}
		r.forget(e.Pod, p)
	}
}

// takeExits takes the exits that the generator has reported. What the cache showed
// before as gone is among them.
func (r *reporter) takeExits() {
	for x, ok := r.exits(); ok; x, ok = r.exits() {
		r.due[x.Pod] = append(r.due[x.Pod], x)
	}
}

// known returns the pods that anything is known of.
func (r *reporter) known() []string {
	all := map[string]bool{}
	for pod := range r.pods {
		all[pod] = true
	}
	for pod := range r.due {
		all[pod] = true
	}
	for pod := range r.cache.All() {
		all[pod] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// catchUp reports what is known of a pod and was not reported yet. It returns the
// pod's name, if that is known.
func (r *reporter) catchUp(pod string) *podMeta {
	p := r.look(pod)
	r.takeExits()
	r.end(pod, p, func(pleg.Exit[string]) bool { return true })
	for _, id := range slices.Sorted(maps.Keys(p.containers)) {
		switch c := p.containers[id]; {
		case c.state == pleg.StateRunning:
			r.step(pod, p, id, pleg.ContainerStarted)
		case !c.there && c.stage == stageDied:
			r.step(pod, p, id, pleg.ContainerRemoved)
		}
	}
	r.forget(pod, p)
	return p.meta
}

// end reports the exits of a pod that are due and wanted.
func (r *reporter) end(pod string, p *podView, wanted func(pleg.Exit[string]) bool) {
	var later []pleg.Exit[string]
	for _, x := range r.due[pod] {
		if !wanted(x) {
			later = append(later, x)
			continue
		}
		c := p.container(x.Container)
		c.stage = max(c.stage, stageDied)
		l := line{at: r.now(), event: pleg.ContainerDied, pod: pod, meta: p.meta, container: x.Container, name: c.name, attempt: c.attempt, source: x.Source, lost: x.Lost}
		if x.Source == pleg.ExitSeenByEvent {
			l.told = r.told(x.Container)
		}
		l.happened = l.told
		if x.Known {
			l.exit, l.happened = &x.Details, x.Details.Finished
			l.name, l.attempt = x.Details.Name, uint32(x.Details.Attempt)
		}
		r.send(l)
	}
	if r.due[pod] = later; len(later) == 0 {
		delete(r.due, pod)
	}
}

// step reports an event of a container other than its end, unless it was reported
// before.
func (r *reporter) step(pod string, p *podView, container string, event pleg.EventType) {
	c := p.container(container)
	to := map[pleg.EventType]stage{
		pleg.ContainerChanged: stageCreated,
		pleg.ContainerStarted: stageStarted,
		pleg.ContainerRemoved: stageRemoved,
	}[event]
	ended := func(x pleg.Exit[string]) bool { return x.Container == container }
	switch {
	case to < c.stage, to == c.stage && to != stageCreated:
		return
	case !c.there && c.stage < stageDied && !slices.ContainsFunc(r.due[pod], ended):
		return // a PodSync before this event has reported its end and its removal
	}
	c.stage = to
	l := line{at: r.now(), event: event, pod: pod, meta: p.meta, container: container, name: c.name, attempt: c.attempt}
	switch {
	case event == pleg.ContainerChanged, event == pleg.ContainerStarted && l.sandbox():
		l.happened = c.created
	case event == pleg.ContainerStarted:
		l.happened = c.started
	}
	r.send(l)
}

func (r *reporter) send(l line) {
	l.before = !l.happened.IsZero() && l.happened.Before(r.begun)
	r.report(l)
}
