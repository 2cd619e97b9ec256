package pleg

import (
	"math"
	"time"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// mostExits is how many exits a reader may be behind, beyond twice the containers. Those
// count as many as there were at most while it was behind, so that a runtime that loses
// all of its containers at once does not lower the limit.
const mostExits = 4096

// An exitLog is the state of one ExitReader: its pending exits, and the facts that decide which
// ends are exits for it. The owner locks it.
//
// A container is in ended from its end on for as long as the Generator remembers it, so
// no end counts twice. The ends that an answer before baseline shows are past ones, if
// their time does not say otherwise.
type exitLog[K comparable] struct {
	made     time.Time // when the reader was made, or the one whose position it continues
	baseline tick      // the first full list, or later; 0 if nothing is past
	expects  map[ref[K]]struct{}
	ended    map[ref[K]]struct{}

	due   []Exit[K]
	limit int           // the greatest number of due exits; 0 if none is
	lost  int           // dropped since the last taken exit
	wake  chan struct{} // holds one token if an exit may be pending
}

// notListed is the baseline before the first full list.
const notListed tick = math.MaxUint64

// take makes the exit of an end due, unless it already was or is none for the reader.
// known is the number of known containers.
func (l *exitLog[K]) take(e end[K], known int) {
	c := ref[K]{e.exit.Pod, e.exit.Container}
	if _, known := l.ended[c]; known {
		return
	}
	_, expected := l.expects[c]
	if e.open && !expected && e.at <= l.baseline {
		return // the details will tell whether it is past
	}
	delete(l.expects, c)
	if !expected && !e.seen {
		return // for a reader that expects it
	}
	l.ended[c] = struct{}{}
	if expected || !l.past(e) {
		l.add(e.exit, known)
	}
}

// past reports whether the end of a container came before the reader was made.
func (l *exitLog[K]) past(e end[K]) bool {
	if e.at > l.baseline || l.baseline == 0 {
		return false
	}
	finished := e.exit.Details.Finished
	return finished.IsZero() || endOfSecond(finished).Before(l.made)
}

// endOfSecond returns the latest time that a timestamp may stand for, which for whole
// seconds is the end of the second.
func endOfSecond(t time.Time) time.Time {
	if t.Nanosecond() == 0 {
		return t.Add(time.Second - 1)
	}
	return t
}

// add makes an exit due, and drops the oldest beyond the limit.
func (l *exitLog[K]) add(e Exit[K], known int) {
	l.limit = max(l.limit, mostExits+2*known)
	l.due = append(l.due, e)
	for len(l.due) > l.limit {
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
		l.due, l.limit = nil, 0 // release the array
	} else {
		queue.Signal(l.wake) // for another waiter
	}
	e.Lost += l.lost
	l.lost = 0
	return e, true
}
