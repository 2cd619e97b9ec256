package batch

import (
	"fmt"
	"strings"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/count"
)

// ValidateStatus returns all mistakes that the API server finds in the Job's status if
// every field of it is new, as field.Errors, or nil. After a change of the specification,
// such as lowered completions, a status may have mistakes until the controller has
// updated it.
func (j *Job) ValidateStatus() error {
	var errs field.Errors
	if j == nil {
		errs.Add(field.Required, "status", nil, "the Job is nil")
		return errs
	}
	s := &j.Status
	count.CheckStatus(&errs, &s.Active, &s.Succeeded, &s.Failed, s.Ready, s.Terminating)
	s.validateUncounted(&errs)
	j.validateEnd(&errs)
	j.validateIndexes(&errs)
	j.validateConditions(&errs)
	return errs.Err()
}

// validateUncounted checks that UIDs are not empty and occur only once in both lists.
func (s *JobStatus) validateUncounted(errs *field.Errors) {
	if s.UncountedTerminatedPods == nil {
		return
	}
	seen := map[string]struct{}{}
	check := func(name string, uids []string) {
		for i, uid := range uids {
			path := func() string { return fmt.Sprintf("status.uncountedTerminatedPods.%s[%d]", name, i) }
			if _, ok := seen[uid]; uid == "" {
				errs.Add(field.Invalid, path(), nil, "must not be empty")
			} else if ok {
				errs.Add(field.Duplicate, path(), uid, "")
			}
			seen[uid] = struct{}{}
		}
	}
	check("succeeded", s.UncountedTerminatedPods.Succeeded)
	check("failed", s.UncountedTerminatedPods.Failed)
}

// validateEnd checks the fields that a finished Job must or must not have.
func (j *Job) validateEnd(errs *field.Errors) {
	s := &j.Status
	complete, failed := s.HasCondition(JobComplete), s.HasCondition(JobFailed)
	finished := complete || failed
	const conditions = "status.conditions"
	if complete && failed {
		errs.Add(field.Invalid, conditions, nil, "Complete and Failed exclude each other")
	}
	if complete && s.HasCondition(JobFailureTarget) {
		errs.Add(field.Invalid, conditions, nil, "Complete and FailureTarget exclude each other")
	}
	if !s.CompletionTime.IsZero() && !complete {
		errs.Add(field.Invalid, "status.completionTime", s.CompletionTime, "only a Complete Job has one")
	}
	if s.CompletionTime.IsZero() && complete {
		errs.Add(field.Required, "status.completionTime", nil, "a Complete Job has one")
	}
	if !s.StartTime.IsZero() && !s.CompletionTime.IsZero() && s.CompletionTime.Before(s.StartTime) {
		errs.Add(field.Invalid, "status.completionTime", s.CompletionTime, "must not be before startTime")
	}
	if failed && !s.HasCondition(JobFailureTarget) {
		errs.Add(field.Invalid, conditions, nil, "Failed comes after FailureTarget")
	}
	if complete && !s.HasCondition(JobSuccessCriteriaMet) {
		errs.Add(field.Invalid, conditions, nil, "Complete comes after SuccessCriteriaMet")
	}
	if s.Active > 0 && finished {
		errs.Add(field.Invalid, "status.active", s.Active, "a finished Job has none")
	}
	neverStarts := j.Spec.Suspend && j.Spec.Completions != nil && *j.Spec.Completions == 0
	if s.StartTime.IsZero() && finished && !neverStarts {
		errs.Add(field.Required, "status.startTime", nil, "a finished Job has one")
	}
	if u := s.UncountedTerminatedPods; finished && u != nil && len(u.Succeeded)+len(u.Failed) > 0 {
		errs.Add(field.Invalid, "status.uncountedTerminatedPods", nil, "a finished Job has none")
	}
}

