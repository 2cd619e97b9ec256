package jobpolicy

import (
	"fmt"
	"slices"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/count"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// observe builds the view. It returns field.Errors for a Job or a pod that allows no
// sensible decision.
func observe(e Engine, in Input) (*view, error) {
	in.State = in.State.of(in.Job)
	v := &view{engine: e, in: in, spec: in.Job.Spec, startTime: in.Job.Status.StartTime}
	v.spec.Default()
	v.indexed = v.spec.CompletionMode == batch.IndexedCompletion
	v.perIndex = v.indexed && v.spec.BackoffLimitPerIndex != nil
	known := newKnown(in)
	if err := v.validate(known); err != nil {
		return nil, err
	}
	if v.startTime.IsZero() && !v.spec.Suspend {
		v.startTime = in.Now
	}
	var podNotes, indexNotes, ageNotes, trackingNotes notes
	var err error
	if v.pods, podNotes, err = v.observePods(known); err != nil {
		return nil, err
	}
	if v.indexed {
		v.indexes, indexNotes = v.observeIndexes()
	}
	v.olderFor, v.in.State.Behind, ageNotes = v.observeAge()
	if v.olderFor == 0 {
		trackingNotes = v.observeUntracked()
		v.podCounts = v.count(known)
	}
	v.notes = slices.Concat(podNotes, indexNotes, ageNotes, trackingNotes)
	return v, nil
}

// validate returns field.Errors for an impossible status and for an Indexed Job without
// completions.
func (v *view) validate(known known) error {
	var errs field.Errors
	if v.indexed && v.spec.Completions == nil {
		errs.Add(field.Required, "spec.completions", nil, "an Indexed Job needs it")
	}
	s := &v.in.Job.Status
	count.CheckStatus(&errs, &s.Active, &s.Succeeded, &s.Failed, s.Ready, s.Terminating)
	if u := s.UncountedTerminatedPods; u != nil {
		for i, uid := range u.Failed {
			if known.uncountedSucceeded[uid] {
				errs.Add(field.Duplicate, fmt.Sprintf("status.uncountedTerminatedPods.failed[%d]", i), uid, "the pod has succeeded, too")
			}
		}
	}
	return errs.Err()
}

// count adds up the pods, including those recorded or counted in the status.
func (v *view) count(known known) (c podCounts) {
	succeeded, failed := len(known.uncountedSucceeded), len(known.uncountedFailed)
	for _, p := range v.pods {
		switch {
		case p.active:
			c.active++
			if p.Ready() {
				c.ready++
			}
		case p.terminating:
			c.terminating++
		}
		if p.endIsNew() {
			c.ended++
		}
		switch {
		case !p.newlyEnded():
		case p.succeeded:
			succeeded++
		case p.match.Counted():
			failed++
		}
	}
	c.succeededPods = addCounts(int(v.in.Job.Status.Succeeded), succeeded)
	c.failedPods = addCounts(int(v.in.Job.Status.Failed), failed)
	if v.indexed {
		c.succeededPods = v.succeeded.Len()
	}
	return c
}
