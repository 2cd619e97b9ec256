package backoff

import "time"

// Streak counts failures in a row. The zero value has none. It belongs in a program's own
// struct, file or status: [Policy.Failed] returns the next value, and [Policy.Left] says
// how long to wait. A success sets it back to the zero value, and so does a program that
// sees a run longer than the policy's ResetThreshold.
//
// For a long pause after many failures, pass the same Streak to the Left of a second
// policy, and wait for the longer of the two. If its Initial and Max are an hour and its
// FreeFailures 4, the wait after the fifth failure in a row is an hour. See the example
// of a latch.
//
// API types with generated code keep Failures and Last in fields of their own, such as an
// int32 and a metav1.Time, and build a Streak from them; see the example of a custom
// resource. A pod's restartCount and lastRestartTime are not a Streak: the count includes
// every restart ever, and the time lies before the run, not at the failure.
type Streak struct {
	Failures int       `json:"failures,omitempty"` // failures in a row; a negative number counts as 0
	Last     time.Time `json:"last,omitzero"`      // when the last one happened
}

// Failed returns s after one more failure, or after the first one if the run was longer
// than ResetAfter. at is when it failed, or now if nobody knows. Pass the end of the run
// if it is known, because the time until the failure was noticed would count as run.
//
// Call it once per failure. A program that may see the same failure again, such as a
// reconcile function, stores in the same write which run it has counted, and compares.
// In a cluster that write has the object's resourceVersion, so that it fails if the copy
// was stale; then read the object again and decide anew.
//
//   - Last becomes at, even if that is earlier than before.
//   - The run counts from the later of started and s.Last. A zero started is no run, and a
//     negative run counts as 0, so neither starts the curve over.
//   - Failures stays at the largest int once it is reached.
//   - An invalid policy counts failures and never starts over.
func (p Policy) Failed(s Streak, started, at time.Time) Streak {
	failures := max(s.Failures, 0)
	if !started.IsZero() && p.valid() && at.Sub(later(started, s.Last)) > p.resetThreshold() {
		failures = 0
	}
	return Streak{Failures: addCount(failures, 1), Last: at}
}

// Left returns how much of the delay after s is left at now, within [0, Delay]. At 0, it
// may start.
//
//   - A clock behind holds a start for two delays at most. If Last is later than now
//     by more than the delay, a clock is wrong, and nothing is left to wait, so a start may
//     come early. While such a clock catches up, Left rises again; start at the first 0.
//   - Where times are stored in whole seconds, Last may be up to a second early, and so may
//     the start. Pass now.Add(-time.Second) to avoid that.
//   - There is no jitter, because two calls must agree. Use a State to draw it once.
//   - An invalid policy has no delay.
func (p Policy) Left(s Streak, now time.Time) time.Duration {
	return left(p.Delay(s.Failures), s.Last, now)
}

// Merge returns one of two copies of a Streak if nothing tells which is newer. Where
// something does, as a resourceVersion, take the newer copy instead.
//
// The higher count wins, never the later time, because clocks differ. With equal counts
// the later Last wins unless it is after now. So a stale copy may win, and a start waits
// longer than it had to.
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
