package batch

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// Finished returns the condition that ended the Job, Complete or Failed, if one
// is True.
func (s *JobStatus) Finished() (JobCondition, bool) {
	if s == nil {
		return JobCondition{}, false
	}
	for _, c := range s.Conditions {
		if (c.Type == JobComplete || c.Type == JobFailed) && c.Status == ConditionTrue {
			return c, true
		}
	}
	return JobCondition{}, false
}

// HasCondition reports whether the condition is there and True.
func (s *JobStatus) HasCondition(t JobConditionType) bool {
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == t && c.Status == ConditionTrue {
			return true
		}
	}
	return false
}

// Track puts the tracking finalizer on the pod. Only the end of a pod that has it
// counts; pods made from a NewPod have it.
func (p *Pod) Track() {
	if !p.Tracked() {
		p.Finalizers = append(slices.Clip(p.Finalizers), JobTrackingFinalizer)
	}
}

// Untrack takes the tracking finalizer off the pod. Where there is no API server,
// this is what Plan.Release and Deletion.Untrack ask for.
func (p *Pod) Untrack() {
	p.Finalizers = slices.DeleteFunc(slices.Clone(p.Finalizers), func(f string) bool { return f == JobTrackingFinalizer })
}

func (p *Pod) Tracked() bool { return slices.Contains(p.Finalizers, JobTrackingFinalizer) }

// Finished reports whether the pod has reached its end.
func (p *Pod) Finished() bool {
	return p.Status.Phase == PodSucceeded || p.Status.Phase == PodFailed
}

// Sidecars are the names of the init containers that run beside the app
// containers; nil, which can be asked, if there are none.
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

// Condition returns the pod's first condition of that type, nil if it has none.
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

// Reason is the reason of a Job that the rule at index i fails.
func (r *PodFailurePolicyRule) Reason(i int) Reason {
	name := r.Name
	if name == "" {
		name = strconv.Itoa(i)
	}
	return JobReasonPodFailurePolicy + "_" + Reason(name)
}

// Seconds returns n seconds, at most those that a Duration holds. API fields count
// in whole seconds.
func Seconds(n int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Second)
	return time.Duration(min(max(n, -most), most)) * time.Second
}
