package lint

import (
	"fmt"
	"math"
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
func (c *checker) deadline() {
	spec := &c.spec
	if spec.ActiveDeadlineSeconds == nil || *spec.ActiveDeadlineSeconds == 0 || spec.Template.Spec.RestartPolicy == batch.RestartPolicyOnFailure {
		return
	}
	deadline := seconds.Duration(*spec.ActiveDeadlineSeconds)
	name, limit, together := "backoffLimit", *spec.BackoffLimit, int64(*spec.Parallelism)
	switch {
	case spec.CompletionMode == batch.IndexedCompletion && spec.BackoffLimitPerIndex != nil:
		name, limit, together = "backoffLimitPerIndex", *spec.BackoffLimitPerIndex, 1
	case spec.Completions != nil:
		together = min(together, int64(*spec.Completions))
	}
	if together == 0 {
		return
	}
	failures, waited := delaysWithin(deadline, int64(limit), together)
	if waited < deadline {
		return
	}
	delays := "the delay after the first failure alone lasts"
	if failures > 1 {
		delays = fmt.Sprintf("the delays after the first %d failures alone last", failures)
	}
	c.add(KindDeadline, SeverityNotice, -1, "spec.activeDeadlineSeconds", fmt.Sprintf(
		"the deadline of %v passes before %s %d is reached, because %s %v; raise the deadline or lower %s",
		deadline, name, limit, delays, waited, name))
}

// delaysWithin adds up the delays after failures, until they reach the deadline or the
// limit of failures is used up. It returns how many failures they follow and their sum.
// The limit is used up soonest if all pods that run together fail together.
func delaysWithin(deadline time.Duration, limit, together int64) (failures int64, waited time.Duration) {
	longest := jobpolicy.Engine{}.Remaining(math.MaxInt32, 0)
	for failures+together <= limit && waited < deadline {
		failures += together
		wait := jobpolicy.Engine{}.Remaining(int(failures), 0)
		waited += wait
		if wait == longest { // as are all further ones
			further := min((limit-failures)/together, int64((deadline-waited+wait-1)/wait))
			further = max(further, 0)
			return failures + further*together, waited + time.Duration(further)*wait
		}
	}
	return failures, waited
}
