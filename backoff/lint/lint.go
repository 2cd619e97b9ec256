// Package lint finds likely mistakes in valid restart rules, such as rules that no exit
// reaches. It covers KEP-5307, KEP-5532 and the additions of package backoff.
package lint

import (
	"fmt"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
)

// Finding is a likely mistake in a policy.
type Finding struct {
	Kind  Kind
	Rule  int    // index of the rule
	Field string // path of the field, as in field.Error
	Text  string // one sentence stating the effect and a remedy
}

// String returns the finding in one line.
func (f Finding) String() string { return fmt.Sprintf("%s: %s (%s)", f.Field, f.Text, f.Kind) }

// Kind is the kind of a finding.
type Kind string

// The kinds of findings.
const (
	KindUnreachable    Kind = "unreachable"     // a rule that decides on no exit
	KindLimitNeverHit  Kind = "limit-never-hit" // a limit that cannot be used up within its window
	KindDelayTooLong   Kind = "delay-too-long"  // delays so long that no window holds two restarts
	KindImpossibleCode Kind = "impossible-code" // exit codes that no process on Linux has
)

// Limits of a valid policy.
const (
	mostRules = 20
	mostLimit = 1000 // restarts of a limit within a window
)

// Check returns the likely mistakes in a valid policy, in the order of its rules. curve
// is the Restarter's valid policy, for rules without a Delay.
//
// Check finds exactly the rules that decide on no exit, considering every code, reason,
// signal, run length and history. It skips rules whose conditions can be met together
// in thousands of ways, as in a policy made to be hard.
//
// A reported limit is never used up if every exit is reported when it happens,
// RestartNow does not cut waits short, and the clock is not set. Check assumes the
// rule's delays, the shortest runs that reach it, and no time for other rules between
// its restarts, so it may miss a limit. It ignores rules after the first 20 and limits
// above 1000 within a window, which Validate rejects.
func Check(c backoff.ExitPolicy, curve backoff.Policy) []Finding {
	rules := c.Rules[:min(len(c.Rules), mostRules)]
	var findings []Finding
	s := newSpace(rules, curve)
	for i := range rules {
		path := fmt.Sprintf("restartPolicyRules[%d]", i)
		add := func(kind Kind, field, format string, args ...any) {
			findings = append(findings, Finding{kind, i, path + field, fmt.Sprintf(format, args...)})
		}
		if codes := impossibleCodes(rules[i].ExitCodes); len(codes) > 0 {
			add(KindImpossibleCode, ".exitCodes.values", "no process on Linux ends with %s; remove them", strings.Join(codes, ", "))
		}
		if why := s.unreachable(i); why != "" {
			add(KindUnreachable, "", "%s", why)
			continue
		}
		if r := &rules[i]; r.Limit > 0 && r.Limit <= mostLimit && r.Window > 0 {
			one := s.fastest(i, curve, 1)
			if all := s.fastest(i, curve, r.Limit); one >= r.Window {
				add(KindDelayTooLong, ".window", "restarts are at least %v apart, so the limit of %d is never used up in %v; make the window longer", one, r.Limit, r.Window)
			} else if all >= r.Window {
				add(KindLimitNeverHit, ".limit", "restarts 1 and %d would be at least %v apart, so the limit of %d is never used up in %v; lower it, or make the window longer", r.Limit+1, all, r.Limit, r.Window)
			}
		}
	}
	return findings
}

// impossibleCodes returns the listed codes outside 0 to 255.
func impossibleCodes(codes *backoff.ExitCodes) (texts []string) {
	if codes == nil || codes.Operator != backoff.OperatorIn {
		return nil
	}
	for _, v := range codes.Values {
		if v < 0 || v > 255 {
			texts = append(texts, fmt.Sprint(v))
		}
	}
	return texts
}

// fastest returns the shortest time from a restart by the rule until that many more can
// be decided, given the shortest jittered delays and the shortest runs that reach the
// rule.
func (s *space) fastest(i int, curve backoff.Policy, restarts int) time.Duration {
	r := &s.rules[i]
	if r.Delay != nil && r.Delay.Validate() == nil { // a Restarter uses no other
		curve = *r.Delay
	}
	delay := func(failures int) time.Duration {
		d := curve.Delay(failures)
		return d - time.Duration(curve.Jitter*float64(d))
	}
	// A run that starts the curve over is longer, and its exit may belong to another
	// rule. If the rule decides on no shorter run, both are equal.
	short, over := s.shortest(i, 0), add(curve.ResetThreshold(), 1)
	over = min(s.shortest(i, over), add(over, short))
	// times holds the least time so far, by failures in a row. The first restart may be
	// the first failure.
	times := []time.Duration{0}
	for range restarts {
		next := make([]time.Duration, len(times)+1)
		for i := range next {
			next[i] = never
		}
		for i, t := range times {
			t = add(t, delay(i+1))
			next[i+1] = min(next[i+1], add(t, short))
			next[0] = min(next[0], add(t, over))
		}
		times = next
	}
	least := never
	for _, t := range times {
		least = min(least, t)
	}
	return least
}

// never is longer than any run or delay.
const never = time.Duration(1<<63 - 1)

// add returns a+b for a, b >= 0, at most the largest duration.
func add(a, b time.Duration) time.Duration {
	if sum := a + b; sum >= a {
		return sum
	}
	return never
}
