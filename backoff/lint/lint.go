// Package lint finds what in a container's restart rules is valid but surely not
// meant: a rule that no exit reaches, a limit that is never used up, exit codes that
// nothing on Linux ends with. The rules are those of KEP-5307 and KEP-5532 with what
// package backoff adds.
package lint

import (
	"fmt"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
)

// Finding is something in a policy that is valid but surely not meant. It prints as one
// line. A Finding is a plain value.
type Finding struct {
	Kind  Kind
	Rule  int    // index of the rule
	Field string // path of the field, as in field.Error
	Text  string // one sentence: what happens, and what to do about it
}

// String returns the finding as one line.
func (f Finding) String() string { return fmt.Sprintf("%s: %s (%s)", f.Field, f.Text, f.Kind) }

// Kind says what kind of finding it is.
type Kind string

// What Check looks for.
const (
	KindUnreachable    Kind = "unreachable"     // a rule that decides on no exit
	KindLimitNeverHit  Kind = "limit-never-hit" // a limit that cannot be used up within its window
	KindDelayTooLong   Kind = "delay-too-long"  // delays so long that no window holds two restarts
	KindImpossibleCode Kind = "impossible-code" // exit codes that no process on Linux has
)

// What a valid policy has at most.
const (
	mostRules = 20
	mostLimit = 1000 // restarts of a limit within a window
)

// Check returns what in a policy is valid but surely not meant, in the order of the
// rules. curve is the policy of the Restarter, which delays where a rule has no Delay;
// it must be valid. Of a policy that Validate refuses the first 20 rules are checked.
//
// Check finds every rule that decides on no exit, and only such rules, whatever code,
// reason, signal and length of run an exit may have, and whatever happened before. If
// the conditions can be met together in thousands of ways, as in a policy that was made
// to be hard, it leaves rules out.
//
// A limit that Check reports is never used up if every exit is reported when it
// happens, unless RestartNow cuts waits short or the clock is set. Check goes by the delays
// of the rule and by the shortest runs that reach it. What other rules do between its
// restarts takes no time here, so Check may miss a limit. It does not look at limits of
// more than 1000 within a window, which Validate refuses.
//
// Check may be called by multiple goroutines while nobody writes to the policy.
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
			add(KindUnreachable, "", "%s; remove the rule, or move it up", why)
			continue
		}
		if r := &rules[i]; r.Limit > 0 && r.Limit <= mostLimit && r.Window > 0 {
			one := s.fastest(i, curve, 1)
			if all := s.fastest(i, curve, r.Limit); one >= r.Window {
				add(KindDelayTooLong, ".window", "restarts are at least %v apart, so the limit of %d is never used up in %v; make the window longer", one, r.Limit, r.Window)
			} else if all >= r.Window {
				add(KindLimitNeverHit, ".limit", "%d restarts and one more take at least %v, so the limit is never used up in %v; lower it, or make the window longer", r.Limit, all, r.Window)
			}
		}
	}
	return findings
}

// impossibleCodes returns the listed codes that are not in 0 to 255.
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

// fastest returns how soon after a restart by the rule that many more can be decided:
// no jittered delay is shorter, and no run that the rule decides on.
func (s *space) fastest(i int, curve backoff.Policy, restarts int) time.Duration {
	r := &s.rules[i]
	if r.Delay != nil && r.Delay.Validate() == nil { // a Restarter takes no other
		curve = *r.Delay
	}
	delay := func(failures int) time.Duration {
		d := curve.Delay(failures)
		return d - time.Duration(curve.Jitter*float64(d))
	}
	// A run that starts the curve over is longer; it may end by another rule. If the rule
	// decides on no shorter run, both are as long.
	short, over := s.shortest(i, 0), add(curve.ResetThreshold(), 1)
	over = min(s.shortest(i, over), add(over, short))
	// By failures in a row, the least time so far; the first restart is free to be the
	// first failure.
	times := []time.Duration{0}
	for range restarts {
		next := make([]time.Duration, len(times)+1)
		for i := range next {
			next[i] = never
		}
		for i, t := range times {
			if t == never {
				continue
			}
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

// never is longer than anything takes.
const never = time.Duration(1<<63 - 1)

// add returns a+b for a, b >= 0, at most the largest duration.
func add(a, b time.Duration) time.Duration {
	if sum := a + b; sum >= a {
		return sum
	}
	return never
}
