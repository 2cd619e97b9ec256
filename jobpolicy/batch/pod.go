package batch

import (
	"slices"
	"strconv"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/count"
	"github.com/restartkit/restart/internal/seconds"
)

// Pod is one attempt at a Job or at one of its indexes.
type Pod struct {
	Kind       string `json:"kind,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
	ObjectMeta `json:"metadata,omitzero"`
	Spec       PodSpec   `json:"spec,omitzero"`
	Status     PodStatus `json:"status,omitzero"`
}

// NewPod returns a running pod of an Indexed Job, or of a NonIndexed Job if index is -1,
// with the tracking finalizer. A scheduler that keeps records of its own instead of pods
// then calls [ObjectMeta.SetFailureCounts] and [Pod.Finish]. The UID may have any form
// but must be unique among all runs of the Job.
func NewPod(uid string, index int) *Pod {
	p := &Pod{ObjectMeta: ObjectMeta{UID: uid}, Status: PodStatus{Phase: PodRunning}}
	p.Track()
	if index >= 0 {
		p.Annotations = map[string]string{JobCompletionIndexAnnotation: strconv.Itoa(index)}
	}
	return p
}

// Finished reports whether the pod has succeeded or failed.
func (p *Pod) Finished() bool {
	return p.Status.Phase == PodSucceeded || p.Status.Phase == PodFailed
}

// Condition returns the first condition of that type, or nil.
func (p *Pod) Condition(t PodConditionType) *PodCondition {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == t {
			return c
		}
	}
	return nil
}

// Ready reports whether the pod's Ready condition is True.
func (p *Pod) Ready() bool {
	c := p.Condition(PodReady)
	return c != nil && c.Status == ConditionTrue
}

// Tracked reports whether the pod has the tracking finalizer.
func (p *Pod) Tracked() bool { return slices.Contains(p.Finalizers, JobTrackingFinalizer) }

// Track adds the tracking finalizer, without which the pod's end does not count. Pods
// made from a Creation have it.
func (p *Pod) Track() {
	if !p.Tracked() {
		p.Finalizers = append(slices.Clip(p.Finalizers), JobTrackingFinalizer)
	}
}

// Untrack removes the tracking finalizer. Use it for Plan.Release and Deletion.Untrack.
func (p *Pod) Untrack() {
	p.Finalizers = slices.DeleteFunc(slices.Clone(p.Finalizers), func(f string) bool { return f == JobTrackingFinalizer })
}

// PodStatus is the status of a pod.
type PodStatus struct {
	Phase                 PodPhase          `json:"phase,omitempty"`
	Conditions            []PodCondition    `json:"conditions,omitempty"`
	Message               string            `json:"message,omitempty"`
	Reason                string            `json:"reason,omitempty"`
	StartTime             time.Time         `json:"startTime,omitzero"`
	InitContainerStatuses []ContainerStatus `json:"initContainerStatuses,omitempty"`
	ContainerStatuses     []ContainerStatus `json:"containerStatuses,omitempty"`
}

// PodCondition is one condition of a pod.
type PodCondition struct {
	Type               PodConditionType `json:"type"`
	Status             ConditionStatus  `json:"status"`
	LastTransitionTime time.Time        `json:"lastTransitionTime,omitzero"`
	Reason             string           `json:"reason,omitempty"`
	Message            string           `json:"message,omitempty"`
}

// ContainerStatus is the status of one container of a pod.
type ContainerStatus struct {
	Name         string         `json:"name"`
	State        ContainerState `json:"state,omitzero"`
	Ready        bool           `json:"ready"`
	RestartCount int32          `json:"restartCount"`
}

// ContainerState is one of three states. If all are nil, the container is waiting.
type ContainerState struct {
	Waiting    *ContainerStateWaiting    `json:"waiting,omitempty"`
	Running    *ContainerStateRunning    `json:"running,omitempty"`
	Terminated *ContainerStateTerminated `json:"terminated,omitempty"`
}

// ContainerStateWaiting says why a container has not started.
type ContainerStateWaiting struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// ContainerStateRunning says when a container started.
type ContainerStateRunning struct {
	StartedAt time.Time `json:"startedAt,omitzero"`
}

// ContainerStateTerminated says how and when a container ended.
type ContainerStateTerminated struct {
	ExitCode   int32     `json:"exitCode"`
	Signal     int32     `json:"signal,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Message    string    `json:"message,omitempty"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
}

