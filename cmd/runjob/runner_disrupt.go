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

// disruption is a request to terminate the pod of an index, as a node drain would, to
// try out the failure policy.
type disruption struct {
	index int // 0 stands for any pod of a NonIndexed Job
	after time.Duration
}

// disruptions is a repeatable flag.
type disruptions []disruption

func (d *disruptions) String() string { return "" }

// Set adds a disruption of the form INDEX@DELAY.
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

// check returns an error for an index out of the Job's range.
func (d disruptions) check(spec *batch.JobSpec) error {
	indexed := spec.CompletionMode == batch.IndexedCompletion
	for _, one := range d {
		switch {
		case indexed && one.index >= int(*spec.Completions):
			return fmt.Errorf("-disrupt: no index %d: the Job has %d, from 0 on", one.index, *spec.Completions)
		case !indexed && one.index > 0:
			return fmt.Errorf("-disrupt: no index %d: the Job is NonIndexed, so 0 stands for any of its pods", one.index)
		}
	}
	return nil
}

// disrupt deletes a running pod for each disruption that is due. It returns these pods
// and the time until the next disruption, or 0 for none. A disruption without a running
// pod stays due.
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
			return false // tried again when a pod changes
		}
		p.Status.Conditions = setCondition(p.Status.Conditions, drained(now))
		disrupted = append(disrupted, r.delete(jobpolicy.Deletion{PodRef: jobpolicy.PodRef{Name: p.Name, UID: p.UID}}, now))
		return true
	})
	return disrupted, next
}

// drained returns the condition of a pod on a drained node.
func drained(now time.Time) batch.PodCondition {
	return batch.PodCondition{
		Type: batch.DisruptionTarget, Status: batch.ConditionTrue, LastTransitionTime: now,
		Reason: batch.PodReasonEvictionByEvictionAPI, Message: "disrupted on demand",
	}
}

// runningPod returns the running pod of an index, or nil. Pods being deleted do not
// count.
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
