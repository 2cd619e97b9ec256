package shape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// The shapes that the vector files share, and their conversion to the package's types.
// An unknown field is an error, so that no input is silently ignored.

// Time is a time, as an RFC 3339 text or, in files of one pass over a Job, as
// milliseconds relative to its now.
type Time struct {
	abs time.Time
	rel *int64
}

func (v *Time) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &v.abs)
	}
	return json.Unmarshal(data, &v.rel)
}

// At returns the time, or the zero time for nil.
func (v *Time) At(now time.Time) time.Time {
	switch {
	case v == nil:
		return time.Time{}
	case v.rel == nil:
		return v.abs
	}
	return now.Add(time.Duration(*v.rel) * time.Millisecond)
}

// Text returns a time in the form of the vector files' wanted outcomes: RFC 3339 in UTC,
// or nil for the zero time.
func Text(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339Nano)
}

type Pod struct {
	Name                 string         `json:"name"`
	Namespace            string         `json:"namespace"`
	UID                  string         `json:"uid"`
	ID                   string         `json:"id"` // as uid
	Phase                batch.PodPhase `json:"phase"`
	CreatedAt            *Time          `json:"created_at"`
	Deleting             bool           `json:"deleting"`
	DeletedAt            *Time          `json:"deleted_at"`
	GraceS               *int64         `json:"grace_s"`
	Tracked              bool           `json:"tracked"`
	Index                *string        `json:"index"`
	IndexFailures        *string        `json:"index_failures"`
	IndexIgnoredFailures *string        `json:"index_ignored_failures"`
	Containers           []Container    `json:"containers"`
	InitContainers       []Container    `json:"init_containers"`
	Conditions           []Condition    `json:"conditions"`
}

type Container struct {
	Name       string `json:"name"`
	State      string `json:"state"`
	ExitCode   int32  `json:"exit_code"`
	FinishedAt *Time  `json:"finished_at"`
	Restarts   int32  `json:"restarts"`
	Sidecar    bool   `json:"sidecar"`
}

type Condition struct {
	Type   batch.PodConditionType `json:"type"`
	Status batch.ConditionStatus  `json:"status"`
	At     *Time                  `json:"at"`
	Reason string                 `json:"reason"`
}

func (v *Pod) UnmarshalJSON(data []byte) error {
	type plain Pod
	return StrictJSON(data, (*plain)(v))
}

// Batch converts the pod. now is the base of times in milliseconds and the time of a
// deletion without one.
func (v *Pod) Batch(now time.Time) (*batch.Pod, error) {
	if v == nil {
		return nil, nil
	}
	p := &batch.Pod{}
	p.Name, p.Namespace, p.UID = v.Name, v.Namespace, v.UID
	if v.ID != "" {
		p.UID = v.ID
	}
	p.CreationTimestamp = v.CreatedAt.At(now)
	p.DeletionTimestamp = v.DeletedAt.At(now)
	if v.Deleting && v.DeletedAt == nil {
		p.DeletionTimestamp = now
	}
	p.DeletionGracePeriodSeconds = v.GraceS
	if v.Tracked {
		p.Finalizers = []string{batch.JobTrackingFinalizer}
	}
	for key, text := range map[string]*string{
		batch.JobCompletionIndexAnnotation:          v.Index,
		batch.JobIndexFailureCountAnnotation:        v.IndexFailures,
		batch.JobIndexIgnoredFailureCountAnnotation: v.IndexIgnoredFailures,
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
		p.Status.Conditions = append(p.Status.Conditions, batch.PodCondition{
			Type: c.Type, Status: c.Status, LastTransitionTime: c.At.At(now), Reason: c.Reason,
		})
	}
	var err error
	if p.Spec.Containers, p.Status.ContainerStatuses, err = containers(v.Containers, now); err != nil {
		return nil, err
	}
	p.Spec.InitContainers, p.Status.InitContainerStatuses, err = containers(v.InitContainers, now)
	return p, err
}

func containers(vs []Container, now time.Time) ([]batch.Container, []batch.ContainerStatus, error) {
	var specs []batch.Container
	var statuses []batch.ContainerStatus
	for _, v := range vs {
		spec := batch.Container{Name: v.Name}
		if v.Sidecar {
			spec.RestartPolicy = batch.RestartPolicyAlways
		}
		status := batch.ContainerStatus{Name: v.Name, RestartCount: v.Restarts}
		switch v.State {
		case "terminated":
			status.State.Terminated = &batch.ContainerStateTerminated{ExitCode: v.ExitCode, FinishedAt: v.FinishedAt.At(now)}
		case "running":
			status.State.Running = &batch.ContainerStateRunning{}
		case "waiting":
			status.State.Waiting = &batch.ContainerStateWaiting{}
		case "none", "":
		default:
			return nil, nil, fmt.Errorf("unknown container state %q", v.State)
		}
		specs, statuses = append(specs, spec), append(statuses, status)
	}
	return specs, statuses, nil
}

// Pods converts a list of pods, null to nil.
func Pods(vs []*Pod, now time.Time) ([]*batch.Pod, error) {
	pods := make([]*batch.Pod, len(vs))
	for i, v := range vs {
		var err error
		if pods[i], err = v.Batch(now); err != nil {
			return nil, fmt.Errorf("pod %d: %w", i, err)
		}
		if p := pods[i]; p != nil && p.UID == "" && p.Name == "" {
			p.Name = fmt.Sprintf("pod-%04d", i) // Plan tells pods apart by their names
		}
	}
	return pods, nil
}

