package pleg

import (
	"math"
	"time"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// mostExits is how many exits a reader may be behind, beyond twice the containers. The number
// of containers is the highest since the reader fell behind, so that a runtime that loses all
// of them at once does not lower the limit.
const mostExits = 4096

// An exitLog is the state of one ExitReader: its pending exits, and the facts that decide which
// ends are exits for it. The owner locks it.
//
// A container is in reported from its end on for as long as the Generator remembers it, so
// that no end counts twice. An end that an answer up to baseline shows is from before the
// reader was made, unless its finishing time is later.
type exitLog[K comparable] struct {
	made     time.Time // when the reader was made, or the one whose position it continues
	baseline tick      // when the first full list ended, or later; 0 if every end counts
	expects  map[ref[K]]struct{}
	reported map[ref[K]]struct{}
	// undecided are containers that had ended when the position was taken from which the reader
	// continues. It could not tell whether that was before the reader was made.
	undecided map[ref[K]]struct{}

	due   []Exit[K]
	limit int           // the greatest number of due exits; 0 if none is
	lost  int           // dropped since the last taken exit
	wake  chan struct{} // holds one token if an exit may be pending
}

// notListed is the baseline before the first full list.
const notListed tick = math.MaxUint64

// A verdict says what the end of a container is to a reader of exits.
type verdict int

const (
	verdictReported  verdict = iota // it was due or left out before
	verdictUnknown                  // no answer has shown the container, and the reader does not expect it
	verdictUndecided                // only its details will tell whether it is past
	verdictPast                     // it came before the reader was made, and is left out
	verdictDue                      // it is an exit
)

// judge decides on the end of a container, which it assumes to have ended.
func (l *exitLog[K]) judge(e end[K]) verdict {
	c := ref[K]{e.exit.Pod, e.exit.Container}
	_, reported := l.reported[c]
	_, expected := l.expects[c]
	_, undecided := l.undecided[c]
	finished := e.exit.Details.Finished
	switch {
	case reported:
		return verdictReported
	case expected:
		return verdictDue
	case !e.seen && !undecided:
		return verdictUnknown
	case !undecided && (e.known > l.baseline || l.baseline == 0):
		return verdictDue
	case e.open:
		return verdictUndecided
	case finished.IsZero() || endOfSecond(finished).Before(l.made):
		return verdictPast
	}
	return verdictDue
}

// take makes the exit of an end due, unless the verdict on it is another one. Beyond the
// limit it drops the oldest exits. containers is the number of known ones.
func (l *exitLog[K]) take(e end[K], containers int) {
	v := l.judge(e)
	if v != verdictDue && v != verdictPast {
		return
	}
	c := ref[K]{e.exit.Pod, e.exit.Container}
	delete(l.expects, c)
	delete(l.undecided, c)
	l.reported[c] = struct{}{}
	if v == verdictPast {
		return
	}
	l.limit = max(l.limit, mostExits+2*containers)
	l.due = append(l.due, e.exit)
	for len(l.due) > l.limit {
		l.lost += 1 + l.due[0].Lost
		l.due[0] = Exit[K]{} // release it
		l.due = l.due[1:]
	}
	queue.Signal(l.wake)
}

// endOfSecond returns the latest time that a timestamp may stand for, which for whole
// seconds is the end of the second.
func endOfSecond(t time.Time) time.Time {
	if t.Nanosecond() == 0 {
		return t.Add(time.Second - 1)
	}
	return t
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
