package criwatch

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
		r.catchUpAll()
		return
	}
	r.catchUp(e.Pod)
}

// catchUpAll reports the unreported changes of every pod.
func (r *reporter) catchUpAll() {
	r.takeExits()
	for _, pod := range r.known() {
		r.catchUp(pod)
	}
}

// resume makes r continue after a reporter whose view of the pods was saved.
func (r *reporter) resume(s *state) {
	for pod, p := range s.Pods {
		if p.Containers == nil {
			p.Containers = map[string]*containerView{}
		}
		r.pods[pod] = p
	}
	for _, x := range s.Unreported {
		r.due[x.Pod] = append(r.due[x.Pod], x)
	}
}

// unreported returns the exits that r has taken and not reported, in the order of their
// pods.
func (r *reporter) unreported() (all []pleg.Exit[string]) {
	for _, pod := range slices.Sorted(maps.Keys(r.due)) {
		all = append(all, r.due[pod]...)
	}
	return all
}

// endUnreported reports them.
func (r *reporter) endUnreported() {
	for _, pod := range slices.Sorted(maps.Keys(r.due)) {
		r.endAll(pod, r.look(pod))
	}
}

// endAll reports the exits of a pod that r has taken.
func (r *reporter) endAll(pod string, p *podView) {
	for _, x := range r.due[pod] {
		r.end(pod, p, x)
	}
	delete(r.due, pod)
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

// catchUp reports the unreported changes of a pod.
func (r *reporter) catchUp(pod string) {
	p := r.look(pod)
	r.takeExits()
	r.endAll(pod, p)
	for _, id := range slices.Sorted(maps.Keys(p.Containers)) {
		switch c := p.Containers[id]; {
		case c.cached && c.state <= pleg.StateCreated:
			r.step(pod, p, id, stageCreated)
		case c.state == pleg.StateRunning:
			r.step(pod, p, id, stageStarted)
		case !c.cached && c.Stage == stageDied:
			r.step(pod, p, id, stageRemoved)
		}
	}
	r.forget(pod, p)
}

// end reports an exit, after the start if the start is unreported.
func (r *reporter) end(pod string, p *podView, x pleg.Exit[string]) {
	c := p.container(x.Container)
	if x.Details.Name != "" {
		c.Name, c.Attempt = x.Details.Name, uint32(x.Details.Attempt)
	}
	l := line{event: pleg.ContainerDied, pod: pod, meta: p.Meta, container: x.Container, source: x.Source, lost: x.Lost}
	l.eventTime = r.eventTime(x.Container)
	l.happened = l.eventTime
	if x.Known {
		l.exit, l.happened = &x.Details, x.Details.Finished
		if c.Started = x.Details.Started; !c.Started.IsZero() && !l.happened.Before(r.begun) {
			r.step(pod, p, x.Container, stageStarted)
		}
	}
	c.Stage = max(c.Stage, stageDied)
	r.send(c, l)
}

// step reports a stage of a container other than its exit, at most once.
func (r *reporter) step(pod string, p *podView, container string, to stage) {
	c := p.container(container)
	if to <= c.Stage {
		return
	}
	c.Stage = to
	l := line{pod: pod, meta: p.Meta, container: container}
	switch {
	case to == stageRemoved:
		l.event = pleg.ContainerRemoved
	case to == stageCreated:
		l.event, l.happened = pleg.ContainerChanged, c.Created
	case l.sandbox():
		l.event, l.happened = pleg.ContainerStarted, c.Created
	default:
		l.event, l.happened = pleg.ContainerStarted, c.Started
	}
	r.send(c, l)
}

func (r *reporter) send(c *containerView, l line) {
	l.at, l.name, l.attempt = r.now(), c.Name, c.Attempt
	l.before = !l.happened.IsZero() && l.happened.Before(r.begun)
	r.report(l)
}
