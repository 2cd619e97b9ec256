package jobpolicy

import (
	"slices"
	"time"

	"github.com/restartkit/restart/conformance/vectors"
)

// podFailurePolicyVector: one failed pod against one policy.
func podFailurePolicyVector(c *vectors.Case) (any, error) {
	var in struct {
		FailIndexEnabled *bool         `json:"fail_index_enabled"`
		Policy           *vectorPolicy `json:"policy"`
		Pod              *vectorPod    `json:"pod"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	pod, err := in.Pod.pod(time.Time{})
	if err != nil {
		return nil, err
	}
	policy := in.Policy.policy()
	switch {
	case in.FailIndexEnabled != nil && !*in.FailIndexEnabled && hasFailIndex(policy):
		c.Exclude("FailIndex rules with the feature switched off: there is no such switch")
	case openPatternDecides(policy, pod):
		c.Exclude("a condition pattern without status, which the API server would have set to True")
	}
	m := policy.Match(pod)
	got := map[string]any{"action": nil, "counted": m.Counted(), "message": nil, "matched": m.Rule >= 0, "rule": nil}
	if m.Rule >= 0 {
		got["action"], got["rule"] = m.Action, m.Rule
	}
	if text := m.Message(pod); text != "" {
		got["message"] = text
	}
	return got, nil
}

func hasFailIndex(p *PodFailurePolicy) bool {
	return p != nil && slices.ContainsFunc(p.Rules, func(r PodFailurePolicyRule) bool {
		return r.Action == PodFailurePolicyActionFailIndex
	})
}

// openPatternDecides reports whether the pod has a condition for which it
// matters that a pattern without status means True here: the controller takes
// such a pattern to mean an empty status.
func openPatternDecides(p *PodFailurePolicy, pod *Pod) bool {
	if p == nil || pod == nil {
		return false
	}
	for _, r := range p.Rules {
		for _, o := range r.OnPodConditions {
			for _, c := range pod.Status.Conditions {
				if o.Status == "" && o.Type == c.Type && (c.Status == "" || c.Status == ConditionTrue) {
					return true
				}
			}
		}
	}
	return false
}
