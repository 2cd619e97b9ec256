package batch_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/rapidseed"
	"github.com/restartkit/restart/jobpolicy/batch"
	"pgregory.net/rapid"
)

// modelValidateStatus is the model of the API server's checks of a status, in order.
func modelValidateStatus(j *batch.Job) field.Errors {
	var errs field.Errors
	s := j.Status
	check := func(ok bool, t field.Type, name string) {
		if !ok {
			errs = append(errs, field.Error{Field: "status." + name, Type: t})
		}
	}
	is := func(t batch.JobConditionType) bool {
		return slices.ContainsFunc(s.Conditions, func(c batch.JobCondition) bool { return c.Type == t && c.Status == "True" })
	}
	check(s.Active >= 0, field.Invalid, "active")
	check(s.Succeeded >= 0, field.Invalid, "succeeded")
	check(s.Failed >= 0, field.Invalid, "failed")
	check(numberOr(s.Ready, 0) >= 0, field.Invalid, "ready")
	check(numberOr(s.Terminating, 0) >= 0, field.Invalid, "terminating")
	var uncounted batch.UncountedTerminatedPods
	if s.UncountedTerminatedPods != nil {
		uncounted = *s.UncountedTerminatedPods
	}
	all := slices.Concat(uncounted.Succeeded, uncounted.Failed)
	for i, uid := range all {
		path := fmt.Sprintf("uncountedTerminatedPods.succeeded[%d]", i)
		if k := i - len(uncounted.Succeeded); k >= 0 {
			path = fmt.Sprintf("uncountedTerminatedPods.failed[%d]", k)
		}
		check(uid != "", field.Invalid, path)
		check(uid == "" || !slices.Contains(all[:i], uid), field.Duplicate, path)
	}
	complete, failed, met, target := is("Complete"), is("Failed"), is("SuccessCriteriaMet"), is("FailureTarget")
	finished := complete || failed
	check(!complete || !failed, field.Invalid, "conditions")
	check(!complete || !target, field.Invalid, "conditions")
	check(s.CompletionTime.IsZero() || complete, field.Invalid, "completionTime")
	check(!s.CompletionTime.IsZero() || !complete, field.Required, "completionTime")
	check(s.StartTime.IsZero() || s.CompletionTime.IsZero() || !s.CompletionTime.Before(s.StartTime), field.Invalid, "completionTime")
	check(!failed || target, field.Invalid, "conditions")
	check(!complete || met, field.Invalid, "conditions")
	check(s.Active <= 0 || !finished, field.Invalid, "active")
	check(!s.StartTime.IsZero() || !finished || j.Spec.Suspend && numberOr(j.Spec.Completions, 1) == 0, field.Required, "startTime")
	check(!finished || len(all) == 0, field.Invalid, "uncountedTerminatedPods")
	completions := j.Spec.Completions
	if completions != nil {
		_, ok := modelIndexes(s.CompletedIndexes, int(*completions))
		check(ok, field.Invalid, "completedIndexes")
	}
	if completions != nil && j.Spec.BackoffLimitPerIndex != nil && s.FailedIndexes != nil {
		_, ok := modelIndexes(*s.FailedIndexes, int(*completions))
		check(ok, field.Invalid, "failedIndexes")
	}
	check(s.CompletedIndexes == "" || j.Spec.CompletionMode == "Indexed", field.Invalid, "completedIndexes")
	check(s.FailedIndexes == nil || j.Spec.BackoffLimitPerIndex != nil, field.Invalid, "failedIndexes")
	if completions != nil && s.FailedIndexes != nil {
		check(!modelOverlap(s.CompletedIndexes, *s.FailedIndexes, int(*completions)), field.Invalid, "failedIndexes")
	}
	check(numberOr(s.Terminating, 0) <= 0 || !finished, field.Invalid, "terminating")
	check(s.Ready == nil || *s.Ready <= s.Active, field.Invalid, "ready")
	check(!met || !failed, field.Invalid, "conditions")
	check(!met || !target, field.Invalid, "conditions")
	check(j.Spec.SuccessPolicy == nil || met || !complete, field.Invalid, "conditions")
	return errs
}

// modelOverlap compares two lists of intervals and advances in the one that begins
// first.
func modelOverlap(completed, failed string, completions int) bool {
	read := func(text string) (intervals [][2]int) {
		for part := range strings.SplitSeq(text, ",") {
			if total, ok := modelIndexes(part, completions); ok && total > 0 {
				first, last, isInterval := strings.Cut(part, "-")
				if !isInterval {
					last = first
				}
				intervals = append(intervals, [2]int{number(first), number(last)})
			}
		}
		return intervals
	}
	for c, f := read(completed), read(failed); len(c) > 0 && len(f) > 0; {
		if c[0][0] <= f[0][1] && f[0][0] <= c[0][1] {
			return true
		}
		if c[0][0] <= f[0][0] {
			c = c[1:]
		} else {
			f = f[1:]
		}
	}
	return false
}

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		panic(err)
	}
	return n
}

