package jobpolicy

import (
	"slices"
	"time"

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
