package backoff

import (
	"fmt"
	"strings"
	"time"
)

// Exit is one finished attempt of something that is kept running. Exits of a key
// are told apart by Run, or by Finished where Run is 0: give at least one of them,
// for an exit with neither counts as a new one each time. Where Finished says that
// a lower Run ended later, the counter has started over, and the exit is a new one;
// the exits of the old counter must not be told again from then on. The zero value
// is a success now of something that never ran. An Exit is a plain value, to be
// copied and shared.
type Exit struct {
	Run      int64     `json:"run,omitempty"`     // restartCount or any counter of the key: the same Run is the same exit, a lower one an old exit unless it finished later; 0: told apart by Finished
	Code     int32     `json:"code"`              // exit code
	Reason   string    `json:"reason,omitempty"`  // OOMKilled, Error, …; for PolicyFor and Why
	Started  time.Time `json:"started,omitzero"`  // zero: it never ran, so it starts no curve over
	Finished time.Time `json:"finished,omitzero"` // zero, or later than the clock: counts as now
}

// toldAt returns e as it counts when it is told at now: with a Finished.
func (e Exit) toldAt(now time.Time) Exit {
	if e.Finished.IsZero() {
		e.Finished = now
	}
	return e
}

// finished is the instant from which a delay is counted, once e is told.
func (e Exit) finished(now time.Time) time.Time {
	if e.Finished.After(now) {
		return now
	}
	return e.Finished
}

// ran is how long the attempt lasted, by its own clock, once e is told.
func (e Exit) ran() time.Duration {
	if e.Started.IsZero() {
		return 0
	}
	return e.Finished.Sub(e.Started)
}

// supersededBy reports whether next is a new exit after e, whose Finished is known:
// neither the same one again nor an older one. By next's Run and Finished:
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

// Decision is what to do about one exit. Its zero value is none. A Decision is a
// plain value, to be copied and shared.
type Decision struct {
	Action    Action        `json:"action"`             // Stop, Restart, RestartAll, GiveUp
	Delay     time.Duration `json:"delay"`              // from the exit to the restart; nanoseconds in JSON
	NotBefore time.Time     `json:"notBefore,omitzero"` // the instant of the restart, for display; zero if there is none
	Failures  int           `json:"failures"`           // exits in a row that count
	Rule      int           `json:"rule"`               // index of the rule that decided, or -1

	PolicyInvalid bool `json:"policyInvalid,omitempty"` // PolicyFor returned an invalid policy; the Restarter's was used
}

// Why says in one sentence why d was taken about e under c.
func (d Decision) Why(c ContainerPolicy, e Exit) string {
	var b strings.Builder
	fmt.Fprintf(&b, "exit code %d", e.Code)
	if e.Reason != "" {
		fmt.Fprintf(&b, " (%s)", e.Reason)
	}
	if d.Rule >= 0 && d.Rule < len(c.Rules) && c.Rules[d.Rule].ExitCodes != nil {
		codes := c.Rules[d.Rule].ExitCodes
		fmt.Fprintf(&b, " is %s %v of restartPolicyRules[%d]", codes.Operator, codes.Values, d.Rule)
	} else {
		policy := c.RestartPolicy
		if policy == "" {
			policy = RestartPolicyAlways
		}
		fmt.Fprintf(&b, " under restartPolicy %s", policy)
	}
	switch d.Action {
	case Stop:
		b.WriteString(": not restarted")
	case GiveUp:
		fmt.Fprintf(&b, ": given up, the limit of restarts is used up (failure %d in a row)", d.Failures)
	case Restart, RestartAll:
		what := "restarted"
		if d.Action == RestartAll {
			what = "restarted with all containers"
		}
		when := "at once"
		if d.Delay > 0 {
			when = fmt.Sprintf("after %v", d.Delay)
		}
		fmt.Fprintf(&b, ": %s %s (failure %d in a row)", what, when, d.Failures)
	default:
		b.WriteString(": nothing decided")
	}
	if d.PolicyInvalid {
		b.WriteString(", by the Restarter's own policy: that of PolicyFor is invalid")
	}
	return b.String()
}
