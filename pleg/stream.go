package pleg

import (
	"errors"
	"time"

	"github.com/restartkit/restart/backoff"
)

// reconnect returns the backoff of an ended event stream (KEP-3386, "Retry immediately
// … every 60 seconds indefinitely").
func reconnect() backoff.Policy {
	return backoff.Policy{Initial: time.Second, Max: time.Minute, FreeFailures: 1, ResetAfter: time.Minute}
}

// A streamState is the state machine of the event stream. It decides when to open the
// stream and whether to rely on it. A connection is proven once it has lasted for a
// RelistPeriod or brought an event. It is relied upon once a full list has begun a
// period after the connection was opened. Subscriptions take a moment to become active,
// and starting runtimes lose their first events; that list covers the changes in
// between.
//
// The zero value is an unopened stream with a period of 0.
type streamState struct {
	period   time.Duration // the RelistPeriod
	open     bool
	opened   time.Time // if open
	retryAt  time.Time // if not open and again is set
	again    bool      // an earlier connection existed
	received bool      // this connection has brought an event
	proven   bool      // this connection is proven
	resynced bool      // a full list has begun a period after opened
	failures int       // in a row
}

// connect opens the stream if it is due.
func (s *streamState) connect(now time.Time) bool {
	if s.open || s.again && now.Before(s.retryAt) {
		return false
	}
	s.open, s.opened, s.received, s.proven, s.resynced = true, now, false, false, false
	return true
}

// reset forgets a stream given up by the Generator.
func (s *streamState) reset() { *s = streamState{period: s.period} }

// ended closes the stream and reports whether it was relied upon.
func (s *streamState) ended(now time.Time, err error) (lost bool) {
	lost = s.reliable()
	policy := reconnect()
	if errors.Is(err, ErrUnsupported) {
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

// listed records a completed full list that began at start.
func (s *streamState) listed(start time.Time) {
	s.resynced = s.resynced || s.open && !start.Before(s.opened.Add(s.period))
}

// prove reports whether the connection has just been proven.
func (s *streamState) prove(now time.Time) bool {
	if !s.open || s.proven || !s.received && now.Before(s.opened.Add(s.period)) {
		return false
	}
	s.proven = true
	return true
}

// reliable reports whether to rely on the stream.
func (s *streamState) reliable() bool { return s.open && s.resynced }

// next returns when to call connect or prove again.
func (s *streamState) next() wakeup {
	switch {
	case !s.open:
		return wakeAt(s.retryAt)
	case !s.proven:
		return wakeAt(s.opened.Add(s.period))
	}
	return wakeup{}
}
