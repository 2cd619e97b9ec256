package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/lint"
)

// on is a rule for conditions that are True.
func on(action batch.Action, types ...batch.PodConditionType) batch.PodFailurePolicyRule {
	r := batch.PodFailurePolicyRule{Action: action}
	for _, t := range types {
		r.OnPodConditions = append(r.OnPodConditions, batch.OnPodCondition{Type: t, Status: batch.ConditionTrue})
	}
	return r
}

func TestFindingsOfConditions(t *testing.T) {
	killed := batch.PodFailurePolicyRule{Action: batch.ActionFailJob, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{137}}}
	long := batch.PodConditionType("example.com/" + strings.Repeat("a", 60))
	for name, tt := range map[string]struct {
		rules []batch.PodFailurePolicyRule
		want  string // in the findings
	}{
		"the same conditions":   {[]batch.PodFailurePolicyRule{on(batch.ActionFailIndex, "A"), on(batch.ActionFailJob, "A")}, "rule 0 fails the index for the same failures"},
		"some of them":          {[]batch.PodFailurePolicyRule{on(batch.ActionFailIndex, "A", "B"), on(batch.ActionFailJob, "A")}, "rule 0 matches every pod that this rule matches"},
		"one rule for each":     {[]batch.PodFailurePolicyRule{on(batch.ActionIgnore, "A"), on(batch.ActionIgnore, "B"), on(batch.ActionCount, "A", "B")}, "rules 0 and 1 together match every pod"},
		"the first later rule":  {[]batch.PodFailurePolicyRule{killed, on(batch.ActionIgnore, batch.DisruptionTarget), on(batch.ActionCount, batch.DisruptionTarget)}, "move rule 1 for the condition"},
		"a long condition type": {[]batch.PodFailurePolicyRule{on(batch.ActionIgnore, long), on(batch.ActionCount, long, "B")}, "and 13 more bytes first"},
	} {
		spec := batch.JobSpec{PodFailurePolicy: &batch.PodFailurePolicy{Rules: tt.rules}}
		if found := fmt.Sprint(lint.Check(&spec)); !strings.Contains(found, tt.want) {
			t.Errorf("%s: %s\nwant %s", name, found, tt.want)
		}
	}
}
