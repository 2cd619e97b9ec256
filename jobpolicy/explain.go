package jobpolicy

import (
	"fmt"
	"strings"

	"github.com/restartkit/restart/internal/exitcode"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// RuleResult is the result of one rule of a pod failure policy for one pod.
type RuleResult struct {
	Rule    int          // index of the rule
	Action  batch.Action // of the rule
	Matched bool         // the rule decided
	Why     string       // the match, or why the rule does not match
}

// String returns the result as one line.
func (r RuleResult) String() string {
	verdict := "no match"
	if r.Matched {
		verdict = "matched"
	}
	return fmt.Sprintf("rule %d (%s): %s: %s", r.Rule, orQuoted(string(r.Action)), verdict, r.Why)
}

// Explain returns the results of all rules, in order, with the same outcome as
// MatchPod. Rules after the deciding one are marked as not reached.
func Explain(p *batch.PodFailurePolicy, pod *batch.Pod) []RuleResult {
	if p == nil || pod == nil {
		return nil
	}
	decided := MatchPod(p, pod).Rule
	results := make([]RuleResult, len(p.Rules))
	for i := range p.Rules {
		rule := &p.Rules[i]
		results[i] = RuleResult{Rule: i, Action: rule.Action, Matched: i == decided}
		if decided >= 0 && i > decided {
			results[i].Why = fmt.Sprintf("not reached, rule %d decided", decided)
			continue
		}
		results[i].Why = whyRule(rule, pod)
		if !rule.Action.Known() {
			results[i].Why = fmt.Sprintf("unknown action, the rule is skipped (%s)", results[i].Why)
		}
	}
	return results
}

// whyRule returns the match of the rule, or why the rule does not match.
func whyRule(r *batch.PodFailurePolicyRule, pod *batch.Pod) string {
	switch {
	case r.OnExitCodes != nil:
		return whyExitCodes(r.OnExitCodes, pod)
	case len(r.OnPodConditions) > 0:
		return whyConditions(r.OnPodConditions, pod)
	}
	return "the rule has no requirement"
}

func whyExitCodes(o *batch.OnExitCodes, pod *batch.Pod) string {
	if _, ok := exitcode.Matches(o.Operator, nil, 0); !ok {
		return fmt.Sprintf("unknown operator %q", o.Operator)
	}
	if c := findExit(o, pod); c != nil {
		return fmt.Sprintf("container %s ended with exit code %d, %s %v", orQuoted(c.Name), c.State.Terminated.ExitCode, relation(o.Operator, true), o.Values)
	}
	var parts []string
	for _, statuses := range [2][]batch.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			c := &statuses[i]
			name := orQuoted(c.Name)
			switch t := c.State.Terminated; {
			case o.ContainerName != nil && *o.ContainerName != c.Name:
				parts = append(parts, fmt.Sprintf("container %s is not %s", name, orQuoted(*o.ContainerName)))
			case t == nil:
				parts = append(parts, fmt.Sprintf("container %s has not ended", name))
			case t.ExitCode == 0:
				parts = append(parts, fmt.Sprintf("container %s ended with exit code 0", name))
			default:
				parts = append(parts, fmt.Sprintf("container %s ended with exit code %d, %s %v", name, t.ExitCode, relation(o.Operator, false), o.Values))
			}
		}
	}
	if len(parts) == 0 {
		return "the pod has no container status"
	}
	return strings.Join(parts, "; ")
}

// relation returns "in" if the values of a requirement contain an exit code, otherwise
// "not in". met says whether the code meets the requirement, whose operator is o.
func relation(o batch.Operator, met bool) string {
	if (o == batch.OpIn) == met {
		return "in"
	}
	return "not in"
}

func whyConditions(patterns []batch.OnPodCondition, pod *batch.Pod) string {
	if c := findCondition(patterns, pod.Status.Conditions); c != nil {
		return fmt.Sprintf("the pod has condition %s=%s", c.Type, c.Status)
	}
	statuses := make(map[batch.PodConditionType]batch.ConditionStatus)
	for i := range pod.Status.Conditions {
		statuses[pod.Status.Conditions[i].Type] = pod.Status.Conditions[i].Status
	}
	parts := make([]string, len(patterns))
	for i, o := range patterns {
		has := "is absent"
		if status, ok := statuses[o.Type]; ok {
			has = "is " + string(status)
		}
		parts[i] = fmt.Sprintf("condition %s %s, wanted %s", o.Type, has, statusOf(o))
	}
	return strings.Join(parts, "; ")
}

// orQuoted returns s, or a pair of quotes if s is empty.
func orQuoted(s string) string {
	if s == "" {
		return `""`
	}
	return s
}