// PodTemplateSpec describes a Job's pods.
type PodTemplateSpec struct {
	ObjectMeta `json:"metadata,omitzero"`
	Spec       PodSpec `json:"spec,omitzero"`
}

// PodSpec is the part of a pod's specification that affects restarts, or that package
// lint reads.
type PodSpec struct {
	InitContainers                []Container         `json:"initContainers,omitempty"`
	Containers                    []Container         `json:"containers,omitempty"`
	RestartPolicy                 RestartPolicy       `json:"restartPolicy,omitempty"`
	TerminationGracePeriodSeconds *int64              `json:"terminationGracePeriodSeconds,omitempty"`
	NodeName                      string              `json:"nodeName,omitempty"`
	NodeSelector                  map[string]string   `json:"nodeSelector,omitempty"`
	Hostname                      string              `json:"hostname,omitempty"`
	Subdomain                     string              `json:"subdomain,omitempty"`
	OS                            *PodOS              `json:"os,omitempty"`
	ReadinessGates                []PodReadinessGate  `json:"readinessGates,omitempty"`
	SchedulingGroup               *PodSchedulingGroup `json:"schedulingGroup,omitempty"`
}

// PodOS is the operating system of a pod's containers.
type PodOS struct {
	Name string `json:"name"` // linux or windows
}

// PodReadinessGate is a condition that a pod needs to be ready. Some controller outside
// Kubernetes sets it.
type PodReadinessGate struct {
	ConditionType PodConditionType `json:"conditionType"`
}

// PodSchedulingGroup names the group of pods that the scheduler places together.
type PodSchedulingGroup struct {
	PodGroupName *string `json:"podGroupName,omitempty"`
}

// Sidecars returns the names of the init containers that run beside the app containers.
func (s *PodSpec) Sidecars() map[string]bool {
	var names map[string]bool
	for i := range s.InitContainers {
		if c := &s.InitContainers[i]; c.RestartPolicy == RestartPolicyAlways {
			if names == nil {
				names = make(map[string]bool)
			}
			names[c.Name] = true
		}
	}
	return names
}

// Container is one container of a pod.
type Container struct {
	Name          string        `json:"name,omitempty"`
	Image         string        `json:"image,omitempty"`
	Command       []string      `json:"command,omitempty"`
	Args          []string      `json:"args,omitempty"`
	WorkingDir    string        `json:"workingDir,omitempty"`
	Env           []EnvVar      `json:"env,omitempty"`
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"` // Always makes an init container a sidecar
	// RestartPolicyRules control restarts in place (KEP-5307). Only package lint reads
	// them.
	RestartPolicyRules []ContainerRestartRule `json:"restartPolicyRules,omitempty"`
}

// ContainerRestartRule is a rule for restarts in place.
type ContainerRestartRule struct {
	Action backoff.Action `json:"action,omitempty"` // Restart or RestartAllContainers (KEP-5532)
}

// EnvVar is an environment variable.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// Finish sets the status of a pod whose containers have all ended with the exit code at
// that time. The pod has succeeded if code is 0, and failed otherwise. A pod without
// containers in its specification gets the status of one container without a name.
//
// Keep the pod until Plan.Release of package jobpolicy names it, after the Job's status
// records its end and no replacement needs its failure counts.
func (p *Pod) Finish(code int32, at time.Time) {
	p.Status.Phase = PodSucceeded
	if code != 0 {
		p.Status.Phase = PodFailed
	}
	names := make([]string, max(len(p.Spec.Containers), 1))
	for i := range p.Spec.Containers {
		names[i] = p.Spec.Containers[i].Name
	}
	p.Status.ContainerStatuses = make([]ContainerStatus, len(names))
	for i, name := range names {
		p.Status.ContainerStatuses[i] = ContainerStatus{Name: name, State: ContainerState{
			Terminated: &ContainerStateTerminated{ExitCode: code, FinishedAt: at},
		}}
	}
}