// Present returns the non-nil pods.
func Present(pods []*batch.Pod) []*batch.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *batch.Pod) bool { return p == nil })
}

type Policy struct {
	Rules []struct {
		Action    batch.Action `json:"action"`
		ExitCodes *struct {
			Op        batch.Operator `json:"op"`
			Values    []int32        `json:"values"`
			Container *string        `json:"container"`
		} `json:"exit_codes"`
		Conditions []struct {
			Type   batch.PodConditionType `json:"type"`
			Status batch.ConditionStatus  `json:"status"`
		} `json:"conditions"`
	} `json:"rules"`
}

func (v *Policy) UnmarshalJSON(data []byte) error {
	type plain Policy
	return StrictJSON(data, (*plain)(v))
}

func (v *Policy) Batch() *batch.PodFailurePolicy {
	if v == nil {
		return nil
	}
	p := &batch.PodFailurePolicy{}
	for _, r := range v.Rules {
		rule := batch.PodFailurePolicyRule{Action: r.Action}
		if e := r.ExitCodes; e != nil {
			rule.OnExitCodes = &batch.OnExitCodes{ContainerName: e.Container, Operator: e.Op, Values: e.Values}
		}
		if r.Conditions != nil {
			rule.OnPodConditions = []batch.OnPodCondition{}
		}
		for _, c := range r.Conditions {
			rule.OnPodConditions = append(rule.OnPodConditions, batch.OnPodCondition{Type: c.Type, Status: c.Status})
		}
		p.Rules = append(p.Rules, rule)
	}
	return p
}

type SuccessPolicy struct {
	Rules []struct {
		Indexes       *string `json:"indexes"`
		IndexesRepeat *struct {
			Text  string `json:"text"`
			Times int    `json:"times"`
		} `json:"indexes_repeat"`
		Count *int32 `json:"count"`
	} `json:"rules"`
}

func (v *SuccessPolicy) UnmarshalJSON(data []byte) error {
	type plain SuccessPolicy
	return StrictJSON(data, (*plain)(v))
}

func (v *SuccessPolicy) Batch() *batch.SuccessPolicy {
	if v == nil {
		return nil
	}
	p := &batch.SuccessPolicy{}
	for _, r := range v.Rules {
		rule := batch.SuccessPolicyRule{SucceededIndexes: r.Indexes, SucceededCount: r.Count}
		if r.IndexesRepeat != nil {
			text := strings.Repeat(r.IndexesRepeat.Text, r.IndexesRepeat.Times)
			rule.SucceededIndexes = &text
		}
		p.Rules = append(p.Rules, rule)
	}
	return p
}

type Spec struct {
	Parallelism          *int32                      `json:"parallelism"`
	Completions          *int32                      `json:"completions"`
	Mode                 *batch.CompletionMode       `json:"mode"`
	BackoffLimit         *int32                      `json:"backoff_limit"`
	BackoffLimitPerIndex *int32                      `json:"backoff_limit_per_index"`
	MaxFailedIndexes     *int32                      `json:"max_failed_indexes"`
	ActiveDeadlineS      *int64                      `json:"active_deadline_s"`
	TTLS                 *int32                      `json:"ttl_s"`
	Suspend              *bool                       `json:"suspend"`
	Replacement          *batch.PodReplacementPolicy `json:"replacement"`
	RestartPolicy        batch.RestartPolicy         `json:"restart_policy"`
	Containers           []string                    `json:"containers"`
	InitContainers       []string                    `json:"init_containers"`
	PodFailurePolicy     *Policy                     `json:"pod_failure_policy"`
	SuccessPolicy        *SuccessPolicy              `json:"success_policy"`
}

func (v *Spec) UnmarshalJSON(data []byte) error {
	type plain Spec
	return StrictJSON(data, (*plain)(v))
}

// EmptyText reports whether a text field is set but empty, which our types cannot
// distinguish from absent.
func (v *Spec) EmptyText() bool {
	return v.EmptyMode() || v.Replacement != nil && *v.Replacement == ""
}

func (v *Spec) EmptyMode() bool { return v.Mode != nil && *v.Mode == "" }

func (v *Spec) Batch() batch.JobSpec {
	s := batch.JobSpec{
		Parallelism: v.Parallelism, Completions: v.Completions, ActiveDeadlineSeconds: v.ActiveDeadlineS,
		PodFailurePolicy: v.PodFailurePolicy.Batch(), SuccessPolicy: v.SuccessPolicy.Batch(),
		BackoffLimit: v.BackoffLimit, BackoffLimitPerIndex: v.BackoffLimitPerIndex, MaxFailedIndexes: v.MaxFailedIndexes,
		TTLSecondsAfterFinished: v.TTLS,
		CompletionMode:          Value(v.Mode), Suspend: Value(v.Suspend), PodReplacementPolicy: Value(v.Replacement),
	}
	s.Template.Spec.RestartPolicy = v.RestartPolicy
	for _, name := range v.Containers {
		s.Template.Spec.Containers = append(s.Template.Spec.Containers, batch.Container{Name: name})
	}
	for _, name := range v.InitContainers {
		s.Template.Spec.InitContainers = append(s.Template.Spec.InitContainers, batch.Container{Name: name})
	}
	return s
}

func Value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// StrictJSON decodes an object into dst and rejects fields that dst lacks.
func StrictJSON(data []byte, dst any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(dst)
}

// At returns t as an absolute Time.
func At(t time.Time) *Time { return &Time{abs: t} }
