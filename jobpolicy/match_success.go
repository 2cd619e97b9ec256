package jobpolicy

import (
	"strconv"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// MatchSuccess returns the first rule that the succeeded indexes meet; of the Match only
// Rule is set, to -1 if none is met. A rule with indexes is met when all of them
// have succeeded or, with a count, that many of them have; a rule with a count
// alone when that many of all indexes have. Indexes at or above completions are
// left out of a rule; a rule whose indexes name none is never met. Without any
// success no rule is met, not even one with count 0. A nil policy has no rules.
func MatchSuccess(p *batch.SuccessPolicy, succeeded indexset.Set, completions int) Match {
	if p == nil || succeeded.IsZero() {
		return noMatch
	}
	for i := range p.Rules {
		if metSuccess(&p.Rules[i], succeeded, completions) {
			return Match{Rule: i}
		}
	}
	return noMatch
}

func metSuccess(r *batch.SuccessPolicyRule, succeeded indexset.Set, completions int) bool {
	if r.SucceededIndexes == nil {
		return r.SucceededCount != nil && succeeded.Len() >= int(*r.SucceededCount)
	}
	set, _ := indexset.ParseLenient(*r.SucceededIndexes)
	wanted := set.Clip(completions)
	if wanted.IsZero() {
		return false
	}
	have := succeeded.IntersectLen(wanted)
	return have == wanted.Len() || r.SucceededCount != nil && have >= int(*r.SucceededCount)
}

// successMessage is the message of the condition when a rule is met.
func successMessage(rule int) string {
	return "Matched rules at index " + strconv.Itoa(rule)
}
