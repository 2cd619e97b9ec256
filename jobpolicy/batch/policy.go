package batch

import (
	"encoding/json"
	"strconv"
)

// PodFailurePolicy is a list of rules for failed pods. The first matching rule decides
// (KEP-3329).
type PodFailurePolicy struct {
	Rules []PodFailurePolicyRule `json:"rules"`
}

// PodFailurePolicyRule is an action with one of two requirements. If both are set, only
// OnExitCodes is used.
type PodFailurePolicyRule struct {
	// Name must be unique. Engine.RuleInReason adds it to the Job's reason (KEP-4443).
	// Kubernetes up to 1.38 does not support it.
	Name            string           `json:"name,omitempty"`
	Action          Action           `json:"action"`
	OnExitCodes     *OnExitCodes     `json:"onExitCodes,omitempty"`
	OnPodConditions []OnPodCondition `json:"onPodConditions,omitempty"`

	// Unknown holds all other fields.
	Unknown map[string]json.RawMessage `json:"-"`
}

// Reason returns the reason, under Engine.RuleInReason, of a Job failed by this rule at
// index i.
func (r *PodFailurePolicyRule) Reason(i int) Reason {
	name := r.Name
	if name == "" {
		name = strconv.Itoa(i)
	}
	return JobReasonPodFailurePolicy + "_" + Reason(name)
}

// OnExitCodes is met by a container that ended with a non-zero exit code in, or not in,
// Values.
type OnExitCodes struct {
	ContainerName *string  `json:"containerName,omitempty"` // nil means any
	Operator      Operator `json:"operator"`
	Values        []int32  `json:"values"`
}

// OnPodCondition is met by a pod with this condition.
type OnPodCondition struct {
	Type   PodConditionType `json:"type"`
	Status ConditionStatus  `json:"status,omitempty"` // "" means True
}

// SuccessPolicy ends an Indexed Job as succeeded once one of its rules is met.
type SuccessPolicy struct {
	Rules []SuccessPolicyRule `json:"rules"`
}

// SuccessPolicyRule is met if all SucceededIndexes have succeeded or, with
// SucceededCount, that many of them.
type SuccessPolicyRule struct {
	SucceededIndexes *string `json:"succeededIndexes,omitempty"` // text such as 1,3-5; nil means every index
	SucceededCount   *int32  `json:"succeededCount,omitempty"`
}
