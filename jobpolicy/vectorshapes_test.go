package jobpolicy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The shapes that the vector files share, and their conversion to the package's
// types. A field that the shapes do not have is an error: nothing of an input is
// passed over in silence.

// vectorTime is a moment: an RFC 3339 text or, in files of one pass over a Job,
// milliseconds relative to its now.
type vectorTime struct {
	abs time.Time
	rel *int64
}

func (v *vectorTime) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &v.abs)
	}
	return json.Unmarshal(data, &v.rel)
}

// time returns the moment, the zero time if there is none.
func (v *vectorTime) time(now time.Time) time.Time {
	switch {
	case v == nil:
		return time.Time{}
	case v.rel == nil:
		return v.abs
	}
	return now.Add(time.Duration(*v.rel) * time.Millisecond)
}

// vectorTimeText is how a moment stands in a wanted outcome: null for none.
func vectorTimeText(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339Nano)
}

type vectorPod struct {
	Name                 string            `json:"name"`
	Namespace            string            `json:"namespace"`
	UID                  string            `json:"uid"`
	ID                   string            `json:"id"` // as uid
	Phase                PodPhase          `json:"phase"`
	CreatedAt            *vectorTime       `json:"created_at"`
	Deleting             bool              `json:"deleting"`
	DeletedAt            *vectorTime       `json:"deleted_at"`
	GraceS               *int64            `json:"grace_s"`
	Tracked              bool              `json:"tracked"`
	Index                *string           `json:"index"`
	IndexFailures        *string           `json:"index_failures"`
	IndexIgnoredFailures *string           `json:"index_ignored_failures"`
	Containers           []vectorContainer `json:"containers"`
	InitContainers       []vectorContainer `json:"init_containers"`
	Conditions           []vectorCondition `json:"conditions"`
}

type vectorContainer struct {
	Name       string      `json:"name"`
	State      string      `json:"state"`
	ExitCode   int32       `json:"exit_code"`
	FinishedAt *vectorTime `json:"finished_at"`
	Restarts   int32       `json:"restarts"`
	Sidecar    bool        `json:"sidecar"`
}

type vectorCondition struct {
	Type   PodConditionType `json:"type"`
	Status ConditionStatus  `json:"status"`
	At     *vectorTime      `json:"at"`
	Reason string           `json:"reason"`
}

func (v *vectorPod) UnmarshalJSON(data []byte) error {
	type plain vectorPod
	return strictJSON(data, (*plain)(v))
}

// pod converts; now is what times in milliseconds are relative to, and the
// moment of a deletion without a time.
func (v *vectorPod) pod(now time.Time) (*Pod, error) {
	if v == nil {
		return nil, nil
	}
	p := &Pod{}
	p.Name, p.Namespace, p.UID = v.Name, v.Namespace, v.UID
	if v.ID != "" {
		p.UID = v.ID
	}
	p.CreationTimestamp = v.CreatedAt.time(now)
	p.DeletionTimestamp = v.DeletedAt.time(now)
	if v.Deleting && v.DeletedAt == nil {
		p.DeletionTimestamp = now
	}
	p.DeletionGracePeriodSeconds = v.GraceS
	if v.Tracked {
		p.Finalizers = []string{JobTrackingFinalizer}
	}
	for key, text := range map[string]*string{
		JobCompletionIndexAnnotation:          v.Index,
		JobIndexFailureCountAnnotation:        v.IndexFailures,
		JobIndexIgnoredFailureCountAnnotation: v.IndexIgnoredFailures,
	} {
		if text == nil {
			continue
		}
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[key] = *text
	}
	p.Status.Phase = v.Phase
	for _, c := range v.Conditions {
		p.Status.Conditions = append(p.Status.Conditions, PodCondition{
			Type: c.Type, Status: c.Status, LastTransitionTime: c.At.time(now), Reason: c.Reason,
		})
	}
	var err error
	if p.Spec.Containers, p.Status.ContainerStatuses, err = vectorContainers(v.Containers, now); err != nil {
		return nil, err
	}
	p.Spec.InitContainers, p.Status.InitContainerStatuses, err = vectorContainers(v.InitContainers, now)
	return p, err
}

func vectorContainers(vs []vectorContainer, now time.Time) ([]Container, []ContainerStatus, error) {
	var specs []Container
	var statuses []ContainerStatus
	for _, v := range vs {
		spec := Container{Name: v.Name}
		if v.Sidecar {
			spec.RestartPolicy = RestartPolicyAlways
		}
		status := ContainerStatus{Name: v.Name, RestartCount: v.Restarts}
		switch v.State {
		case "terminated":
			status.State.Terminated = &ContainerStateTerminated{ExitCode: v.ExitCode, FinishedAt: v.FinishedAt.time(now)}
		case "running":
			status.State.Running = &ContainerStateRunning{}
		case "waiting":
			status.State.Waiting = &ContainerStateWaiting{}
		case "none", "":
		default:
			return nil, nil, fmt.Errorf("unknown container state %q", v.State)
		}
		specs, statuses = append(specs, spec), append(statuses, status)
	}
	return specs, statuses, nil
}

// vectorPods converts a list of pods, null to nil.
func vectorPods(vs []*vectorPod, now time.Time) ([]*Pod, error) {
	pods := make([]*Pod, len(vs))
	for i, v := range vs {
		var err error
		if pods[i], err = v.pod(now); err != nil {
			return nil, fmt.Errorf("pod %d: %w", i, err)
		}
		if p := pods[i]; p != nil && p.UID == "" && p.Name == "" {
			p.Name = fmt.Sprintf("pod-%04d", i) // Plan needs something to tell pods apart by
		}
	}
	return pods, nil
}

