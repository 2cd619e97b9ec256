package pleg

import (
	"errors"
	"time"

	"github.com/restartkit/restart/backoff"
)

// reconnect is the delay before an event stream that ended is opened again
// (KEP-3386, "Retry immediately … every 60 seconds indefinitely").
func reconnect() backoff.Policy {
	return backoff.Policy{Initial: time.Second, Max: time.Minute, FreeFailures: 1, ResetAfter: time.Minute}
}

// A streamState is the state machine of the event stream: when to open it, and
// whether to rely on it. A connection is proven once it has lived for a relist
// period or brought an event. It is relied upon once a full relist has begun a
// period after it was opened: the subscription takes a moment to come to life,
// and a runtime that comes up loses the first events. What these would have
// reported is in that list.
//
// The zero value is a stream that is to be opened, of the period 0.
type streamState struct {
	period      time.Duration // the short relist period
	open        bool
	opened      time.Time // if open
	retryAt     time.Time // if not open, and again
	again       bool      // there was a connection before
	received    bool      // this connection has brought an event
	proven      bool      // this connection is proven
	resynced    bool      // a full relist has begun a period after opened
	unsupported bool      // the last connection that ended said so
	failures    int       // in a row
}

// connect opens the stream if it is time to.
func (s *streamState) connect(now time.Time) bool {
	if s.open || s.again && now.Before(s.retryAt) {
		return false
	}
	s.open, s.opened, s.received, s.proven, s.resynced = true, now, false, false, false
	return true
}

// reset forgets a stream that was given up, not lost.
func (s *streamState) reset() { *s = streamState{period: s.period, unsupported: s.unsupported} }

// ended closes the stream and reports whether it was relied upon.
func (s *streamState) ended(now time.Time, err error) (lost bool) {
	lost = s.reliable()
	policy := reconnect()
	s.unsupported = errors.Is(err, ErrUnsupported)
	if s.unsupported {
		s.failures, s.retryAt = 0, now.Add(policy.Max)
	} else {
		if now.Sub(s.opened) >= policy.ResetAfter {
			s.failures = 0
		}
		s.failures++
		s.retryAt = now.Add(policy.Delay(s.failures))
	}
	s.open, s.again = false, true
	return lost
}

// listed notes a full relist that has ended and began at start.
func (s *streamState) listed(start time.Time) {
	s.resynced = s.resynced || s.open && !start.Before(s.opened.Add(s.period))
}

// prove reports whether the connection has just been proven.
func (s *streamState) prove(now time.Time) bool {
	if !s.open || s.proven || !s.received && now.Before(s.opened.Add(s.period)) {
		return false
	}
	s.proven, s.unsupported = true, false
	return true
}

// reliable reports whether the stream is to be relied upon.
func (s *streamState) reliable() bool { return s.open && s.resynced }

// next is when to call connect or prove again.
func (s *streamState) next() wakeup {
	switch {
	case !s.open:
		return wakeAt(s.retryAt)
	case !s.proven:
		return wakeAt(s.opened.Add(s.period))
	}
	return wakeup{}
}
