package jobpolicy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/internal/vectors"
	"github.com/restartkit/restart/internal/vectors/shape"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// podFailurePolicyVector: one failed pod against one policy.
func podFailurePolicyVector(c *vectors.Case) (any, error) {
	var in struct {
		FailIndexEnabled *bool         `json:"fail_index_enabled"`
		Policy           *shape.Policy `json:"policy"`
		Pod              *shape.Pod    `json:"pod"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	pod, err := in.Pod.Batch(time.Time{})
	if err != nil {
		return nil, err
	}
	policy := in.Policy.Batch()
	switch {
	case in.FailIndexEnabled != nil && !*in.FailIndexEnabled && hasFailIndex(policy):
		c.Exclude("FailIndex rules with the feature switched off: there is no such switch")
	case openPatternDecides(policy, pod):
		c.Exclude("a condition pattern without status, which the API server would have set to True")
	}
	m := MatchPod(policy, pod)
	got := map[string]any{"action": nil, "counted": m.Counted(), "message": nil, "matched": m.Rule >= 0, "rule": nil}
	if m.Rule >= 0 {
		got["action"], got["rule"] = m.Action, m.Rule
	}
	if text := m.Message(pod); text != "" {
		got["message"] = text
	}
	return got, nil
}

func hasFailIndex(p *batch.PodFailurePolicy) bool {
	return p != nil && slices.ContainsFunc(p.Rules, func(r batch.PodFailurePolicyRule) bool {
		return r.Action == batch.ActionFailIndex
	})
}

// openPatternDecides reports whether a pattern without status affects the result. Here
// it means True; in the controller it means an empty status.
func openPatternDecides(p *batch.PodFailurePolicy, pod *batch.Pod) bool {
	if p == nil || pod == nil {
		return false
	}
	for _, r := range p.Rules {
		for _, o := range r.OnPodConditions {
			for _, c := range pod.Status.Conditions {
				if o.Status == "" && o.Type == c.Type && (c.Status == "" || c.Status == batch.ConditionTrue) {
					return true
				}
			}
		}
	}
	return false
}

const refusedIndexes = "indexes of a rule that are unordered or overlap name a set all the same, where Kubernetes reads them otherwise"

// successPolicyVector checks MatchSuccess for a policy.
func successPolicyVector(c *vectors.Case) (any, error) {
	var in struct {
		Enabled     *bool                `json:"enabled"`
		Policy      *shape.SuccessPolicy `json:"policy"`
		Completions int                  `json:"completions"`
		Succeeded   []vectorInterval     `json:"succeeded"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	if in.Enabled != nil && !*in.Enabled {
		c.Exclude("the feature switched off: there is no such switch")
		return nil, nil
	}
	succeeded, ok := vectorSet(in.Succeeded)
	if !ok {
		c.Exclude(notASet)
		return nil, nil
	}
	policy := in.Policy.Batch()
	if set, walk := successModel(policy, in.Succeeded, in.Completions); set != walk {
		c.Deviate(refusedIndexes, metAndMessage(set))
	}
	return metAndMessage(MatchSuccess(policy, succeeded, in.Completions)), nil
}

func metAndMessage(rule int) any {
	if rule < 0 {
		return map[string]any{"met": false, "message": ""}
	}
	return map[string]any{"met": true, "message": fmt.Sprintf("Matched rules at index %d", rule)}
}

// successRuleVector checks MatchSuccess for one rule with indexes. MatchSuccess tries a
// rule only if an index has succeeded and the rule names indexes of the Job.
func successRuleVector(c *vectors.Case) (any, error) {
	var in struct {
		RuleIndexes *string          `json:"rule_indexes"`
		Succeeded   []vectorInterval `json:"succeeded"`
		Count       *int32           `json:"count"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	if in.RuleIndexes == nil {
		return nil, errors.New("a rule without indexes")
	}
	succeeded, ok := vectorSet(in.Succeeded)
	if !ok {
		c.Exclude(notASet)
		return nil, nil
	}
	rule := batch.SuccessPolicyRule{SucceededIndexes: in.RuleIndexes, SucceededCount: in.Count}
	asWritten := readIndexesAsWritten(*in.RuleIndexes, indexset.MaxIndex)
	if len(asWritten) == 0 {
		c.Exclude("a rule whose indexes name none, which a policy never asks")
	}
	set := metByRule(mergeIntervals(readIndexesAsSet(*in.RuleIndexes, indexset.MaxIndex)), in.Succeeded, in.Count)
	if set != metByRule(asWritten, in.Succeeded, in.Count) {
		c.Deviate(refusedIndexes, set)
	}
	return metSuccess(&rule, succeeded, indexset.MaxIndex), nil
}

const notASet = "intervals that are reversed, unordered or overlap, which no set has"

type vectorInterval [2]int

// vectorSet is the set of these intervals, if they can be those of a set.
func vectorSet(intervals []vectorInterval) (s indexset.Set, ok bool) {
	var b indexset.Builder
	for i, r := range intervals {
		if r[0] > r[1] || i > 0 && r[0] <= intervals[i-1][1] {
			return s, false
		}
		b.AddRange(r[0], r[1])
	}
	return b.Set(), true
}

// successModel evaluates the rule with two readings of its indexes, as a set, and as
// the written intervals compared one by one with the succeeded ones.
func successModel(p *batch.SuccessPolicy, succeeded []vectorInterval, completions int) (set, walk int) {
	met := func(read func(string, int) []vectorInterval) int {
		if p == nil || len(succeeded) == 0 {
			return -1
		}
		for i, r := range p.Rules {
			if r.SucceededIndexes == nil {
				if r.SucceededCount != nil && totalOf(succeeded) >= int(*r.SucceededCount) {
					return i
				}
				continue
			}
			if wanted := read(*r.SucceededIndexes, completions); len(wanted) > 0 && metByRule(wanted, succeeded, r.SucceededCount) {
				return i
			}
		}
		return -1
	}
	asSet := func(text string, completions int) []vectorInterval {
		return mergeIntervals(readIndexesAsSet(text, completions))
	}
	return met(asSet), met(readIndexesAsWritten)
}

// metByRule walks both lists and sums their overlaps.
func metByRule(wanted, succeeded []vectorInterval, count *int32) bool {
	have := 0
	for w, s := 0, 0; w < len(wanted) && s < len(succeeded); {
		if n := min(wanted[w][1], succeeded[s][1]) - max(wanted[w][0], succeeded[s][0]) + 1; n > 0 {
			have += n
		}
		wantedEnd, succeededEnd := wanted[w][1], succeeded[s][1]
		if succeededEnd <= wantedEnd {
			s++
		}
		if wantedEnd <= succeededEnd {
			w++
		}
	}
	return have == totalOf(wanted) || count != nil && have >= int(*count)
}

func totalOf(intervals []vectorInterval) (n int) {
	for _, r := range intervals {
		n += r[1] - r[0] + 1
	}
	return n
}

// readIndexesAsWritten keeps the intervals as they stand: it stops at the first
// that begins at completions or above and joins those that touch.
func readIndexesAsWritten(text string, completions int) (intervals []vectorInterval) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, ok := readInterval(part)
		if !ok {
			continue
		}
		if first >= completions {
			break
		}
		last = min(last, completions-1)
		if n := len(intervals); n > 0 && intervals[n-1][1] == first-1 {
			intervals[n-1][1] = last
		} else {
			intervals = append(intervals, vectorInterval{first, last})
		}
	}
	return intervals
}

// readIndexesAsSet takes every readable interval that can be one.
func readIndexesAsSet(text string, completions int) (intervals []vectorInterval) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, ok := readInterval(part)
		if ok && first <= last && last <= indexset.MaxIndex && first < completions {
			intervals = append(intervals, vectorInterval{first, min(last, completions-1)})
		}
	}
	return intervals
}

// readInterval reads "a" or "a-b"; text behind a second dash is ignored.
func readInterval(part string) (first, last int, ok bool) {
	fields := strings.Split(part, "-")
	first, err := strconv.Atoi(fields[0])
	if err != nil {
		return 0, 0, false
	}
	if len(fields) == 1 {
		return first, first, true
	}
	last, err = strconv.Atoi(fields[1])
	return first, last, err == nil
}

// mergeIntervals sorts intervals and joins those that overlap or touch.
func mergeIntervals(intervals []vectorInterval) (merged []vectorInterval) {
	slices.SortFunc(intervals, func(a, b vectorInterval) int { return cmp.Compare(a[0], b[0]) })
	for _, r := range intervals {
		if n := len(merged); n > 0 && r[0] <= merged[n-1][1]+1 {
			merged[n-1][1] = max(merged[n-1][1], r[1])
		} else {
			merged = append(merged, r)
		}
	}
	return merged
}
