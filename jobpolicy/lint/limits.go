package lint

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/internal/seconds"
	"github.com/restartkit/restart/jobpolicy"
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

// limits checks for ineffective and excessive limits.
func (c *checker) limits() {
	if c.spec.BackoffLimitPerIndex != nil && c.spec.Template.Spec.RestartPolicy == batch.RestartPolicyOnFailure {
		c.add(KindOnFailure, SeverityWarning, -1, "spec.backoffLimitPerIndex",
			"restarts in place under OnFailure do not count towards the limit per index; use restartPolicy Never")
	}
	bound, err := WorstCase(jobpolicy.Engine{}, &c.spec)
	if err != nil {
		return // Validate reports the same
	}
	c.deadline()
	if bound.IndexBytes > maxObjectBytes {
		c.add(KindSize, SeverityWarning, -1, "spec.parallelism", fmt.Sprintf(
			"the index fields of the status may need %d bytes, but an API object has at most %d; lower parallelism or completions", bound.IndexBytes, maxObjectBytes))
	}
}

// maxObjectBytes is etcd's default limit for one object.
const maxObjectBytes = 3 << 19

// deadline reports a deadline that passes before the limit of failures can be reached,
// because Kubernetes waits longer between the pods than the deadline allows. Restarts in
// place under OnFailure wait as the kubelet's settings say, which are not known here.
//
// The last failures, of pods that run together, are not replaced, so their delays do not
// matter. With a limit per index, all indexes together may use up backoffLimit before.
func (c *checker) deadline() {
	spec := &c.spec
	w := newWorstCase(jobpolicy.Engine{}, spec)
	if spec.ActiveDeadlineSeconds == nil || spec.Template.Spec.RestartPolicy == batch.RestartPolicyOnFailure || w.nothingRuns() {
		return
	}
	name, limit, together := "backoffLimit", int64(*spec.BackoffLimit), w.together()
	if w.perIndex {
		name, limit, together = "backoffLimitPerIndex", int64(*spec.BackoffLimitPerIndex), 1
		if int64(*spec.BackoffLimit) < w.completions*limit {
			return
		}
	}
	deadline := seconds.Duration(*spec.ActiveDeadlineSeconds)
	replaced := w.replacedBefore(int64(deadline), limit, together)
	if replaced+together > limit {
		return
	}
	failures := replaced + 1
	delays := "the delay after the first failure alone lasts"
	if failures > 1 {
		delays = fmt.Sprintf("the delays after the first %d failures alone last", failures)
	}
	c.add(KindDeadline, SeverityNotice, -1, "spec.activeDeadlineSeconds", fmt.Sprintf(
		"the deadline of %v passes before %s %d is reached, because %s at least %v; raise the deadline or lower %s",
		deadline, name, limit, delays, time.Duration(w.leastWait(failures, together)), name))
}