// FinishTime returns when a finished pod ended, from the first available source:
//
//  1. the latest end of its containers, sidecars included, if all have ended;
//  2. the last transition of the Ready condition, if it is False;
//  3. the request for its deletion;
//  4. its creation.
//
// As in Kubernetes, if all sidecars but not all app containers have ended, the latest
// end of the sidecars counts.
func (p *Pod) FinishTime() time.Time {
	if p == nil {
		return time.Time{}
	}
	if t, ok := containersEnd(p); ok {
		return t
	}
	if c := p.Condition(PodReady); c != nil && c.Status == ConditionFalse && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime
	}
	if !p.DeletionTimestamp.IsZero() {
		return deletionAsked(p)
	}
	return p.CreationTimestamp
}

// containersEnd returns the latest end of the app containers and sidecars. It returns
// false if a sidecar has not ended. If an app container has not ended, only the
// sidecars count.
func containersEnd(pod *Pod) (end time.Time, ok bool) {
	for i := range pod.Status.ContainerStatuses {
		t := pod.Status.ContainerStatuses[i].endTime()
		if t.IsZero() {
			end = time.Time{}
			break
		}
		if t.After(end) {
			end = t
		}
	}
	sidecars := pod.Spec.Sidecars()
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		if !sidecars[c.Name] {
			continue
		}
		t := c.endTime()
		if t.IsZero() {
			return time.Time{}, false
		}
		if t.After(end) {
			end = t
		}
	}
	return end, !end.IsZero()
}

// deletionAsked returns the time of the deletion request, one grace period before the
// deletion timestamp.
func deletionAsked(pod *Pod) time.Time {
	if pod.DeletionGracePeriodSeconds == nil {
		return pod.DeletionTimestamp
	}
	return pod.DeletionTimestamp.Add(-seconds.Duration(*pod.DeletionGracePeriodSeconds))
}

// endTime returns when the container ended, zero if it has not ended or the time is
// unknown.
func (c *ContainerStatus) endTime() time.Time {
	if c.State.Terminated == nil {
		return time.Time{}
	}
	return c.State.Terminated.FinishedAt
}

// ObjectMeta is the part of an API object's metadata that affects restarts.
type ObjectMeta struct {
	Name                       string            `json:"name,omitempty"`
	GenerateName               string            `json:"generateName,omitempty"`
	Namespace                  string            `json:"namespace,omitempty"`
	UID                        string            `json:"uid,omitempty"`
	CreationTimestamp          time.Time         `json:"creationTimestamp,omitzero"`
	DeletionTimestamp          time.Time         `json:"deletionTimestamp,omitzero"` // zero unless being deleted
	DeletionGracePeriodSeconds *int64            `json:"deletionGracePeriodSeconds,omitempty"`
	Labels                     map[string]string `json:"labels,omitempty"`
	Annotations                map[string]string `json:"annotations,omitempty"`
	Finalizers                 []string          `json:"finalizers,omitempty"`
}

// CompletionIndex returns the completion index in a pod's annotations, or -1 if it is
// absent or invalid.
func (m *ObjectMeta) CompletionIndex() int {
	n, ok := count.Parse(m.Annotations[JobCompletionIndexAnnotation])
	if !ok {
		return -1
	}
	return n
}

// FailureCounts returns the earlier failures of the pod's index from the pod's
// annotations. failures counts towards the limit per index; ignored does not. A count
// is 0 if it is absent or invalid. To count the pod's own failure, pass them to
// NextCounts of package jobpolicy.
func (m *ObjectMeta) FailureCounts() (failures, ignored int) {
	read := func(annotation string) int {
		n, ok := count.Parse(m.Annotations[annotation])
		if !ok {
			return 0
		}
		return n
	}
	return read(JobIndexFailureCountAnnotation), read(JobIndexIgnoredFailureCountAnnotation)
}

// SetFailureCounts sets the result of FailureCounts, in the map Annotations. It limits
// counts to the range from 0 to 2^31-1.
func (m *ObjectMeta) SetFailureCounts(failures, ignored int) {
	if m.Annotations == nil {
		m.Annotations = make(map[string]string, 2)
	}
	text := func(n int) string { return strconv.Itoa(min(max(n, 0), count.Max)) }
	m.Annotations[JobIndexFailureCountAnnotation] = text(failures)
	if ignored > 0 {
		m.Annotations[JobIndexIgnoredFailureCountAnnotation] = text(ignored)
	} else {
		delete(m.Annotations, JobIndexIgnoredFailureCountAnnotation)
	}
}
