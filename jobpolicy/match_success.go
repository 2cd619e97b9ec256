package jobpolicy

import (
	"strconv"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// MatchSuccess returns the first rule that the succeeded indexes meet, as the Rule of a
// Match, -1 if none. A rule with indexes is met if all of them have succeeded, or as
// many as its count; a rule with only a count, if that many of all indexes have.
// Indexes at or above completions are ignored; a rule with only such indexes is never
// met. Without a success no rule is met, even with count 0.
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
