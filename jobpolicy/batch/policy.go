package batch

import (
	"encoding/json"
	"strconv"
)

// PodFailurePolicy is an ordered list of rules about failed pods; the first
// that matches decides (KEP-3329). A nil policy has no rules.
type PodFailurePolicy struct {
	Rules []PodFailurePolicyRule `json:"rules"`
}

// PodFailurePolicyRule is an action and exactly one of two requirements. If
// both are there only OnExitCodes is looked at.
type PodFailurePolicyRule struct {
	// Name is unique and stands in the Job's reason if the Engine has RuleInReason
	// (KEP-4443). No Kubernetes up to 1.37 knows it.
	Name            string           `json:"name,omitempty"`
	Action          Action           `json:"action"`
	OnExitCodes     *OnExitCodes     `json:"onExitCodes,omitempty"`
	OnPodConditions []OnPodCondition `json:"onPodConditions,omitempty"`

	// Unknown holds the fields that are none of these, as they were read.
	Unknown map[string]json.RawMessage `json:"-"`
}

// Reason is the reason of a Job that the rule at index i fails.
func (r *PodFailurePolicyRule) Reason(i int) Reason {
	name := r.Name
	if name == "" {
		name = strconv.Itoa(i)
	}
	return JobReasonPodFailurePolicy + "_" + Reason(name)
}

// OnExitCodes is met by a pod with a container that ended with a non-zero exit
// code in, or not in, Values.
type OnExitCodes struct {
	ContainerName *string  `json:"containerName,omitempty"` // nil: any container
	Operator      Operator `json:"operator"`
	Values        []int32  `json:"values"`
}

// OnPodCondition is met by a pod that has this condition.
type OnPodCondition struct {
	Type   PodConditionType `json:"type"`
	Status ConditionStatus  `json:"status,omitempty"` // empty: True
}

// SuccessPolicy says when an Indexed Job has succeeded before all its indexes
// have: as soon as one of its rules is met.
type SuccessPolicy struct {
	Rules []SuccessPolicyRule `json:"rules"`
}

// SuccessPolicyRule is met when the succeeded indexes hold all of
// SucceededIndexes or, with SucceededCount, that many of them.
type SuccessPolicyRule struct {
	SucceededIndexes *string `json:"succeededIndexes,omitempty"` // as text, 1,3-5; nil: every index
	SucceededCount   *int32  `json:"succeededCount,omitempty"`
}
