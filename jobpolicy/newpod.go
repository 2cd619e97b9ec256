package jobpolicy

import (
	"maps"
	"slices"
	"strconv"
)

// NewPod is a pod to create from the Job's template. Its ObjectMeta is complete
// but for the name: the template's labels and annotations, the Job's own, and
// the tracking finalizer. Of the template's specification a pod of an Indexed Job
// changes two things: the hostname, and JobCompletionIndexEnv with the index as
// its value in every container and init container that does not set it itself.
type NewPod struct {
	Index    int    // completion index, -1 for a NonIndexed Job
	Hostname string // <job>-<index>, whatever the template has; with its subdomain that is a DNS name. "": as in the template
	ObjectMeta
}

// newPod is a pod for the index, or for none if index is -1. The kept pod of the
// index, if there is one, says how often it has failed.
func (p *pass) newPod(index int, last *podView) NewPod {
	t := &p.spec.Template.ObjectMeta
	n := NewPod{Index: index, ObjectMeta: ObjectMeta{
		GenerateName: generateName(p.in.Job.Name, index),
		Namespace:    p.in.Job.Namespace,
		Labels:       maps.Clone(t.Labels),
		Annotations:  maps.Clone(t.Annotations),
		Finalizers:   slices.Clone(t.Finalizers),
	}}
	if !slices.Contains(n.Finalizers, JobTrackingFinalizer) {
		n.Finalizers = append(n.Finalizers, JobTrackingFinalizer)
	}
	if index < 0 {
		return n
	}
	if n.Labels == nil {
		n.Labels = make(map[string]string, 1)
	}
	if n.Annotations == nil {
		n.Annotations = make(map[string]string, 3)
	}
	text := strconv.Itoa(index)
	n.Hostname = p.in.Job.Name + "-" + text
	n.Labels[JobCompletionIndexAnnotation] = text
	n.Annotations[JobCompletionIndexAnnotation] = text
	if p.perIndex {
		failures, ignored := 0, 0
		if last != nil {
			failures, ignored = p.match(last).NextCounts(last.failures, last.ignored)
		}
		n.Annotations[JobIndexFailureCountAnnotation] = strconv.Itoa(failures)
		if ignored > 0 {
			n.Annotations[JobIndexIgnoredFailureCountAnnotation] = strconv.Itoa(ignored)
		}
	}
	return n
}

// Pod returns the pod, made of the specification of the Job's template, which is
// not written to. The caller names it.
func (n NewPod) Pod(spec PodSpec) *Pod {
	if n.Hostname != "" {
		spec.Hostname = n.Hostname
	}
	if n.Index >= 0 {
		index := EnvVar{Name: JobCompletionIndexEnv, Value: strconv.Itoa(n.Index)}
		spec.InitContainers = withEnv(spec.InitContainers, index)
		spec.Containers = withEnv(spec.Containers, index)
	}
	return &Pod{ObjectMeta: n.ObjectMeta, Spec: spec}
}

// withEnv returns the containers with the variable, where they do not set it.
func withEnv(containers []Container, variable EnvVar) []Container {
	containers = slices.Clone(containers)
	for i := range containers {
		c := &containers[i]
		if !slices.ContainsFunc(c.Env, func(v EnvVar) bool { return v.Name == variable.Name }) {
			c.Env = append(slices.Clip(c.Env), variable)
		}
	}
	return containers
}