// validateIndexes checks that the index texts are well formed, allowed, and disjoint.
func (j *Job) validateIndexes(errs *field.Errors) {
	s, spec := &j.Status, &j.Spec
	const completed, failed = "status.completedIndexes", "status.failedIndexes"
	if spec.Completions != nil {
		if _, mistake := checkIndexes(s.CompletedIndexes, *spec.Completions); mistake != "" {
			errs.Add(field.Invalid, completed, s.CompletedIndexes, mistake)
		}
	}
	if spec.Completions != nil && spec.BackoffLimitPerIndex != nil && s.FailedIndexes != nil {
		if _, mistake := checkIndexes(*s.FailedIndexes, *spec.Completions); mistake != "" {
			errs.Add(field.Invalid, failed, *s.FailedIndexes, mistake)
		}
	}
	if s.CompletedIndexes != "" && spec.CompletionMode != IndexedCompletion {
		errs.Add(field.Invalid, completed, s.CompletedIndexes, "only an Indexed Job has any")
	}
	if s.FailedIndexes == nil {
		return
	}
	if spec.BackoffLimitPerIndex == nil {
		errs.Add(field.Invalid, failed, *s.FailedIndexes, "only a Job with backoffLimitPerIndex has any")
	}
	if spec.Completions != nil {
		if i, ok := overlapAt(s.CompletedIndexes, *s.FailedIndexes, *spec.Completions); ok {
			errs.Add(field.Invalid, failed, *s.FailedIndexes, fmt.Sprintf("index %d is in completedIndexes too", i))
		}
	}
}

// validateConditions checks the conditions against each other and the numbers of pods.
func (j *Job) validateConditions(errs *field.Errors) {
	s := &j.Status
	finished := s.HasCondition(JobComplete) || s.HasCondition(JobFailed)
	if s.Terminating != nil && *s.Terminating > 0 && finished {
		errs.Add(field.Invalid, "status.terminating", *s.Terminating, "a finished Job has none")
	}
	if s.Ready != nil && *s.Ready > s.Active {
		errs.Add(field.Invalid, "status.ready", *s.Ready, "must not be above active")
	}
	const conditions = "status.conditions"
	met := s.HasCondition(JobSuccessCriteriaMet)
	if met && s.HasCondition(JobFailed) {
		errs.Add(field.Invalid, conditions, nil, "SuccessCriteriaMet and Failed exclude each other")
	}
	if met && s.HasCondition(JobFailureTarget) {
		errs.Add(field.Invalid, conditions, nil, "SuccessCriteriaMet and FailureTarget exclude each other")
	}
	if j.Spec.SuccessPolicy != nil && !met && s.HasCondition(JobComplete) {
		errs.Add(field.Invalid, conditions, nil, "with a successPolicy, Complete comes after SuccessCriteriaMet")
	}
}

// overlapAt returns the first index in both of two ascending lists of intervals. It
// skips invalid intervals. Like the API server, which reports lists out of order
// anyway, it may miss an index in such a list.
func overlapAt(completed, failed string, completions int32) (index int32, ok bool) {
	c, f := intervalCursor{rest: completed, completions: completions}, intervalCursor{rest: failed, completions: completions}
	for more := c.next() && f.next(); more; {
		if c.first <= f.last && f.first <= c.last {
			return max(c.first, f.first), true
		}
		if c.first <= f.first {
			more = c.next()
		} else {
			more = f.next()
		}
	}
	return 0, false
}

// intervalCursor iterates over the valid intervals of an index text.
type intervalCursor struct {
	rest        string
	ended       bool
	completions int32
	first, last int32
}

// next advances to the next interval and reports whether one remains.
func (c *intervalCursor) next() bool {
	for !c.ended {
		part, rest, more := strings.Cut(c.rest, ",")
		c.rest, c.ended = rest, !more
		var mistake string
		if c.first, c.last, mistake = checkInterval(part, c.completions); mistake == "" {
			return true
		}
	}
	return false
}
