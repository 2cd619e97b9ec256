package main

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/pleg"
)

// A reporter makes lines of events. The generator reports everything, but merges many
// events of a pod into one PodSync if its reader is slow. After a PodSync the reporter
// compares its lines so far with the cache. So every start, exit and removal of a
// container makes one line, even if the output was stuck.
//
// A reporter is not safe for concurrent use.
type reporter struct {
	cache  *pleg.Cache[string, *status]
	exits  *exits
	now    func() time.Time
	begun  time.Time
	report func(line)

	pods  map[string]*podView
	ended recent[stage] // containers reported as dead or removed
}

func newReporter(cache *pleg.Cache[string, *status], exits *exits, now func() time.Time, report func(line)) *reporter {
	return &reporter{
		cache: cache, exits: exits, now: now, begun: now(), report: report,
		pods:  map[string]*podView{},
		ended: recent[stage]{limit: 4 * rememberedExits}, // sandboxes too: it has to remember longer
	}
}

// handle takes the next event.
func (r *reporter) handle(e pleg.Event[string]) {
	switch {
	case e.Type == pleg.PodSync && e.Pod == "":
		r.lookAtAll()
		r.report(line{at: r.now(), event: e.Type})
	case e.Type == pleg.PodSync:
		p := r.look(e.Pod)
		r.catchUp(e.Pod, p)
		r.report(line{at: r.now(), event: e.Type, pod: e.Pod, meta: p.meta})
		r.forget(e.Pod)
	default:
		p := r.look(e.Pod)
		c := p.container(e.Container)
		c.existing = true
		r.step(e.Pod, e.Container, e.Type)
		r.forget(e.Pod)
	}
}

// step reports an event of a container, unless it was reported before.
func (r *reporter) step(pod, container string, event pleg.EventType) {
	p := r.pods[pod]
	c := p.container(container)
	c.stage = max(c.stage, r.ended.values[container])
	to := map[pleg.EventType]stage{
		pleg.ContainerChanged: stageCreated,
		pleg.ContainerStarted: stageStarted,
		pleg.ContainerDied:    stageDied,
		pleg.ContainerRemoved: stageRemoved,
	}[event]
	if to < c.stage || to == c.stage && to != stageCreated {
		return
	}
	c.stage = to
	l := line{at: r.now(), event: event, pod: pod, meta: p.meta, container: container, name: c.name, attempt: c.attempt}
	switch event {
	case pleg.ContainerChanged:
		l.happened = c.created
	case pleg.ContainerStarted:
		l.happened = c.started
		if l.sandbox() {
			l.happened = c.created
		}
	case pleg.ContainerDied:
		if x, ok := r.exits.of(container); ok && x.coded {
			l.exit, l.happened = &x, x.finished
			l.name, l.attempt = x.name, x.attempt
		} else if ok {
			l.happened = x.known
		}
	}
	if to >= stageDied {
		r.ended.put(container, to)
	}
	l.before = !l.happened.IsZero() && l.happened.Before(r.begun)
	r.report(l)
}

// catchUp reports what the cache shows of a pod and was not reported yet. A container
// that came and went without ever being in the cache is reported from its exit.
func (r *reporter) catchUp(pod string, p *podView) {
	entry := r.cache.Get(pod)
	states := map[string]pleg.State{}
	if entry.Present {
		for _, c := range entry.Status.Containers() {
			states[c.ID] = c.State
		}
	}
	for _, x := range r.exits.in(pod) {
		if c := p.containers[x.container]; x.deleted || c == nil {
			r.step(pod, x.container, pleg.ContainerDied)
		}
		if x.deleted {
			r.step(pod, x.container, pleg.ContainerRemoved)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.containers)) {
		c := p.containers[id]
		state, there := states[id]
		c.existing = c.existing || there
		switch {
		case there && state == pleg.StateRunning:
			r.step(pod, id, pleg.ContainerStarted)
		case there && state == pleg.StateExited:
			r.step(pod, id, pleg.ContainerDied)
		case !there && c.existing:
			r.step(pod, id, pleg.ContainerDied)
			r.step(pod, id, pleg.ContainerRemoved)
		}
	}
}

// lookAtAll catches up with every pod that is known.
func (r *reporter) lookAtAll() {
	all := map[string]bool{}
	for pod := range r.pods {
		all[pod] = true
	}
	for pod := range r.cache.All() {
		all[pod] = true
	}
	for _, x := range r.exits.in("") {
		all[x.pod] = true
	}
	for _, pod := range slices.SortedFunc(maps.Keys(all), strings.Compare) {
		r.catchUp(pod, r.look(pod))
		r.forget(pod)
	}
}
