package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// disruption is the request to terminate the pod of an index, as a node drain would, to
// try the failure policy.
type disruption struct {
	index int // for a NonIndexed Job any pod will do
	after time.Duration
}

// disruptions are a repeatable flag.
type disruptions []disruption

func (d *disruptions) String() string { return "" }

// Set takes INDEX@DELAY.
func (d *disruptions) Set(text string) error {
	index, after, ok := strings.Cut(text, "@")
	i, errIndex := strconv.Atoi(index)
	delay, errDelay := time.ParseDuration(after)
	if !ok || errIndex != nil || errDelay != nil || i < 0 || delay < 0 {
		return errors.New("must be INDEX@DELAY, as in 3@500ms")
	}
	*d = append(*d, disruption{i, delay})
	return nil
}

// check returns an error for an index that the Job does not have.
func (d disruptions) check(spec *batch.JobSpec) error {
	indexed := spec.CompletionMode == batch.IndexedCompletion
	for _, one := range d {
		switch {
		case indexed && one.index >= int(*spec.Completions):
			return fmt.Errorf("-disrupt: there is no index %d, the Job has %d from 0 on", one.index, *spec.Completions)
		case !indexed && one.index > 0:
			return fmt.Errorf("-disrupt: there is no index %d, the Job is NonIndexed: 0 stands for any of its pods", one.index)
		}
	}
	return nil
}

// disrupt marks the pods of the disruptions that are due, each as soon as its pod
// runs. It returns these pods, and the time until the next disruption, 0 if there is
// none.
func (r *runner) disrupt(now time.Time) (disrupted []*pod, next time.Duration) {
	r.disruptions = slices.DeleteFunc(r.disruptions, func(d disruption) bool {
		if wait := d.after - now.Sub(r.begun); wait > 0 {
			if next == 0 || wait < next {
				next = wait
			}
			return false
		}
		p := r.runningPod(d.index)
		if p == nil {
			return false // the next change of a pod asks again
		}
		p.Status.Conditions = setCondition(p.Status.Conditions, drained(now))
		disrupted = append(disrupted, r.delete(jobpolicy.Deletion{PodRef: jobpolicy.PodRef{Name: p.Name, UID: p.UID}}, now))
		return true
	})
	return disrupted, next
}

// drained is the condition of a pod whose node is drained.
func drained(now time.Time) batch.PodCondition {
	return batch.PodCondition{
		Type: batch.DisruptionTarget, Status: batch.ConditionTrue, LastTransitionTime: now,
		Reason: batch.PodReasonEvictionByEvictionAPI, Message: "disrupted on demand",
	}
}

// runningPod returns a pod of that index that runs and is not being deleted, or nil.
func (r *runner) runningPod(index int) *pod {
	var found *pod
	for _, p := range r.pods {
		if (p.index == index || p.index < 0) && p.Status.Phase == batch.PodRunning && p.DeletionTimestamp.IsZero() {
			if found == nil || p.attempt < found.attempt {
				found = p
			}
		}
	}
	return found
}