// present leaves out the nil pods.
func present(pods []*Pod) []*Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *Pod) bool { return p == nil })
}

type vectorPolicy struct {
	Rules []struct {
		Action    Action `json:"action"`
		ExitCodes *struct {
			Op        Operator `json:"op"`
			Values    []int32  `json:"values"`
			Container *string  `json:"container"`
		} `json:"exit_codes"`
		Conditions []struct {
			Type   PodConditionType `json:"type"`
			Status ConditionStatus  `json:"status"`
		} `json:"conditions"`
	} `json:"rules"`
}

func (v *vectorPolicy) UnmarshalJSON(data []byte) error {
	type plain vectorPolicy
	return strictJSON(data, (*plain)(v))
}

func (v *vectorPolicy) policy() *PodFailurePolicy {
	if v == nil {
		return nil
	}
	p := &PodFailurePolicy{}
	for _, r := range v.Rules {
		rule := PodFailurePolicyRule{Action: r.Action}
		if e := r.ExitCodes; e != nil {
			rule.OnExitCodes = &OnExitCodes{ContainerName: e.Container, Operator: e.Op, Values: e.Values}
		}
		if r.Conditions != nil {
			rule.OnPodConditions = []OnPodCondition{}
		}
		for _, c := range r.Conditions {
			rule.OnPodConditions = append(rule.OnPodConditions, OnPodCondition{Type: c.Type, Status: c.Status})
		}
		p.Rules = append(p.Rules, rule)
	}
	return p
}

type vectorSuccessPolicy struct {
	Rules []struct {
		Indexes       *string `json:"indexes"`
		IndexesRepeat *struct {
			Text  string `json:"text"`
			Times int    `json:"times"`
		} `json:"indexes_repeat"`
		Count *int32 `json:"count"`
	} `json:"rules"`
}

func (v *vectorSuccessPolicy) UnmarshalJSON(data []byte) error {
	type plain vectorSuccessPolicy
	return strictJSON(data, (*plain)(v))
}

func (v *vectorSuccessPolicy) policy() *SuccessPolicy {
	if v == nil {
		return nil
	}
	p := &SuccessPolicy{}
	for _, r := range v.Rules {
		rule := SuccessPolicyRule{SucceededIndexes: r.Indexes, SucceededCount: r.Count}
		if r.IndexesRepeat != nil {
			text := strings.Repeat(r.IndexesRepeat.Text, r.IndexesRepeat.Times)
			rule.SucceededIndexes = &text
		}
		p.Rules = append(p.Rules, rule)
	}
	return p
}

type vectorSpec struct {
	Parallelism          *int32                `json:"parallelism"`
	Completions          *int32                `json:"completions"`
	Mode                 *CompletionMode       `json:"mode"`
	BackoffLimit         *int32                `json:"backoff_limit"`
	BackoffLimitPerIndex *int32                `json:"backoff_limit_per_index"`
	MaxFailedIndexes     *int32                `json:"max_failed_indexes"`
	ActiveDeadlineS      *int64                `json:"active_deadline_s"`
	TTLS                 *int32                `json:"ttl_s"`
	Suspend              *bool                 `json:"suspend"`
	Replacement          *PodReplacementPolicy `json:"replacement"`
	RestartPolicy        RestartPolicy         `json:"restart_policy"`
	Containers           []string              `json:"containers"`
	InitContainers       []string              `json:"init_containers"`
	PodFailurePolicy     *vectorPolicy         `json:"pod_failure_policy"`
	SuccessPolicy        *vectorSuccessPolicy  `json:"success_policy"`
}

func (v *vectorSpec) UnmarshalJSON(data []byte) error {
	type plain vectorSpec
	return strictJSON(data, (*plain)(v))
}

// emptyText reports whether a field is there and empty that for us is a text
// without a difference between that and absent.
func (v *vectorSpec) emptyText() bool {
	return v.emptyMode() || v.Replacement != nil && *v.Replacement == ""
}

func (v *vectorSpec) emptyMode() bool { return v.Mode != nil && *v.Mode == "" }

func (v *vectorSpec) spec() JobSpec {
	s := JobSpec{
		Parallelism: v.Parallelism, Completions: v.Completions, ActiveDeadlineSeconds: v.ActiveDeadlineS,
		PodFailurePolicy: v.PodFailurePolicy.policy(), SuccessPolicy: v.SuccessPolicy.policy(),
		BackoffLimit: v.BackoffLimit, BackoffLimitPerIndex: v.BackoffLimitPerIndex, MaxFailedIndexes: v.MaxFailedIndexes,
		TTLSecondsAfterFinished: v.TTLS,
		CompletionMode:          vectorValue(v.Mode), Suspend: vectorValue(v.Suspend), PodReplacementPolicy: vectorValue(v.Replacement),
	}
	s.Template.Spec.RestartPolicy = v.RestartPolicy
	for _, name := range v.Containers {
		s.Template.Spec.Containers = append(s.Template.Spec.Containers, Container{Name: name})
	}
	for _, name := range v.InitContainers {
		s.Template.Spec.InitContainers = append(s.Template.Spec.InitContainers, Container{Name: name})
	}
	return s
}

func vectorValue[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// strictJSON decodes an object all of whose fields dst must have.
func strictJSON(data []byte, dst any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(dst)
}
