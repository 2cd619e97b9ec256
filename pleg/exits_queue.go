package pleg

import (
	"slices"
	"time"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// rememberedExits is how many ended containers that are no longer listed a reader of
// exits remembers, beyond twice the containers that are known, and how many exits it
// may be behind.
const rememberedExits = 4096

// An exitQueue is the state of one ExitReader: the exits that it has yet to yield, and
// its log, which keeps any of them from being added twice. Its owner locks it.
type exitQueue[K comparable] struct {
	exitLog[K]
	earlier bool      // the exits of before are wanted too
	begun   time.Time // when the reader was made
	wake    chan struct{}

	due  []Exit[K]
	lost int // dropped since the last one that was taken
}

// newExitQueue returns the queue of a reader that begins at now.
func newExitQueue[K comparable](o ExitOptions[K], now time.Time) (*exitQueue[K], error) {
	q := &exitQueue[K]{earlier: o.Earlier || o.After != nil, begun: now, wake: make(chan struct{}, 1)}
	if o.After == nil {
		return q, nil
	}
	if err := o.After.Validate(); err != nil {
		return nil, err
	}
	q.horizon, q.evicted, q.lost = o.After.Horizon, !o.After.Horizon.IsZero(), o.After.Lost
	for _, p := range o.After.Pods {
		for _, id := range p.Live {
			q.awaited.Put(containerRef[K]{p.Pod, id}).expected = true
		}
		for _, id := range p.Ended {
			q.listed.Put(containerRef[K]{p.Pod, id})
		}
	}
	if q.due = slices.Clone(o.After.Due); len(q.due) > 0 {
		queue.Signal(q.wake)
	}
	return q, nil
}

// add makes an exit due. If more than limit are, the oldest is dropped.
func (q *exitQueue[K]) add(e Exit[K], limit int) {
	q.due = append(q.due, e)
	if len(q.due) > limit {
		q.lost += 1 + q.due[0].Lost
		q.due[0] = Exit[K]{} // lets go of it
		q.due = q.due[1:]
	}
	queue.Signal(q.wake)
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
		queue.Signal(q.wake) // for another one that waits
	}
	e.Lost += q.lost
	q.lost = 0
	return e, true
}

// position returns where the reader is.
func (q *exitQueue[K]) position() ExitPosition[K] {
	p := ExitPosition[K]{Due: slices.Clone(q.due), Lost: q.lost}
	p.Pods, p.Horizon = q.exitLog.position()
	return p
}

// backlog counts what q holds besides the containers that are there, which are live.
func (q *exitQueue[K]) backlog(live int) int {
	return len(q.due) + q.gone.Len() + max(0, q.awaited.Len()+q.listed.Len()-live)
}