func TestValidateStatusAgreesWithModel(t *testing.T) {
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	valid, invalid := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		for range 5 {
			j := genStatus(t, base)
			err := j.ValidateStatus()
			if err == nil {
				valid++
			} else {
				invalid++
			}
			compareMistakes(t, err, modelValidateStatus(j))
		}
	})
	if t.Logf("%d valid, %d not", valid, invalid); rapidseed.Fixed() && (valid == 0 || invalid == 0) {
		t.Error("only one of both was tried")
	}
}

func genStatus(t *rapid.T, base time.Time) *batch.Job {
	g := specGen{t, rapid.Bool().Draw(t, "tame")}
	j := &batch.Job{Spec: *g.spec()}
	if rapid.Bool().Draw(t, "indexed") {
		j.Spec.CompletionMode, j.Spec.Completions, j.Spec.BackoffLimitPerIndex = batch.IndexedCompletion, ptr[int32](12), ptr[int32](1)
	}
	counts := func(label string) int32 { return pick(g, label, []int32{0, 1, 2}, []int32{-1}) }
	s := &j.Status
	s.Active, s.Succeeded, s.Failed = counts("active"), counts("succeeded"), counts("failed")
	for _, p := range []**int32{&s.Ready, &s.Terminating} {
		if g.chance("count", 3) {
			*p = ptr(counts("count"))
		}
	}
	for _, at := range []*time.Time{&s.StartTime, &s.CompletionTime} {
		if g.chance("time", 2) {
			*at = base.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "time")) * time.Second)
		}
	}
	for _, c := range []batch.JobConditionType{batch.JobComplete, batch.JobFailed, batch.JobSuccessCriteriaMet, batch.JobFailureTarget, batch.JobSuspended} {
		if g.chance(string(c), 3) {
			s.Conditions = append(s.Conditions, batch.JobCondition{Type: c, Status: pick(g, "status", []batch.ConditionStatus{batch.ConditionTrue}, []batch.ConditionStatus{batch.ConditionFalse, ""})})
		}
	}
	if g.chance("uncounted", 3) {
		uid := rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e"})
		s.UncountedTerminatedPods = &batch.UncountedTerminatedPods{
			Succeeded: rapid.SliceOfN(uid, 0, 2).Draw(t, "succeeded"),
			Failed:    rapid.SliceOfN(uid, 0, 2).Draw(t, "failed"),
		}
	}
	if g.chance("completed", 2) {
		s.CompletedIndexes = g.indexText()
	}
	if g.chance("failed", 2) {
		s.FailedIndexes = ptr(g.indexText())
	}
	return j
}

// The statuses that a Job controller writes in the course of a run are valid.
func TestStatusesOfARunAreValid(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	j := &batch.Job{Spec: *validSpec()}
	j.Spec.CompletionMode, j.Spec.Completions, j.Spec.BackoffLimitPerIndex = batch.IndexedCompletion, ptr[int32](4), ptr[int32](0)
	steps := []func(s *batch.JobStatus){
		func(*batch.JobStatus) {},
		func(s *batch.JobStatus) {
			s.StartTime, s.Active, s.Ready, s.Terminating = start, 4, ptr[int32](4), ptr[int32](0)
		},
		func(s *batch.JobStatus) {
			s.Active, s.Ready = 2, ptr[int32](2)
			s.CompletedIndexes, s.FailedIndexes = "0", ptr("2")
			s.UncountedTerminatedPods = &batch.UncountedTerminatedPods{Succeeded: []string{"a"}, Failed: []string{"b"}}
		},
		func(s *batch.JobStatus) { s.Succeeded, s.Failed, s.UncountedTerminatedPods = 1, 1, nil },
		func(s *batch.JobStatus) {
			s.Conditions = []batch.JobCondition{{Type: batch.JobFailureTarget, Status: batch.ConditionTrue}}
			s.Active, s.Ready, s.Terminating = 0, ptr[int32](0), ptr[int32](2)
		},
		func(s *batch.JobStatus) {
			s.Conditions = append(s.Conditions, batch.JobCondition{Type: batch.JobFailed, Status: batch.ConditionTrue})
			s.Terminating, s.Failed = ptr[int32](0), 3
		},
	}
	for i, step := range steps {
		step(&j.Status)
		if err := j.ValidateStatus(); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	}
	j.Status.FailedIndexes = ptr("0,2")
	err := j.ValidateStatus()
	want := field.Errors{{Field: "status.failedIndexes", Type: field.Invalid, Value: "0,2", Detail: "index 0 is in completedIndexes too"}}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Errorf("an index that succeeded and failed (-want +got):\n%s", diff)
	}
}
