package jobpolicy

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// Creation is a pod to create from the Job's template. Its ObjectMeta is complete except
// for the name. For an Indexed Job, [Creation.Pod] also sets the pod's hostname, and adds
// the variable [batch.JobCompletionIndexEnv] to containers and init containers without it.
type Creation struct {
	Index int // completion index, -1 for a NonIndexed Job

	// Hostname is <job>-<index>. With the template's subdomain it gives the pod a DNS
	// name. "" keeps the template's hostname.
	Hostname string

	batch.ObjectMeta
}

// Pod returns the pod without modifying spec, the specification in the Job's template.
// The caller names the pod.
func (c Creation) Pod(spec batch.PodSpec) *batch.Pod {
	if c.Hostname != "" {
		spec.Hostname = c.Hostname
	}
	if c.Index >= 0 {
		index := batch.EnvVar{Name: batch.JobCompletionIndexEnv, Value: strconv.Itoa(c.Index)}
		spec.InitContainers = withEnv(spec.InitContainers, index)
		spec.Containers = withEnv(spec.Containers, index)
	}
	return &batch.Pod{ObjectMeta: c.ObjectMeta, Spec: spec}
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
	template := &job.Spec.Template.ObjectMeta
	c := Creation{Index: index, ObjectMeta: batch.ObjectMeta{
		GenerateName: generateName(job.Name, index),
		Namespace:    job.Namespace,
		Labels:       maps.Clone(template.Labels),
		Annotations:  maps.Clone(template.Annotations),
		Finalizers:   slices.Clone(template.Finalizers),
	}}
	if !slices.Contains(c.Finalizers, batch.JobTrackingFinalizer) {
		c.Finalizers = append(c.Finalizers, batch.JobTrackingFinalizer)
	}
	if index < 0 {
		return c
	}
	if c.Labels == nil {
		c.Labels = make(map[string]string, 1)
	}
	if c.Annotations == nil {
		c.Annotations = make(map[string]string, 3)
	}
	text := strconv.Itoa(index)
	c.Hostname = job.Name + "-" + text
	c.Labels[batch.JobCompletionIndexAnnotation] = text
	c.Annotations[batch.JobCompletionIndexAnnotation] = text
	return c
}

// generateName returns the name prefix for the pods of an index. It cuts the Job's name
// so that the index and the API server's suffix fit. Without an index the API server
// cuts the name itself.
func generateName(job string, index int) string {
	if index < 0 {
		return job + "-"
	}
	const longest = 58
	suffix := "-" + strconv.Itoa(index) + "-"
	return job[:min(len(job), longest-len(suffix))] + suffix
}

// creations returns the pods, up to n, that may be created now. A wait other than 0 is the
// time until another one may be created.
func (v *view) creations(n int, s State) (create []Creation, wait time.Duration) {
	if !v.perIndex {
		if wait = v.engine.jobWait(s, v.in.Now); wait > 0 {
			return nil, wait
		}
	}
	if !v.indexed {
		for range n {
			create = append(create, newCreation(v.in.Job, -1))
		}
		return create, 0
	}
	ready, wait := v.startable(n)
	for _, i := range ready {
		create = append(create, v.nextPod(i))
	}
	return create, wait
}

// nextPod returns the next pod of an index. With a limit per index, its annotations hold
// the number of failures of the index so far, that of its predecessor included.
func (v *view) nextPod(index int) Creation {
	c := newCreation(v.in.Job, index)
	if v.perIndex {
		failures, ignored := 0, 0
		if p := v.predecessor(index); p != nil {
			failures, ignored = p.match.NextCounts(p.failures, p.ignored)
		}
		c.SetFailureCounts(failures, ignored)
	}
	return c
}

// startable returns the pending indexes, up to n, that may start now. A wait other than 0
// is the time until another one may start.
func (v *view) startable(n int) (ready []int, wait time.Duration) {
	switch {
	case !v.perIndex:
		return v.pending(n, nil), 0
	case !v.engine.StartReadyIndexes:
		return readyIndexes(v.pending(n, nil), func(i int) time.Duration { return v.waitAfter(v.predecessor(i)) })
	}
	var waiting []int
	for _, p := range v.predecessors {
		if w := v.waitAfter(p); w > 0 {
			waiting = append(waiting, p.index)
			if wait == 0 || w < wait {
				wait = w
			}
		}
	}
	if ready = v.pending(n, waiting); len(ready) == n {
		wait = 0
	}
	return ready, wait
}

// readyIndexes returns those candidates, which are in ascending order, that need not
// wait. If every candidate has to wait, wait is the shortest of their waits.
func readyIndexes(candidates []int, waitOf func(index int) time.Duration) (ready []int, wait time.Duration) {
	for _, i := range candidates {
		switch w := waitOf(i); {
		case w == 0:
			ready = append(ready, i)
		case wait == 0 || w < wait:
			wait = w
		}
	}
	if len(ready) > 0 {
		wait = 0
	}
	return ready, wait
}

// pending returns the n lowest indexes that have not ended, have no active pod and are
// not in waiting. Where pods are only replaced after they have ended, an index with a
// terminating pod is not pending either.
func (v *view) pending(n int, waiting []int) []int {
	busy := slices.Clone(waiting)
	for _, p := range v.pods {
		if p.inRange && (p.active() || p.terminating() && v.replacesOnlyFailed()) {
			busy = append(busy, p.index)
		}
	}
	return v.succeeded.Union(v.failed).With(busy...).AppendAbsent(nil, n, v.completions())
}

// waitAfter returns how long the replacement of a predecessor waits. The first pod of an
// index has no predecessor and does not wait.
func (v *view) waitAfter(predecessor *podView) time.Duration {
	p := predecessor
	if p == nil {
		return 0
	}
	return v.engine.indexWait(p.failures, p.ignored, p.match, v.endOf(p), v.in.Now)
}
