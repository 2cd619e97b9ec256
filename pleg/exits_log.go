package pleg

import (
	"slices"
	"time"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// mostAhead is how far a runtime's timestamps may be ahead of the local clock for old
// events of a forgotten container to be told from new ones.
const mostAhead = 2 * time.Second

// rememberedExits is how many ended and no longer listed containers a reader of exits
// remembers, and how many exits it may be behind, beyond twice the known pods and
// containers.
const rememberedExits = 4096

// An exitLog is the state of one ExitReader, with its pending exits and the position
// that prevents adding an exit twice. A container is in at most one of the queues
// awaited, listed and gone. The owner locks the log.
type exitLog[K comparable] struct {
	past  bool      // earlier exits are wanted too
	begun time.Time // creation time of the reader
	wake  chan struct{}

	due  []Exit[K]
	lost int // dropped since the last taken exit

	awaited queue.Queue[containerRef[K], awaitedEnd] // ends not known yet
	listed  queue.Queue[containerRef[K], struct{}]   // ended, possibly still listed
	gone    queue.Queue[containerRef[K], time.Time]  // ended and no longer listed, with the time of that news

	latest        time.Time // the latest time ever in gone
	evictedBefore time.Time // the latest time of a forgotten container
	evicted       bool      // evictedBefore is set
}

// An awaitedEnd is a container whose end a reader awaits.
type awaitedEnd struct {
	since    uint64    // a full relist later than this serial shows whether the container exists
	expected bool      // by the program, or by the position resumed from
	shown    bool      // an answer has shown the container, not just events
	told     time.Time // the latest believed time of those events; zero if none
	name     containerName
}

// A containerName is the Name and Attempt of a Container, or zero if unknown.
type containerName struct {
	Name    string `json:"name"`
	Attempt int64  `json:"attempt,omitempty"`
}

// setName records the name of c, if known.
func (a *awaitedEnd) setName(c Container) {
	if c.Name != "" {
		a.name = containerName{c.Name, c.Attempt}
	}
}

// newExitLog returns the log of a reader that begins at now or resumes from a position.
func newExitLog[K comparable](past bool, resume *ExitPosition[K], now time.Time) (*exitLog[K], error) {
	l := &exitLog[K]{past: past || resume != nil, begun: now, wake: make(chan struct{}, 1)}
	if resume == nil {
		return l, nil
	}
	if err := resume.Validate(); err != nil {
		return nil, err
	}
	l.evictedBefore, l.evicted, l.lost = resume.EvictedBefore, !resume.EvictedBefore.IsZero(), resume.Lost
	for _, p := range resume.Pods {
		for _, id := range p.Live {
			*l.awaited.Put(containerRef[K]{p.Pod, id}) = awaitedEnd{expected: true, name: p.Names[id]}
		}
		for _, id := range p.Ended {
			l.listed.Put(containerRef[K]{p.Pod, id})
		}
	}
	if l.due = slices.Clone(resume.Due); len(l.due) > 0 {
		queue.Signal(l.wake)
	}
	return l, nil
}

// add makes an exit due, and drops the oldest one beyond limit.
func (l *exitLog[K]) add(e Exit[K], limit int) {
	l.due = append(l.due, e)
	if len(l.due) > limit {
		l.lost += 1 + l.due[0].Lost
		l.due[0] = Exit[K]{} // release it
		l.due = l.due[1:]
	}
	queue.Signal(l.wake)
}

// next removes and returns the oldest exit.
func (l *exitLog[K]) next() (e Exit[K], ok bool) {
	if len(l.due) == 0 {
		return e, false
	}
	e, l.due[0] = l.due[0], Exit[K]{}
	if l.due = l.due[1:]; len(l.due) == 0 {
		l.due = nil // release the array
	} else {
		queue.Signal(l.wake) // for another waiter
	}
	e.Lost += l.lost
	l.lost = 0
	return e, true
}

// take takes news of containers, and keeps at most limit exits due.
func (l *exitLog[K]) take(n exitNews[K], limit int) {
	for _, e := range n.ends {
		l.report(e, n.start, n.serial, limit)
	}
	for _, c := range n.begun {
		l.begin(c, n.serial)
	}
	for _, c := range n.gone {
		l.leave(c, n.end)
	}
}

// report makes an end due, unless it already was, preceded the reader, or may be a
// forgotten one. start is the start of the observation that shows it.
func (l *exitLog[K]) report(e end[K], start time.Time, since uint64, limit int) {
	c := e.ref()
	if e.again {
		l.begin(c, since)
	}
	a := l.of(c)
	if !e.exit.Known {
		e.exit.Details = ExitDetails{Name: a.name.Name, Attempt: a.name.Attempt}
	}
	if l.end(c) && (a.expected || !l.preceded(e, start) && !(e.orphan && l.doubts(a))) {
		l.add(e.exit, limit)
	}
}

// preceded reports whether e, from an observation that began at start, is a past exit
// that the reader does not want. Only the first look can show one, with a finishing
// time before the reader was made. An end without a time may be later, so it does not
// count.
func (l *exitLog[K]) preceded(e end[K], start time.Time) bool {
	finished := e.exit.Details.Finished
	if l.past || !e.first || finished.IsZero() {
		return false
	}
	age := start.Sub(lenientStamp(finished)) // independent of steps of the wall clock since begun
	return start.Add(-age).Before(l.begun)
}

// has reports whether c has ended.
func (l *exitLog[K]) has(c containerRef[K]) bool {
	return l.listed.Get(c) != nil || l.gone.Get(c) != nil
}

// of returns the awaited end of c, or the zero value.
func (l *exitLog[K]) of(c containerRef[K]) (a awaitedEnd) {
	if s := l.awaited.Get(c); s != nil {
		a = *s
	}
	return a
}

// await awaits the end of c and returns its awaitedEnd, or nil if c has ended.
func (l *exitLog[K]) await(c containerRef[K], since uint64) *awaitedEnd {
	if l.has(c) {
		return nil
	}
	if l.awaited.Get(c) == nil {
		l.awaited.Put(c).since = since
	}
	return l.awaited.Put(c)
}

// show records that an answer has shown c, a container of pod.
func (l *exitLog[K]) show(pod K, c Container, since uint64) {
	if a := l.await(containerRef[K]{pod, c.ID}, since); a != nil {
		a.shown = true
		a.setName(c)
	}
}

// setNames records the names of a pod's awaited containers from its status, if that is a
// ContainerLister.
func (l *exitLog[K]) setNames(pod K, status any) {
	s, ok := status.(ContainerLister)
	if !ok {
		return
	}
	for _, c := range s.Containers() {
		if a := l.awaited.Get(containerRef[K]{pod, c.ID}); a != nil {
			a.setName(c)
		}
	}
}

// expect records that the program expects c, a container of pod.
func (l *exitLog[K]) expect(pod K, c Container, since uint64) {
	if a := l.await(containerRef[K]{pod, c.ID}, since); a != nil {
		a.expected = true
		a.setName(c)
	}
}

// tell records an event about c from the time at, or zero if unknown.
func (l *exitLog[K]) tell(c containerRef[K], at time.Time) {
	if s := l.awaited.Get(c); s != nil && at.After(s.told) {
		s.told = at
	}
}

// begin records that c is alive. An earlier end was that of another container with its
// id.
func (l *exitLog[K]) begin(c containerRef[K], since uint64) {
	l.listed.Drop(c)
	l.gone.Drop(c)
	l.show(c.pod, Container{ID: c.container}, since)
}

// end records that c has ended and is listed, and reports whether the end is news.
func (l *exitLog[K]) end(c containerRef[K]) (news bool) {
	news = !l.has(c)
	l.awaited.Drop(c)
	l.gone.Drop(c)
	l.listed.Put(c)
	return news
}

// leave records that c, if it has ended, is known to be no longer listed at the time
// at.
func (l *exitLog[K]) leave(c containerRef[K], at time.Time) {
	if !l.has(c) {
		return
	}
	l.listed.Drop(c)
	l.gone.Drop(c) // move it to the end of the queue
	*l.gone.Put(c) = at
	if at.After(l.latest) {
		l.latest = at
	}
}

// evict forgets the oldest gone containers beyond limit. It keeps tracked ones, which
// are fewer than limit.
func (l *exitLog[K]) evict(limit int, tracked func(containerRef[K]) bool) {
	for l.gone.Len() > limit {
		c, at, _ := l.gone.Take()
		if tracked(c) {
			*l.gone.Put(c) = at
		} else if !l.evicted || at.After(l.evictedBefore) {
			l.evictedBefore, l.evicted = at, true
		}
	}
}

// doubts reports whether the container of a may be a forgotten one, known only from old
// events.
func (l *exitLog[K]) doubts(a awaitedEnd) bool {
	return !a.expected && !a.shown && l.evicted && !a.told.After(l.evictedBefore.Add(mostAhead))
}

// position returns the reader's position. evictedBefore stands for the gone containers.
func (l *exitLog[K]) position() ExitPosition[K] {
	var pods []podPosition[K]
	place := map[K]int{}
	pod := func(key K) *podPosition[K] {
		i, ok := place[key]
		if !ok {
			i = len(pods)
			place[key] = i
			pods = append(pods, podPosition[K]{Pod: key})
		}
		return &pods[i]
	}
	for c := range l.awaited.Keys() {
		a := l.of(c)
		if l.doubts(a) {
			continue
		}
		p := pod(c.pod)
		p.Live = append(p.Live, c.container)
		if a.name.Name != "" {
			if p.Names == nil {
				p.Names = map[string]containerName{}
			}
			p.Names[c.container] = a.name
		}
	}
	for c := range l.listed.Keys() {
		p := pod(c.pod)
		p.Ended = append(p.Ended, c.container)
	}
	for _, p := range pods {
		slices.Sort(p.Live)
		slices.Sort(p.Ended)
	}
	before := l.evictedBefore
	if l.gone.Len() > 0 && (!l.evicted || l.latest.After(before)) {
		before = l.latest
	}
	return ExitPosition[K]{Due: slices.Clone(l.due), Lost: l.lost, Pods: pods, EvictedBefore: before.Round(0)}
}

// retained returns the number of exits and containers in l beyond the live ones.
func (l *exitLog[K]) retained(live int) int {
	return len(l.due) + l.gone.Len() + max(0, l.awaited.Len()+l.listed.Len()-live)
}
