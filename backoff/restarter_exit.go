package backoff

import "time"

// Exit is one finished run of a key. A Restarter recognizes an exit by its Run or, if
// that is 0, by its Finished; give at least one of them, for an exit with neither is a
// new one each time. An Exit is a plain value, to be copied and shared. The zero value
// is a success, now, of something that never ran.
//
// A higher Run is a new exit. A lower Run, or none, is a new exit if it finished after
// the last one, and an old one otherwise. So a caller may report all the exits that it
// still sees, each time that it looks. A counter may start over; do not report the exits
// of the old counter any more.
//
// A growing Run tells exits apart whatever the clocks do; times do so only as well as
// clocks agree. While the last exit lies ahead of the clock, because that was set back or
// because the exit's own clock is ahead, an exit without Run that finished earlier is new
// if it does not lie ahead, too. So no exit is lost for long, but an old one that is still
// reported can count again, and then the one ahead of the clock: once each, and once more
// with each new exit, until the clock has caught up.
type Exit struct {
	// Run is restartCount or any other number that grows from one run of the key to the
	// next; 0: there is none.
	Run  int64 `json:"run,omitempty"`
	Code int32 `json:"code"` // exit code
	// Signal is the number of the signal that ended the run; 0: a Code of 128+n says n.
	Signal   int32     `json:"signal,omitempty"`
	Reason   string    `json:"reason,omitempty"`  // OOMKilled, Error, …; for rules, PolicyFor and Decision.Reason
	Started  time.Time `json:"started,omitzero"`  // zero: it never ran, so it starts no curve over
	Finished time.Time `json:"finished,omitzero"` // zero, or later than the clock: counts as now

	// RetryAfter is the shortest delay that the failure asks for, as an HTTP server does. It
	// counts up to the Max of the policy.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
}

// reportedAt returns e as it counts when it is reported at now: with a Finished.
func (e Exit) reportedAt(now time.Time) Exit {
	if e.Finished.IsZero() {
		e.Finished = now
	}
	return e
}

// finished is the instant from which a delay is counted, once it was reported.
func (e Exit) finished(now time.Time) time.Time {
	if e.Finished.After(now) {
		return now
	}
	return e.Finished
}

// ran is how long the attempt lasted, by its own clock, once it was reported.
func (e *Exit) ran() time.Duration {
	if e.Started.IsZero() {
		return 0
	}
	return e.Finished.Sub(e.Started)
}

// isNew reports whether next, reported at now, is a new exit after the last one, and
// neither the same one again nor an older one. By its Run and Finished:
//
//	            unknown  earlier  same  later
//	higher Run  new      new      new   new    earlier: the clock was set back
//	same Run    same     same     same  same
//	lower Run   old      old      old   new    later: the counter has started over
//	no Run      new      old      same  new    earlier: new if only the last one lies ahead of the clock
//
// An exit with neither is new: taken for the same one, it would be restarted at once,
// and so would each one after it. For the same reason the clock counts where there is
// no Run. But an exit that finished before the last one was reported, by a clock that was
// not set back since, is old: the last one's own clock is ahead.
func (h *history) isNew(next *Exit, now time.Time) bool {
	last := &h.last
	switch {
	case next.Run > last.Run, next.Run == 0 && next.Finished.IsZero():
		return true
	case next.Run != 0 && next.Run == last.Run:
		return false
	case next.Run != 0, !last.Finished.After(now), next.Finished.After(now):
		return next.Finished.After(last.Finished)
	}
	ended := last.Finished.Add(-h.ahead)
	return now.Before(ended) || !next.Finished.Before(ended)
}

// setLast makes e, reported at now, the last exit.
func (h *history) setLast(e Exit, now time.Time) {
	h.last, h.ahead = e, max(e.Finished.Sub(now), 0)
}
