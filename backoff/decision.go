package backoff

import (
	"fmt"
	"strings"
	"time"
)

// Exit is one finished attempt of something that is kept running. Exits of a key
// are told apart by Run, or by Finished where Run is 0: give one of them. The zero
// value is a success now of something that never ran. An Exit is a plain value, to
// be copied and shared.
type Exit struct {
	Run      int64     `json:"run,omitempty"`     // restartCount or any counter of the key: the same Run is the same exit, a lower one an old exit; 0: told apart by Finished
	Code     int32     `json:"code"`              // exit code
	Reason   string    `json:"reason,omitempty"`  // OOMKilled, Error, …; for PolicyFor and Why
	Started  time.Time `json:"started,omitzero"`  // zero: it never ran
	Finished time.Time `json:"finished,omitzero"` // zero, or later than the clock: counts as now
}

// finished is the instant from which a delay is counted.
func (e Exit) finished(now time.Time) time.Time {
	if e.Finished.IsZero() || e.Finished.After(now) {
		return now
	}
	return e.Finished
}

// ran is how long the attempt lasted, by its own clock; zero if that is unknown.
func (e Exit) ran(now time.Time) time.Duration {
	switch {
	case e.Started.IsZero():
		return 0
	case e.Finished.IsZero():
		return now.Sub(e.Started)
	}
	return e.Finished.Sub(e.Started)
}

// supersededBy reports whether next is a later exit than e: neither the same one
// again nor an old one.
func (e Exit) supersededBy(next Exit) bool {
	switch {
	case next.Run > e.Run:
		return true
	case next.Run != 0:
		return false
	case e.Run == 0:
		return !next.Finished.Equal(e.Finished) // earlier too: the clock may have been set back
	}
	// A counter that starts at 0 tells its first run late, or is not known now.
	return !e.Finished.IsZero() && next.Finished.After(e.Finished)
}

// Decision is what to do about one exit. Its zero value is none. A Decision is a
// plain value, to be copied and shared.
type Decision struct {
	Action    Action        `json:"action"`             // Stop, Restart, RestartAll, GiveUp
	Delay     time.Duration `json:"delay"`              // from the exit to the restart; nanoseconds in JSON
	NotBefore time.Time     `json:"notBefore,omitzero"` // the instant of the restart, for display; zero if there is none
	Failures  int           `json:"failures"`           // exits in a row that count
	Rule      int           `json:"rule"`               // index of the rule that decided, or -1
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
	return b.String()
}
