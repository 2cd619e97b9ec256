package pleg

import (
	"slices"
	"time"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// mostAhead is how far ahead of the local clock the stamps of a runtime may be for old
// news of a forgotten container to be told apart from new ones.
const mostAhead = 2 * time.Second

// A containerRef names a container of a pod.
type containerRef[K comparable] struct {
	pod       K
	container string
}

// An exitLog is the position of one ExitReader, kept as its containers come and go.
// A container stands in one of the three queues at most. Its owner locks it.
type exitLog[K comparable] struct {
	awaited queue.Queue[containerRef[K], awaitedEnd] // their ends are not known yet
	listed  queue.Queue[containerRef[K], struct{}]   // ended; the runtime may list them still
	gone    queue.Queue[containerRef[K], time.Time]  // ended and no longer listed, and when that was last known

	latest  time.Time // the latest in gone, of all that ever were there
	horizon time.Time // nothing of a later time is forgotten
	evicted bool      // horizon is set
}

// An awaitedEnd is the end of a container that a reader has yet to be told.
type awaitedEnd struct {
	since    uint64    // a full relist later than this one shows whether the container is there
	expected bool      // by the program, or by the position that the reader began with
	shown    bool      // an answer has shown the container, not only events
	told     time.Time // the latest time that is believed of these events; zero: none
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
		} else if !l.evicted || at.After(l.horizon) {
			l.horizon, l.evicted = at, true
		}
	}
}

// doubts reports whether the container of a may be one that has ended and was forgotten:
// nothing but old events have told of it.
func (l *exitLog[K]) doubts(a awaitedEnd) bool {
	return !a.expected && !a.shown && l.evicted && !a.told.After(l.horizon.Add(mostAhead))
}

// position returns the part of a position that is about containers. Containers that are
// gone are not named: the horizon stands for them.
func (l *exitLog[K]) position() (pods []podPosition[K], horizon time.Time) {
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
	horizon = l.horizon
	if l.gone.Len() > 0 && (!l.evicted || l.latest.After(horizon)) {
		horizon = l.latest
	}
	return pods, horizon.Round(0)
}
