package backoff

import "time"

// Exit is one finished run of a key. A Restarter recognizes an exit that it has seen
// by its Run, or by its Finished if Run is 0; give at least one of them, for an exit
// with neither is a new one each time. A lower Run is an old exit, unless it
// finished later: then the counter has started over, the exit is a new one, and the
// exits of the old counter must not be reported any more. The zero value is a
// success, now, of something that never ran. An Exit is a plain value, to be copied
// and shared.
type Exit struct {
	// Run is restartCount or any other number that grows from one run of the key to the
	// next; 0: there is none.
	Run  int64 `json:"run,omitempty"`
	Code int32 `json:"code"` // exit code
	// Signal is the number of the signal that ended the run; 0: a Code of 128+n says n.
	Signal   int32     `json:"signal,omitempty"`
	Reason   string    `json:"reason,omitempty"`  // OOMKilled, Error, …; for rules, PolicyFor and Why
	Started  time.Time `json:"started,omitzero"`  // zero: it never ran, so it starts no curve over
	Finished time.Time `json:"finished,omitzero"` // zero, or later than the clock: counts as now

	// RetryAfter is the shortest delay that the failure asks for, as an HTTP server does. It
	// counts up to the Max of the policy. In JSON it is in nanoseconds.
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

// supersededBy reports whether next is a new exit after e, whose Finished is known,
// and neither the same one again nor an older one. By next's Run and Finished:
//
//	            unknown  earlier  same  later
//	higher Run  new      new      new   new    earlier: the clock was set back
//	same Run    same     same     same  same
//	both 0      new      new      same  new    there is no counter
//	lower Run   old      old      old   new    the counter has started over
//	only now 0  new      old      old   new    the same, or there is no counter any more
//
// An exit with neither is new: taken for the same one, it would be restarted at
// once, and so would each one after it.
func (e Exit) supersededBy(next Exit) bool {
	switch {
	case next.Run > e.Run:
		return true
	case next.Run == 0 && next.Finished.IsZero():
		return true
	case next.Run != e.Run:
		return next.Finished.After(e.Finished)
	}
	return next.Run == 0 && !next.Finished.Equal(e.Finished)
}
