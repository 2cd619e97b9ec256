package lint

import (
	"fmt"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// successPolicy reports rules that are met never or by any success.
func (c *checker) successPolicy() {
	if c.spec.SuccessPolicy == nil || c.spec.CompletionMode != batch.IndexedCompletion || c.spec.Completions == nil {
		return
	}
	completions := int(*c.spec.Completions)
	rules := c.spec.SuccessPolicy.Rules
	for i := range rules[:min(len(rules), mostRules)] {
		rule := &rules[i]
		field := fmt.Sprintf("spec.successPolicy.rules[%d]", i)
		among := completions
		if rule.SucceededIndexes != nil {
			set, _ := indexset.ParseLenient(*rule.SucceededIndexes)
			among = set.Clip(completions).Len()
		}
		switch count := rule.SucceededCount; {
		case completions <= 0:
			c.add(KindSuccessNever, SeverityWarning, i, field, "without completions no index ever succeeds; remove the policy")
		case rule.SucceededIndexes == nil && count == nil:
			c.add(KindSuccessNever, SeverityWarning, i, field, "the rule has neither indexes nor a count, so it is never met; set one of them")
		case among == 0:
			c.add(KindSuccessNever, SeverityWarning, i, field+".succeededIndexes", "the rule names no index of the Job, so it is never met; name some or remove the field")
		case count != nil && *count <= 0:
			c.add(KindSuccessAlways, SeverityWarning, i, field+".succeededCount", "the first success of any index meets the rule and ends the Job; use a count of 1 or more")
		case rule.SucceededIndexes == nil && int(*count) > completions: // a rule with indexes is met once all of them succeed
			c.add(KindSuccessNever, SeverityWarning, i, field+".succeededCount", fmt.Sprintf("only %d indexes can succeed, so the rule is never met; use a lower count", completions))
		}
	}
}
