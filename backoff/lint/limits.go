package lint

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
)

// mostFailures returns how many failures in a row are restarted at most, and the field
// that says so. Without such a limit, it returns the largest int.
func (c *checker) mostFailures() (most int, field string) {
	if !slices.ContainsFunc(c.sources, func(r *backoff.Rule) bool { return r.MinFailures <= 1 }) {
		return 0, ""
	}
	most = math.MaxInt
	if n := c.policy.Retries; n > 0 {
		most, field = n, "retries"
	}
	if n := c.policy.Limit; n > 0 && n < most && c.policy.Window == 0 && len(c.sharing()) == len(c.sources) {
		most, field = n, "limit"
	}
	return most, field
}

// sharing returns the sources without a limit of their own. Their restarts count toward
// the policy's limit.
func (c *checker) sharing() (sources []*backoff.Rule) {
	for _, r := range c.sources {
		if r.Limit == 0 {
			sources = append(sources, r)
		}
	}
	return sources
}

// checkPolicy looks at the policy's own limits.
func (c *checker) checkPolicy() {
	p := c.policy
	sharing := c.sharing()
	switch {
	case p.Limit > 0 && len(c.sources) == 0:
		c.add(KindNoEffect, -1, "limit", "no restart counts as a failure, so the limit is never used up; remove it")
	case p.Limit > 0 && len(sharing) == 0:
		c.add(KindNoEffect, -1, "limit", "every rule that restarts has a limit of its own, and their restarts do not count toward this one; remove it")
	case p.Limit > 0:
		c.checkLimit(-1, sharing, p.Limit, p.Window)
	}
	switch {
	case p.Retries > 0 && len(c.sources) == 0:
		c.add(KindNoEffect, -1, "retries", "no restart counts as a failure, so there are never %d in a row; remove it", p.Retries)
	case p.Retries > p.Limit && p.Limit > 0 && c.limitComesFirst():
		c.add(KindLimitNeverHit, -1, "retries", "the limit of %d is always used up before %d failures in a row; lower retries, or remove it", p.Limit, p.Retries)
	}
	c.checkGiveUpFor()
}

// limitComesFirst reports whether as many failures in a row as the policy's limit always
// use it up.
func (c *checker) limitComesFirst() bool {
	p := c.policy
	if len(c.sharing()) < len(c.sources) {
		return false
	}
	if p.Window == 0 {
		return true
	}
	if slices.ContainsFunc(p.Rules, func(r backoff.Rule) bool { return r.Uncounted }) {
		return false // any time can pass with exits that do not count
	}
	longest := time.Duration(0)
	for _, r := range c.sources {
		longest = max(longest, c.curveOf(r).Max)
	}
	return times(add(longest, c.curve.ResetThreshold()), p.Limit) < p.Window
}

// checkGiveUpFor looks at how long a give-up lasts.
func (c *checker) checkGiveUpFor() {
	p := c.policy
	if p.GiveUpFor == 0 {
		return
	}
	hasRuleLimit := slices.ContainsFunc(p.Rules, func(r backoff.Rule) bool { return r.Limit > 0 })
	if p.Limit == 0 && p.Retries == 0 && !hasRuleLimit {
		c.add(KindNoEffect, -1, "giveUpFor", "nothing gives up by a limit, and the action GiveUp of a rule does not end; add a limit, or remove giveUpFor")
		return
	}
	// The delay before a give-up is at least that of a first failure, or, if only
	// retries gives up and no rule has a curve, that of the last failure before.
	shortest := never
	for _, r := range c.sources {
		failures := 1
		if r.Delay == nil {
			failures = max(r.MinFailures, 1)
		}
		shortest = min(shortest, leastDelay(c.curveOf(r), failures))
	}
	hasRuleDelay := slices.ContainsFunc(c.sources, func(r *backoff.Rule) bool { return r.Delay != nil })
	if p.Limit == 0 && !hasRuleLimit && !hasRuleDelay {
		shortest = leastDelay(&c.curve, p.Retries)
	}
	if len(c.sources) > 0 && p.GiveUpFor < shortest {
		c.add(KindGiveUpTooShort, -1, "giveUpFor", "a give-up ends after %v, but the delay before it is at least %v; make giveUpFor longer", p.GiveUpFor, shortest)
	}
}

