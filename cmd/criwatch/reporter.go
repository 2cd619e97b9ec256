package main

import (
	"maps"
	"slices"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/statuscache"
)

// A reporter turns events and exits into lines. An event only names a pod to look at,
// and the reporter prints the changes in the pod's cache entry since its last look. So
// a slow reader, whose events are merged, misses no start or removal that the cache
// still shows. Exits come from the generator's reader, each exactly once.
//
// A reporter is not safe for concurrent use.
type reporter struct {
	cache     *statuscache.Cache[string, *status]
	exits     func() (pleg.Exit[string], bool) // the next exit, if any
	eventTime func(container string) time.Time // the timestamp of the exit's event; zero without one
	now       func() time.Time
	begun     time.Time
	report    func(line)

	pods map[string]*podView
	due  map[string][]pleg.Exit[string] // by pod; each comes with an event of its pod
}

func newReporter(cache *statuscache.Cache[string, *status], exits func() (pleg.Exit[string], bool), eventTime func(string) time.Time, now func() time.Time, report func(line)) *reporter {
	return &reporter{
		cache: cache, exits: exits, eventTime: eventTime, now: now, begun: now(), report: report,
		pods: map[string]*podView{}, due: map[string][]pleg.Exit[string]{},
	}
}

// handle handles the next event.
func (r *reporter) handle(e pleg.Event[string]) {
	if e.Type == pleg.PodSync && e.Pod == "" {
		r.takeExits()
		for _, pod := range r.known() {
			r.catchUp(pod)
		}
		r.report(line{at: r.now(), event: e.Type})
		return
	}
	meta := r.catchUp(e.Pod)
	if e.Type == pleg.PodSync {
		r.report(line{at: r.now(), event: e.Type, pod: e.Pod, meta: meta})
	}
}

// takeExits takes the exits reported by the generator. The exit of any container already
// gone from the cache is among them.
func (r *reporter) takeExits() {
	for x, ok := r.exits(); ok; x, ok = r.exits() {
		r.due[x.Pod] = append(r.due[x.Pod], x)
	}
}

// known returns the pods seen so far, sorted.
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

// catchUp reports the unreported changes of a pod. It returns the pod's metadata, if
// known.
func (r *reporter) catchUp(pod string) *podMeta {
	p := r.look(pod)
	r.takeExits()
	for _, x := range r.due[pod] {
		r.end(pod, p, x)
	}
	delete(r.due, pod)
	for _, id := range slices.Sorted(maps.Keys(p.containers)) {
		switch c := p.containers[id]; {
		case c.cached && c.state <= pleg.StateCreated:
			r.step(pod, p, id, stageCreated)
		case c.state == pleg.StateRunning:
			r.step(pod, p, id, stageStarted)
		case !c.cached && c.stage == stageDied:
			r.step(pod, p, id, stageRemoved)
		}
	}
	r.forget(pod, p)
	return p.meta
}

// end reports an exit, after the start if the start is unreported.
func (r *reporter) end(pod string, p *podView, x pleg.Exit[string]) {
	c := p.container(x.Container)
	l := line{event: pleg.ContainerDied, pod: pod, meta: p.meta, container: x.Container, source: x.Source, lost: x.Lost}
	l.eventTime = r.eventTime(x.Container)
	l.happened = l.eventTime
	if x.Known {
		l.exit, l.happened = &x.Details, x.Details.Finished
		c.name, c.attempt = x.Details.Name, uint32(x.Details.Attempt)
		if c.started = x.Details.Started; !c.started.IsZero() && !l.happened.Before(r.begun) {
			r.step(pod, p, x.Container, stageStarted)
		}
	}
	c.stage = max(c.stage, stageDied)
	r.send(c, l)
}

// step reports a stage of a container other than its exit, at most once.
func (r *reporter) step(pod string, p *podView, container string, to stage) {
	c := p.container(container)
	if to <= c.stage {
		return
	}
	c.stage = to
	l := line{pod: pod, meta: p.meta, container: container}
	switch {
	case to == stageRemoved:
		l.event = pleg.ContainerRemoved
	case to == stageCreated:
		l.event, l.happened = pleg.ContainerChanged, c.created
	case l.sandbox():
		l.event, l.happened = pleg.ContainerStarted, c.created
	default:
		l.event, l.happened = pleg.ContainerStarted, c.started
	}
	r.send(c, l)
}

func (r *reporter) send(c *containerView, l line) {
	l.at, l.name, l.attempt = r.now(), c.name, c.attempt
	l.before = !l.happened.IsZero() && l.happened.Before(r.begun)
	r.report(l)
}
