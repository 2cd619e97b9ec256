package jobpolicy

import (
	"maps"
	"slices"
	"strconv"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// Creation is a pod to create from the Job's template. Its ObjectMeta lacks only a
// name. For an Indexed Job, [Creation.Pod] also sets the Hostname, and adds
// JobCompletionIndexEnv to containers and init containers that lack it.
type Creation struct {
	Index int // completion index, -1 for a NonIndexed Job
	// Hostname is <job>-<index>, which forms a DNS name with the subdomain; "" keeps
	// the template's hostname.
	Hostname string
	batch.ObjectMeta
}

// Pod returns the pod without modifying spec, the specification in the Job's template.
// The caller names the pod.
func (n Creation) Pod(spec batch.PodSpec) *batch.Pod {
	if n.Hostname != "" {
		spec.Hostname = n.Hostname
	}
	if n.Index >= 0 {
		index := batch.EnvVar{Name: batch.JobCompletionIndexEnv, Value: strconv.Itoa(n.Index)}
		spec.InitContainers = withEnv(spec.InitContainers, index)
		spec.Containers = withEnv(spec.Containers, index)
	}
	return &batch.Pod{ObjectMeta: n.ObjectMeta, Spec: spec}
}

// withEnv returns the containers, with the variable added where it is not set.
func withEnv(containers []batch.Container, variable batch.EnvVar) []batch.Container {
	containers = slices.Clone(containers)
	for i := range containers {
		c := &containers[i]
		if !slices.ContainsFunc(c.Env, func(v batch.EnvVar) bool { return v.Name == variable.Name }) {
			c.Env = append(slices.Clip(c.Env), variable)
		}
	}
	return containers
}

// newCreation returns a pod of the Job for the index, or for a NonIndexed Job if index
// is -1.
func newCreation(job *batch.Job, index int) Creation {
	t := &job.Spec.Template.ObjectMeta
	n := Creation{Index: index, ObjectMeta: batch.ObjectMeta{
		GenerateName: generateName(job.Name, index),
		Namespace:    job.Namespace,
		Labels:       maps.Clone(t.Labels),
		Annotations:  maps.Clone(t.Annotations),
		Finalizers:   slices.Clone(t.Finalizers),
	}}
	if !slices.Contains(n.Finalizers, batch.JobTrackingFinalizer) {
		n.Finalizers = append(n.Finalizers, batch.JobTrackingFinalizer)
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
	n.Hostname = job.Name + "-" + text
	n.Labels[batch.JobCompletionIndexAnnotation] = text
	n.Annotations[batch.JobCompletionIndexAnnotation] = text
	return n
}

// generateName returns the name prefix for the pods of an index. It cuts the Job's name
// so that the index and the API server's suffix fit. Without an index the API server
// cuts it.
func generateName(job string, index int) string {
	if index < 0 {
		return job + "-"
	}
	const longest = 58
	suffix := "-" + strconv.Itoa(index) + "-"
	return job[:min(len(job), longest-len(suffix))] + suffix
}
