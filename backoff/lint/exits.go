package lint

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
)

// exits is the set of exits that meet the conditions of one rule. An exit has a code, a
// reason, a signal, a length of the run, and a number of failures in a row. A set with
// one of these empty is empty.
type exits struct {
	codes    codes
	reasons  map[string]bool // nil means any
	signals  uint64          // bit n-1 stands for signal n; 0 means any, and none
	from, to time.Duration   // lengths of the run: from is included, to is not
	failures int             // at least so many
}

// exitsOf returns the exits that meet the conditions of a valid rule in a policy with
// the given curve.
func exitsOf(r *backoff.Rule, curve backoff.Policy) exits {
	e := exits{
		codes:    codesOf(r.ExitCodes),
		signals:  signalsOf(r.Signals),
		from:     r.RanAtLeast,
		to:       cmp.Or(r.RanLessThan, never),
		failures: max(r.MinFailures, 1),
	}
	if len(r.Reasons) > 0 {
		e.reasons = make(map[string]bool, len(r.Reasons))
		for _, reason := range r.Reasons {
			e.reasons[reason] = true
		}
	}
	if e.signals != 0 {
		// Codes that stand for another signal are impossible.
		others := append(e.codes.complement(), codesExcept(e.signals)...)
		e.codes = union(others).complement()
	}
	if e.failures > 1 {
		// After a run that starts the counts over, the failure is the first one.
		e.to = min(e.to, longerThan(curve.ResetThreshold()))
	}
	return e
}

// empty explains why e, the exits of r, has none. It returns "" if there can be one.
func (e *exits) empty(r *backoff.Rule) string {
	switch {
	case len(e.codes) == 0 && e.signals == 0:
		return "exitCodes lists no code, so no exit meets it; list one, or remove the rule"
	case len(e.codes) == 0:
		return "every exit code stands for a signal that signals does not list, so no exit meets both; remove one of them"
	case r.MinFailures > 1 && e.from >= e.to:
		return fmt.Sprintf("a run of ranAtLeast %v starts the failures in a row over, so none is number %d; lower minFailures or ranAtLeast", r.RanAtLeast, r.MinFailures)
	}
	return ""
}

// covers reports whether every exit of other is one of e. Other is not empty.
func (e *exits) covers(other *exits) bool {
	return other.codes.within(e.codes) &&
		e.coversReasons(other) &&
		e.coversSignals(other) &&
		e.from <= other.from && other.to <= e.to &&
		e.failures <= other.failures
}

func (e *exits) coversReasons(other *exits) bool {
	if e.reasons == nil {
		return true
	}
	for reason := range other.reasons {
		if !e.reasons[reason] {
			return false
		}
	}
	return other.reasons != nil
}

func (e *exits) coversSignals(other *exits) bool {
	switch {
	case e.signals == 0:
		return true
	case other.signals != 0 && other.signals&^e.signals == 0:
		return true
	}
	// Otherwise each code of other must stand for a signal of e.
	return other.codes.allStandFor(e.signals)
}

// isDisjoint reports whether e and other surely have no exit in common. It may miss that
// for sets that differ in several conditions.
func (e *exits) isDisjoint(other *exits) bool {
	return !e.codes.overlap(other.codes) ||
		e.from >= other.to || other.from >= e.to ||
		e.signals != 0 && other.signals != 0 && e.signals&other.signals == 0 ||
		e.reasons != nil && other.reasons != nil && !haveCommonKey(e.reasons, other.reasons)
}

func haveCommonKey(a, b map[string]bool) bool {
	for key := range a {
		if b[key] {
			return true
		}
	}
	return false
}

// signalsOf returns the bits of signals. It asks a rule that has no other condition
// which numbers the names have.
func signalsOf(names []string) (bits uint64) {
	if len(names) == 0 {
		return 0
	}
	p := backoff.ExitPolicy{Rules: []backoff.Rule{{Action: backoff.ActionRestart, Signals: names}}}
	for n := int32(1); n <= lastSignal; n++ {
		if _, rule := p.DecideExit(backoff.Exit{Signal: n}, 1); rule == 0 {
			bits |= bitOf(n)
		}
	}
	return bits
}

// lastSignal is the highest number of a signal.
const lastSignal = 64

// bitOf returns the bit of signal n.
func bitOf(n int32) uint64 { return 1 << (n - 1) }

// codes is a set of exit codes, as ranges in ascending order with a gap between each two.
// A code may be any number, because those of Windows have 32 bits.
type codes []backoff.CodeRange

// codesOf returns the codes that meet a condition; a nil one admits any.
func codesOf(c *backoff.ExitCodes) codes {
	if c == nil {
		return codes{}.complement()
	}
	ranges := slices.Clone(c.Ranges)
	for _, v := range c.Values {
		ranges = append(ranges, backoff.CodeRange{First: v, Last: v})
	}
	listed := union(ranges)
	if c.Operator == backoff.OperatorNotIn {
		return listed.complement()
	}
	return listed
}

// codesExcept returns the codes that stand for any other signal.
func codesExcept(signals uint64) (others codes) {
	for n := int32(1); n <= lastSignal; n++ {
		if signals&bitOf(n) == 0 {
			others = append(others, backoff.CodeRange{First: 128 + n, Last: 128 + n})
		}
	}
	return others
}

// union returns the codes in ranges, which it sorts.
func union(ranges []backoff.CodeRange) (all codes) {
	slices.SortFunc(ranges, func(a, b backoff.CodeRange) int { return cmp.Compare(a.First, b.First) })
	for _, r := range ranges {
		if n := len(all); n > 0 && int64(r.First) <= int64(all[n-1].Last)+1 {
			all[n-1].Last = max(all[n-1].Last, r.Last)
		} else {
			all = append(all, r)
		}
	}
	return all
}

// complement returns all other codes.
func (s codes) complement() (others codes) {
	next := int64(math.MinInt32)
	for _, r := range s {
		if next < int64(r.First) {
			others = append(others, backoff.CodeRange{First: int32(next), Last: r.First - 1})
		}
		next = int64(r.Last) + 1
	}
	if next <= math.MaxInt32 {
		others = append(others, backoff.CodeRange{First: int32(next), Last: math.MaxInt32})
	}
	return others
}

// within reports whether all codes of s are in other.
func (s codes) within(other codes) bool {
	for _, r := range s {
		for len(other) > 0 && other[0].Last < r.First {
			other = other[1:]
		}
		if len(other) == 0 || r.First < other[0].First || r.Last > other[0].Last {
			return false
		}
	}
	return true
}

// overlap reports whether some code is in s and in other.
func (s codes) overlap(other codes) bool {
	for _, r := range s {
		for _, o := range other {
			if r.First <= o.Last && o.First <= r.Last {
				return true
			}
		}
	}
	return false
}

// allStandFor reports whether each code of s is 128+n for one of the signals n.
func (s codes) allStandFor(signals uint64) bool {
	for _, r := range s {
		if r.First <= 128 || r.Last > 128+lastSignal {
			return false
		}
		for code := r.First; code <= r.Last; code++ {
			if signals&bitOf(code-128) == 0 {
				return false
			}
		}
	}
	return true
}
