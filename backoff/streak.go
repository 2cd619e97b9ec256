package backoff

import "time"

// Streak counts failures in a row. The zero value has none. It belongs in a program's own
// struct, file or status: [Policy.Failed] returns the next value, and [Policy.Left] says
// how long to wait.
//
// Of two copies of a status, take the one that [Streak.Merge] returns. A pod's
// restartCount and lastRestartTime are not a Streak: the count includes every restart
// ever, and the time lies before the run, not at the failure.
type Streak struct {
	Failures int       `json:"failures,omitempty"` // failures in a row; a negative number counts as 0
	Last     time.Time `json:"last,omitzero"`      // when the last one happened
}

// Failed returns s after one more failure, or after the first one if the run was longer
// than ResetAfter. Call it once per failure, and write its result together with whatever
// else the failure changes; in a cluster, with the object's resourceVersion, so that a
// stale copy is refused.
//
//   - Last becomes now, even if that is earlier than before.
//   - The run counts from the later of started and s.Last. A zero started is no run, and a
//     negative run counts as 0, so neither starts the curve over.
//   - Failures stays at the largest int once it is reached.
//   - An invalid policy counts failures and never starts over.
func (p Policy) Failed(s Streak, started, now time.Time) Streak {
	failures := max(s.Failures, 0)
	if !started.IsZero() && p.valid() && now.Sub(later(started, s.Last)) > p.resetThreshold() {
		failures = 0
	}
	return Streak{Failures: addCount(failures, 1), Last: now}
}

// Left returns how much of the delay after s is left at now, within [0, Delay]. At 0, it
// may start.
//
//   - A Last that is later than now by more than the delay counts as over, because a clock
//     was wrong. So a clock that is behind holds a start for two delays at most, and may
//     let one happen early. While it is far behind, Left may rise again after it was 0;
//     start at the first 0.
//   - Times that are stored without fractions of a second cut up to a second off a delay.
//   - There is no jitter, because two calls must agree. Use a State to draw it once.
//   - An invalid policy has no delay.
func (p Policy) Left(s Streak, now time.Time) time.Duration {
	return left(p.Delay(s.Failures), s.Last, now)
}

// Merge returns the newer of two copies of one Streak, for instance from a cache and from
// the API server. The higher count wins, never the later time, because clocks differ.
// With equal counts the later Last wins unless it is after now.
func (s Streak) Merge(other Streak, now time.Time) Streak {
	switch {
	case s.Failures != other.Failures:
		if other.Failures > s.Failures {
			return other
		}
	case other.Last.After(now):
		if s.Last.After(other.Last) {
			return other
		}
	case other.Last.After(s.Last), s.Last.After(now):
		return other
	}
	return s
}

// left returns how much of a wait of length d that began at from is left at now, within
// [0, d]. A wait that begins later than now by more than d counts as over.
func left(d time.Duration, from, now time.Time) time.Duration {
	switch elapsed := now.Sub(from); {
	case elapsed >= d, elapsed < -d:
		return 0
	case elapsed <= 0:
		return d
	default:
		return d - elapsed
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
