package jobpolicy

import (
	"strconv"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// MatchSuccess returns a Match whose Rule is the index of the first rule met, or -1. A
// rule with indexes is met once all of them, or as many as its count, have succeeded. A
// rule with only a count is met once that many indexes have succeeded. A rule's indexes
// at or above completions are ignored; if it has no others, it is never met. If no
// index has succeeded, no rule is met, even with count 0.
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

// successMessage returns the message of the condition when a rule is met.
func successMessage(rule int) string {
	return "Matched rules at index " + strconv.Itoa(rule)
}
