package pleg

import (
	"slices"
	"time"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// mostAhead is how far ahead of the local clock the stamps of a runtime may be for old
// news of a forgotten container to be told apart from new ones.
const mostAhead = 2 * time.Second

// rememberedExits is how many ended containers that are no longer listed a reader of
// exits remembers, beyond twice the containers that are known, and how many exits it
// may be behind.
const rememberedExits = 4096

// An exitLog is the state of one ExitReader: the exits that it has yet to yield, and the
// position that keeps any of them from being added twice. A container stands in one of the
// queues awaited, listed and gone at most. Its owner locks it.
type exitLog[K comparable] struct {
	past  bool      // the exits of before are wanted too
	begun time.Time // when the reader was made
	wake  chan struct{}

	due  []Exit[K]
	lost int // dropped since the last one that was taken

	awaited queue.Queue[containerRef[K], awaitedEnd] // their ends are not known yet
	listed  queue.Queue[containerRef[K], struct{}]   // ended; the runtime may list them still
	gone    queue.Queue[containerRef[K], time.Time]  // ended and no longer listed, and when that was last known

	latest        time.Time // the latest in gone, of all that ever were there
	evictedBefore time.Time // nothing of a later time is forgotten
	evicted       bool      // evictedBefore is set
}

// An awaitedEnd is the end of a container that a reader has yet to be told.
type awaitedEnd struct {
	since    uint64    // a full relist later than this one shows whether the container is there
	expected bool      // by the program, or by the position that the reader began with
	shown    bool      // an answer has shown the container, not only events
	told     time.Time // the latest time that is believed of these events; zero: none
}

// newExitLog returns the log of a reader that begins at now, or goes on at a position.
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
			l.awaited.Put(containerRef[K]{p.Pod, id}).expected = true
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

// add makes an exit due. If more than limit are, the oldest is dropped.
func (l *exitLog[K]) add(e Exit[K], limit int) {
	l.due = append(l.due, e)
	if len(l.due) > limit {
		l.lost += 1 + l.due[0].Lost
		l.due[0] = Exit[K]{} // lets go of it
		l.due = l.due[1:]
	}
	queue.Signal(l.wake)
}

// next removes the oldest exit.
func (l *exitLog[K]) next() (e Exit[K], ok bool) {
	if len(l.due) == 0 {
		return e, false
	}
	e, l.due[0] = l.due[0], Exit[K]{}
	if l.due = l.due[1:]; len(l.due) == 0 {
		l.due = nil // or the array would stay as large as it ever was
	} else {
		queue.Signal(l.wake) // for another one that waits
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

// report makes an end due, unless it was due or yielded before, or was before the reader,
// or may be one that is forgotten. start is when the observation began that shows it.
func (l *exitLog[K]) report(e end[K], start time.Time, since uint64, limit int) {
	c := e.ref()
	if e.again {
		l.begin(c, since)
	}
	a := l.of(c)
	if l.end(c) && (a.expected || !l.preceded(e, start) && !(e.orphan && l.doubts(a))) {
		l.add(e.exit, limit)
	}
}

// preceded reports whether e, of an observation that began at start, was before the
// reader was made, which does not want those: the first look shows it, and the
// runtime says so. An end without a time is not: it may have been after.
func (l *exitLog[K]) preceded(e end[K], start time.Time) bool {
	finished := e.exit.Details.Finished
	if l.past || !e.first || finished.IsZero() {
		return false
	}
	age := start.Sub(lenientStamp(finished)) // a step of the wall clock since begun does not matter then
	return start.Add(-age).Before(l.begun)
}

// has reports whether c has ended.
func (l *exitLog[K]) has(c containerRef[K]) bool {
	return l.listed.Get(c) != nil || l.gone.Get(c) != nil
}

// of returns what is known of the awaited end of c; zero: it is not awaited.
func (l *exitLog[K]) of(c containerRef[K]) (a awaitedEnd) {
	if s := l.awaited.Get(c); s != nil {
		a = *s
	}
	return a
}

// await awaits the end of c, unless c has ended, and returns what is known of it; nil if
// it has ended.
func (l *exitLog[K]) await(c containerRef[K], since uint64) *awaitedEnd {
	if l.has(c) {
		return nil
	}
	if l.awaited.Get(c) == nil {
		l.awaited.Put(c).since = since
	}
	return l.awaited.Put(c)
}

// show notes that an answer has shown c.
func (l *exitLog[K]) show(c containerRef[K], since uint64) {
	if a := l.await(c, since); a != nil {
		a.shown = true
	}
}

// expect notes that the program knows of c.
func (l *exitLog[K]) expect(c containerRef[K], since uint64) {
	if a := l.await(c, since); a != nil {
		a.expected = true
	}
}

// tell notes that an event of the time at, zero if that is not known, has told of c.
func (l *exitLog[K]) tell(c containerRef[K], at time.Time) {
	if s := l.awaited.Get(c); s != nil && at.After(s.told) {
		s.told = at
	}
}

// begin notes that c is alive: one that ended was another container of its id.
func (l *exitLog[K]) begin(c containerRef[K], since uint64) {
	l.listed.Drop(c)
	l.gone.Drop(c)
	l.show(c, since)
}

// end notes that c has ended and is listed, and reports whether the end is news.
func (l *exitLog[K]) end(c containerRef[K]) (news bool) {
	news = !l.has(c)
	l.awaited.Drop(c)
	l.gone.Drop(c)
	l.listed.Put(c)
	return news
}

// leave notes that c, which had ended, is known at the time at to be no longer listed.
func (l *exitLog[K]) leave(c containerRef[K], at time.Time) {
	if !l.has(c) {
		return
	}
	l.listed.Drop(c)
	l.gone.Drop(c) // it goes to the end of the queue
	*l.gone.Put(c) = at
	if at.After(l.latest) {
		l.latest = at
	}
}

// evict forgets containers that are gone beyond limit, the oldest first. Those that are
// tracked stay; they are fewer than limit.
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

// doubts reports whether the container of a may be one that has ended and was forgotten:
// nothing but old events have told of it.
func (l *exitLog[K]) doubts(a awaitedEnd) bool {
	return !a.expected && !a.shown && l.evicted && !a.told.After(l.evictedBefore.Add(mostAhead))
}

// position returns where the reader is. Containers that are gone are not named;
// evictedBefore stands for them.
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
		if l.doubts(l.of(c)) {
			continue
		}
		p := pod(c.pod)
		p.Live = append(p.Live, c.container)
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

// retained counts what l holds besides the containers that are there, which are live.
func (l *exitLog[K]) retained(live int) int {
	return len(l.due) + l.gone.Len() + max(0, l.awaited.Len()+l.listed.Len()-live)
}