// checkLimit looks at the limit of a rule, or of the policy if rule is -1, to which the
// restarts of the sources count.
func (c *checker) checkLimit(rule int, sources []*backoff.Rule, limit int, window time.Duration) {
	most := c.policy.Retries
	if window == 0 {
		// Failures in a row start over at the policy's threshold, the limit of a rule at
		// that of its own curve.
		isSooner := rule < 0 || c.curveOf(sources[0]).ResetThreshold() <= c.curve.ResetThreshold()
		if most > 0 && limit > most && isSooner {
			c.add(KindLimitNeverHit, rule, "limit", "retries gives up after %s in a row, so the limit of %d is never used up; lower it, or remove it", failures(most), limit)
		}
		return
	}
	if one := c.fastest(sources, 1, most); one >= window {
		c.add(KindDelayTooLong, rule, "window", "restarts are at least %v apart, so the limit of %d is never used up in %v; make the window longer", one, limit, window)
		return
	}
	all := c.fastest(sources, limit, most)
	if all < window {
		return
	}
	between := ""
	if most > 0 && c.fastest(sources, limit, 0) < window {
		between = fmt.Sprintf(" with a long run after every %s, because of retries", strings.TrimPrefix(failures(most), "1 "))
	}
	c.add(KindLimitNeverHit, rule, "limit", "restarts 1 and %d would be at least %v apart%s, so the limit of %d is never used up in %v; lower it, or make the window longer", limit+1, all, between, limit, window)
}

func failures(n int) string {
	if n == 1 {
		return "1 failure"
	}
	return fmt.Sprintf("%d failures", n)
}

// curveOf returns the curve that a rule's restarts follow.
func (c *checker) curveOf(r *backoff.Rule) *backoff.Policy {
	if r.Delay != nil {
		return r.Delay
	}
	return &c.curve
}

// fastest returns a lower bound for the time from a first restart by the sources to the
// n-th restart after it. At most the given number of failures in a row are restarted; if
// most is 0, any number is.
//
// The delay grows with each failure in a row, until a long run starts it over. For a
// given number of long runs, the time is least if the failures are spread evenly between
// them, because then no delay is longer than it must be. So fastest tries every number of
// long runs.
func (c *checker) fastest(sources []*backoff.Rule, n, most int) time.Duration {
	delays := c.leastDelays(sources, n)
	total := make([]time.Duration, n+1) // total[k] is the sum of the first k delays
	for k, d := range delays {
		total[k+1] = add(total[k], d)
	}
	short, long := never, never
	for _, r := range sources {
		short = min(short, r.RanAtLeast)
		long = min(long, longerThan(c.curveOf(r).ResetThreshold()))
	}
	if most == 0 {
		most = math.MaxInt
	} else {
		long = min(long, longerThan(c.curve.ResetThreshold()))
	}
	long = max(long, short)

	least := never
	for longRuns := range n + 1 {
		streaks := longRuns + 1
		each, more := n/streaks, n%streaks // "more" of the streaks have one more than each
		if each > most || each == most && more > 0 {
			continue
		}
		t := add(times(short, n-longRuns), times(long, longRuns))
		t = add(t, times(total[each], streaks-more))
		if more > 0 {
			t = add(t, times(total[each+1], more))
		}
		least = min(least, t)
	}
	return least
}

// leastDelays returns the n shortest delays of failures in a row that the sources can
// have, in ascending order. Each curve counts from its first failure.
func (c *checker) leastDelays(sources []*backoff.Rule, n int) (delays []time.Duration) {
	addCurve := func(curve *backoff.Policy, first int) {
		for k := range n {
			delays = append(delays, leastDelay(curve, first+k))
		}
	}
	first := math.MaxInt // failures in a row at the first delay of the policy's curve
	for _, r := range sources {
		if r.Delay != nil {
			addCurve(r.Delay, 1)
		} else {
			first = min(first, max(r.MinFailures, 1))
		}
	}
	if first < math.MaxInt {
		addCurve(&c.curve, min(first, math.MaxInt-n))
	}
	slices.Sort(delays)
	return delays[:n]
}

// leastDelay returns the shortest delay that jitter allows.
func leastDelay(curve *backoff.Policy, failures int) time.Duration {
	d := curve.Delay(failures)
	return max(d-time.Duration(curve.Jitter*float64(d)), 0)
}

// never is longer than any run or delay.
const never = time.Duration(math.MaxInt64)

// longerThan returns the shortest run longer than d.
func longerThan(d time.Duration) time.Duration { return add(d, 1) }

// add returns a+b for a, b >= 0, at most the largest duration.
func add(a, b time.Duration) time.Duration {
	if a > never-b {
		return never
	}
	return a + b
}

// times returns d*n for d, n >= 0, at most the largest duration.
func times(d time.Duration, n int) time.Duration {
	if n > 0 && d > never/time.Duration(n) {
		return never
	}
	return d * time.Duration(n)
}
