package pleg

import (
	"cmp"
	"slices"
	"strings"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// A tick is a number of the Generator's logical clock. Every question, answer, event
// and request gets its own, which orders them within one reading of the real clock.
type tick uint64

// A rank is the furthest known point in the life of a container.
type rank uint8

const (
	unseen  rank = iota // expected by an ExitReader, and not in any answer yet
	unknown             // first of the ranks of listed containers
	created
	running
	exited
	removed
)

// rankOf returns the rank of a container in state s. Both have the same order.
func rankOf(s State) rank {
	if s < StateUnknown || s > StateExited {
		return unknown
	}
	return unknown + rank(s-StateUnknown)
}

// rankClaimed returns the rank that an event of type t claims, or unseen if it claims none.
func rankClaimed(t RuntimeEventType) rank {
	if t < RuntimeEventCreated || t > RuntimeEventDeleted {
		return unseen
	}
	return created + rank(t-RuntimeEventCreated)
}

// A container holds the facts about one container until its removal.
type container struct {
	id, name string
	attempt  int64

	is          rank // the furthest rank in an answer
	isSince     tick // when the first answer that showed this rank ended
	seen        bool // an answer has shown the container
	reported    rank // the furthest rank passed on as a step
	shown       tick // when the last answer that showed the container ended, or when it was expected; too early while the pod is settled
	missing     bool // a full list that began after shown lacks it
	endKnown    tick // when the first answer that shows its end ended; 0 before
	endReported bool // its end has been passed on
	exitSeen    bool // an answer has shown it exited
	exit        *ExitDetails
	returned    bool // it was removed before, and is back
}

// A claim is what events say about a container, until answers show it.
type claim struct {
	is   rank // to be shown by an answer; unseen if none is, or one has shown it
	last tick // the last event
	exit *ExitDetails
}

// A pod holds the facts that answers showed of one pod, and the claims of events. It is
// pure: an answer goes in, and the steps of its containers come out.
//
// Facts only grow. Every answer proves the existence of the containers that it shows,
// and their ranks and exits, no matter when it was asked for. Absence proves something
// only if the question began after the last answer that showed the container ended. An
// inspection then shows that the container is removed, a full list only that an inspection
// is needed.
//
// The invariants are
//
//  1. a container's rank never falls, and the reported rank never exceeds it;
//  2. a removed container is in the list of former containers and nowhere else;
//  3. a settled pod has no claims, and nothing to report that an inspection has shown.
type pod[K comparable] struct {
	key        K
	containers map[string]*container
	claims     map[string]*claim
	answered   tick // when the last full list or used inspection ended
	lastEvent  tick

	// A pod whose containers are just those of the last full list is settled. The next
	// list is then compared with last, which takes no lookup. Meanwhile container.shown
	// stays as it is, so whatever reads it or changes a container calls unsettle first.
	settled bool
	last    []Container
	listed  tick // when the last list that the pod was settled in ended
}

func newPod[K comparable](key K) pod[K] {
	return pod[K]{key: key, containers: map[string]*container{}, claims: map[string]*claim{}}
}

// A step is one step in the life of a container, to be published.
type step[K comparable] struct {
	event     EventType // empty if there is nothing to report
	container string
	end       *end[K] // the container's end, for a step that is one
}

// hasEvent reports whether a step has an event, so that a reader of events hears of the pod.
func hasEvent[K comparable](steps []step[K]) bool {
	return slices.ContainsFunc(steps, func(s step[K]) bool { return s.event != "" })
}

// An end is an exit with the facts that its readers need.
type end[K comparable] struct {
	exit Exit[K]
	seen bool // an answer has shown the container

	known tick // when the first answer that shows the end ended
	open  bool // the end comes once more, perhaps with details
}

// unsettle makes the next list be compared with every container, and brings their shown up
// to date.
func (p *pod[K]) unsettle() {
	if !p.settled {
		return
	}
	p.settled = false
	for _, c := range p.containers {
		c.shown = max(c.shown, p.listed)
	}
}

// observe merges one container of an answer. ahead reports whether its rank is new, and
// late whether the answer may be older than the container's removal, so that it was ignored.
func (p *pod[K]) observe(s Container, began, ended tick, former *formerContainers[K]) (ahead, late bool) {
	c := p.containers[s.ID]
	if c == nil {
		back, ok := former.returned(ref[K]{p.key, s.ID}, began)
		if !ok {
			return false, true
		}
		c = &container{id: s.ID, returned: back}
		p.containers[s.ID] = c
	}
	c.seen, c.shown, c.missing = true, ended, false
	if s.Name != "" {
		c.name, c.attempt = s.Name, s.Attempt
	}
	r := rankOf(s.State)
	switch n := p.claims[s.ID]; {
	case r == exited:
		c.exitSeen = true
		if c.endKnown == 0 {
			c.endKnown = ended
		}
		if c.exit == nil && s.Exit != nil {
			c.exit = s.Exit.copy()
		}
	case (r == created || r == running) && r >= c.is && n != nil && n.last < began:
		n.exit = nil // the container was alive after the event, which was wrong
	}
	if ahead = r > c.is; ahead {
		c.is, c.isSince = r, ended
	}
	return ahead, false
}

// list takes p's containers in a full list, none if the list lacks the pod. steps is how
// many containers changed, inspect reports whether the pod must be inspected, and unseen is
// how many containers events named and no answer has shown.
func (p *pod[K]) list(seen []Container, began, ended tick, former *formerContainers[K]) (steps int, inspect bool, unseen int) {
	if p.settled && slices.EqualFunc(p.last, seen, sameState) {
		p.listed, p.answered = ended, ended
		return 0, false, 0
	}
	p.unsettle()
	here := 0
	for _, s := range seen {
		ahead, late := p.observe(s, began, ended, former)
		if ahead {
			steps++
		}
		c := p.containers[s.ID]
		inspect = inspect || ahead || late || c.reported < c.is || rankOf(s.State) < c.is && s.State != StateUnknown
	}
	for _, c := range p.containers {
		switch {
		case c.shown == ended:
			here++
		case c.shown >= began: // it may have appeared after the list
			inspect = inspect || c.seen
		default:
			if !c.missing && c.seen {
				steps++
			}
			c.missing, inspect = true, true
		}
	}
	unseen = p.forgetClaims(began, former)
	p.answered = ended
	if !inspect && here == len(seen) && here == len(p.containers) && len(p.claims) == 0 {
		p.settled, p.listed, p.last = true, ended, slices.Clone(seen)
	}
	return steps, inspect, unseen
}

// sameState reports whether two lists show the same of a container.
func sameState(a, b Container) bool { return a.ID == b.ID && a.State == b.State }

// forgetClaims drops the claims from before began, because a full list that began then has
// been answered, and no inspection is repeated for them any longer. It keeps the exits of
// containers that are alive, and returns how many containers no answer has shown.
func (p *pod[K]) forgetClaims(began tick, former *formerContainers[K]) (unseenContainers int) {
	for id, n := range p.claims {
		if n.last >= began {
			continue
		}
		if p.containers[id] == nil && !former.has(ref[K]{p.key, id}) {
			unseenContainers++
		}
		p.fulfil(id)
	}
	return unseenContainers
}

// fulfil ends the wait for an answer that shows the claim about a container. The exit in
// it is kept as long as the container may need it.
func (p *pod[K]) fulfil(id string) {
	n, c := p.claims[id], p.containers[id]
	if n.is = unseen; c == nil || c.endReported || n.exit == nil {
		delete(p.claims, id)
	}
}

// distinct returns seen with each container once, at its furthest state.
func distinct(seen []Container) []Container {
	place := make(map[string]int, len(seen))
	list := make([]Container, 0, len(seen))
	for _, s := range seen {
		i, ok := place[s.ID]
		switch {
		case !ok:
			place[s.ID] = len(list)
			list = append(list, s)
		case rankOf(s.State) > rankOf(list[i].State):
			list[i] = s
		}
	}
	return list
}

// stepsBack reports whether an inspection that began at began shows an earlier state of a
// container than another answer, and whether its contents are old, because that answer had
// ended before.
func (p *pod[K]) stepsBack(seen []Container, began tick) (back, old bool) {
	for _, s := range seen {
		c := p.containers[s.ID]
		if c != nil && s.State != StateUnknown && rankOf(s.State) < c.is {
			back, old = true, old || c.isSince < began
		}
	}
	return back, old
}

// observeAll merges the facts in an answer that is otherwise not used.
func (p *pod[K]) observeAll(seen []Container, began, ended tick, former *formerContainers[K]) {
	p.unsettle()
	for _, s := range seen {
		p.observe(s, began, ended, former)
	}
}

// inspect takes the containers in an inspection of the pod, none if the pod is gone, and
// returns the steps of those that it shows or proves to be removed. again reports whether
// another inspection is needed, because a container may have appeared after this one.
func (p *pod[K]) inspect(seen []Container, began, ended tick, former *formerContainers[K]) (steps []step[K], again bool) {
	p.unsettle()
	p.answered = ended
	for _, s := range seen {
		_, late := p.observe(s, began, ended, former)
		again = again || late
	}
	for id, c := range p.containers {
		switch {
		case c.shown == ended:
			steps = p.advance(steps, c)
		case !c.seen && (!c.missing || c.shown >= began): // a list has to lack it first
		case c.shown >= began:
			again = true
		default:
			c.is, c.isSince = removed, ended
			if c.endKnown == 0 {
				c.endKnown = ended
			}
			steps = p.advance(steps, c)
			former.add(ref[K]{p.key, id}, formerContainer[K]{removed: ended, seen: c.seen, exit: p.exit(c)})
			delete(p.containers, id)
		}
	}
	return sorted(steps), again
}

// report returns the ends that full lists have shown, for a pod whose inspections fail.
// Their events come with the next inspection. So do the ends without details, once more,
// because only the details may tell whether an end came before a reader was made.
func (p *pod[K]) report() (steps []step[K]) {
	for _, c := range p.containers {
		if c.is == exited && !c.endReported {
			e := p.end(c)
			e.open = e.exit.Details.Finished.IsZero()
			c.endReported = !e.open
			steps = append(steps, step[K]{container: c.id, end: e})
		}
	}
	return sorted(steps)
}

// end returns the end of c, which is passed on now.
func (p *pod[K]) end(c *container) *end[K] {
	c.endReported = true
	return &end[K]{exit: p.exit(c), seen: c.seen, known: c.endKnown}
}

func sorted[K comparable](steps []step[K]) []step[K] {
	slices.SortStableFunc(steps, func(a, b step[K]) int { return strings.Compare(a.container, b.container) })
	return steps
}

// advance appends the steps of c since the last ones. A container that no answer has shown
// has no events. Its removal is only an end, for the readers that expect it.
func (p *pod[K]) advance(steps []step[K], c *container) []step[K] {
	if c.is == c.reported {
		return steps
	}
	var e *end[K]
	if c.is >= exited && !c.endReported {
		e = p.end(c)
	}
	from := c.reported
	c.reported = c.is
	switch {
	case !c.seen:
		return append(steps, step[K]{container: c.id, end: e})
	case c.returned:
		return append(steps, step[K]{event: ContainerChanged, container: c.id, end: e})
	case c.is >= exited && from < exited:
		steps = append(steps, step[K]{event: ContainerDied, container: c.id, end: e})
		if c.is == exited {
			return steps
		}
	}
	return append(steps, step[K]{event: eventOf(c.is), container: c.id})
}

// eventOf returns the type of the event of a container that reaches a rank.
func eventOf(r rank) EventType {
	switch r {
	case running:
		return ContainerStarted
	case removed:
		return ContainerRemoved
	}
	return ContainerChanged
}

// exit returns the exit of c as far as it is known.
func (p *pod[K]) exit(c *container) Exit[K] {
	e := Exit[K]{Pod: p.key, Container: c.id, Source: ExitInferred}
	n := p.claims[c.id]
	switch {
	case c.exit != nil:
		e.Details, e.Known = *c.exit, true
	case n != nil && n.exit != nil:
		e.Details, e.Known = *n.exit, true
		e.Source = ExitToldByEvent
	}
	if c.exitSeen {
		e.Source = ExitShown
	}
	if e.Details.Name == "" {
		e.Details.Name, e.Details.Attempt = c.name, c.attempt
	}
	return e
}

// event takes an event, and keeps what it says about a container that answers have not
// shown.
func (p *pod[K]) event(e RuntimeEvent[K], now tick, former *formerContainers[K]) {
	p.lastEvent = now
	r := rankClaimed(e.Type)
	c := p.containers[e.Container]
	switch {
	case e.Container == "", r == unseen && e.Exit == nil:
		return
	case c == nil && former.has(ref[K]{p.key, e.Container}):
		return
	case c != nil && c.is >= r && (e.Exit == nil || c.endReported):
		return
	}
	p.unsettle()
	n := p.claims[e.Container]
	if n == nil {
		n = &claim{}
		p.claims[e.Container] = n
	}
	n.is, n.last = max(n.is, r), now
	if e.Exit != nil {
		n.exit = e.Exit.copy()
	}
}

// behind reports whether the inspection that began at began lacks the claim of an event
// before it, so that it must be repeated. It also returns how many containers events named
// and are gone without any answer that showed them.
func (p *pod[K]) behind(began tick, former *formerContainers[K]) (behind bool, unseenContainers int) {
	for id, n := range p.claims {
		if n.last >= began {
			continue // another inspection is wanted
		}
		c := p.containers[id]
		isFormer := c == nil && former.has(ref[K]{p.key, id})
		switch {
		case c != nil && c.is < n.is && (c.seen || n.is < removed), c == nil && !isFormer && n.is > unseen && n.is < removed:
			behind = true
			continue
		case c == nil && !isFormer:
			unseenContainers++
		}
		p.fulfil(id)
	}
	return behind, unseenContainers
}

// expect notes that a reader of exits expects a container, which need not be in any
// answer.
func (p *pod[K]) expect(c Container, now tick) {
	p.unsettle()
	known := p.containers[c.ID]
	if known == nil {
		known = &container{id: c.ID, shown: now}
		p.containers[c.ID] = known
	}
	if known.name == "" {
		known.name, known.attempt = c.Name, c.Attempt
	}
}

// idle reports whether p holds nothing.
func (p *pod[K]) idle() bool { return len(p.containers) == 0 && len(p.claims) == 0 }

// A ref names a container of a pod.
type ref[K comparable] struct {
	pod       K
	container string
}

// compare orders ends that become known at once by their finishing time, and then by
// container.
func (e end[K]) compare(f end[K]) int {
	return cmp.Or(e.exit.Details.Finished.Compare(f.exit.Details.Finished), strings.Compare(e.exit.Container, f.exit.Container))
}

// mostFormer is after how many more removals a removed container is forgotten, beyond
// twice the containers that there were when it was removed. So a runtime that lost all of
// its containers and shows them again repeats no exit.
const mostFormer = 4096

// formerContainers remembers the containers removed last. If one of them comes back, its
// end has been reported already.
type formerContainers[K comparable] struct {
	queue    queue.Queue[ref[K], formerContainer[K]]
	removals int // so far
	known    int // containers that are not removed, as counted by the owner
}

// A formerContainer is a removed container.
type formerContainer[K comparable] struct {
	removed tick // when the answer that proved its removal ended
	seen    bool // an answer has shown it
	exit    Exit[K]
	until   int // the number of removals at which it is forgotten
}

func (f *formerContainers[K]) has(c ref[K]) bool { return f.queue.Get(c) != nil }

func (f *formerContainers[K]) add(c ref[K], x formerContainer[K]) {
	f.removals++
	x.until = f.removals + mostFormer + 2*f.known
	*f.queue.Put(c) = x
}

// forget removes and returns the first container if its time is over.
func (f *formerContainers[K]) forget() (c ref[K], ok bool) {
	c, x := f.queue.First()
	if x == nil || f.removals < x.until {
		return c, false
	}
	f.queue.Drop(c)
	return c, true
}

// returned removes a container that an answer shows, unless the question began before its
// removal was proved. back reports whether the container was in an answer before.
func (f *formerContainers[K]) returned(c ref[K], began tick) (back, ok bool) {
	x := f.queue.Get(c)
	if x == nil {
		return false, true
	}
	if x.removed >= began {
		return false, false
	}
	back = x.seen
	f.queue.Drop(c)
	return back, true
}
