package pleg

import (
	"slices"
	"time"
)

// rememberedExits is how many ended containers that are forgotten otherwise a
// reader of exits remembers, beyond twice the containers that are known, and how
// many exits it may be behind.
const rememberedExits = 4096

// A containerRef names a container of a pod.
type containerRef[K comparable] struct {
	pod       K
	container string
}

// An exitQueue is the state of one ExitReader: what it has yet to yield, and which
// containers it has been told the end of, so that none is told twice. Its owner
// locks it.
type exitQueue[K comparable] struct {
	earlier bool // the exits of before are wanted too
	wake    chan struct{}

	due  []Exit[K]
	lost int // dropped since the last one that was taken

	ended   queue[containerRef[K], time.Time] // containers that were added, and when they were known last
	horizon time.Time                         // nothing that was known last after it is forgotten
	evicted bool                              // horizon is set

	before map[containerRef[K]]struct{} // there at the position that the reader began with, and not seen since
	serial uint64                       // of the subscription
}

// newExitQueue returns the queue of a reader that begins at now.
func newExitQueue[K comparable](o ExitOptions[K], now time.Time) (*exitQueue[K], error) {
	q := &exitQueue[K]{earlier: o.Earlier || o.After != nil, wake: make(chan struct{}, 1)}
	if o.After == nil {
		return q, nil
	}
	if err := o.After.Validate(); err != nil {
		return nil, err
	}
	q.before = map[containerRef[K]]struct{}{}
	q.horizon, q.evicted, q.lost = o.After.Horizon, !o.After.Horizon.IsZero(), o.After.Lost
	for _, p := range o.After.Pods {
		for _, id := range p.Ended {
			*q.ended.put(containerRef[K]{p.Pod, id}) = now
		}
		for _, id := range p.Live {
			q.before[containerRef[K]{p.Pod, id}] = struct{}{}
		}
	}
	if q.due = slices.Clone(o.After.Due); len(q.due) > 0 {
		signal(q.wake)
	}
	return q, nil
}

// has reports whether the end of c was added.
func (q *exitQueue[K]) has(c containerRef[K]) bool { return q.ended.slots[c] != nil }

// note notes that c had ended at the time at, and reports whether that is news.
func (q *exitQueue[K]) note(c containerRef[K], at time.Time) (news bool) {
	news = !q.has(c)
	*q.ended.put(c) = at
	delete(q.before, c)
	return news
}

// add makes an exit due. If more than limit are, the oldest is dropped.
func (q *exitQueue[K]) add(e Exit[K], limit int) {
	q.due = append(q.due, e)
	if len(q.due) > limit {
		q.lost += 1 + q.due[0].Lost
		q.due[0] = Exit[K]{} // lets go of it
		q.due = q.due[1:]
	}
	signal(q.wake)
}

// take removes the oldest exit.
func (q *exitQueue[K]) take() (e Exit[K], ok bool) {
	if len(q.due) == 0 {
		return e, false
	}
	e, q.due[0] = q.due[0], Exit[K]{}
	if q.due = q.due[1:]; len(q.due) == 0 {
		q.due = nil // or the array would stay as large as it ever was
	} else {
		signal(q.wake) // for another one that waits
	}
	e.Lost += q.lost
	q.lost = 0
	return e, true
}

// begin notes that c is alive: what ended was another container of its id.
func (q *exitQueue[K]) begin(c containerRef[K]) { q.ended.drop(c) }

// forgotten notes that c, which had ended, is remembered nowhere else from at on.
func (q *exitQueue[K]) forgotten(c containerRef[K], at time.Time) {
	if q.has(c) {
		q.ended.drop(c)
		*q.ended.put(c) = at
	}
}

// evict forgets ended containers beyond limit, the oldest first. Those that are
// tracked stay; they are fewer than limit.
func (q *exitQueue[K]) evict(limit int, tracked func(containerRef[K]) bool) {
	for q.ended.len() > limit {
		c, at, _ := q.ended.take()
		if tracked(c) {
			*q.ended.put(c) = at
		} else if !q.evicted || at.After(q.horizon) {
			q.horizon, q.evicted = at, true
		}
	}
}

// doubts reports whether an end that nothing but old news of the time told may
// show, zero if that is not known, is perhaps one that was forgotten.
func (q *exitQueue[K]) doubts(told time.Time) bool { return q.evicted && !told.After(q.horizon) }

func (q *exitQueue[K]) len() int { return len(q.due) + q.ended.len() + len(q.before) }
