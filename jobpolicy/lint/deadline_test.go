package lint_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/restartkit/restart/internal/rapidseed"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/jobtest"
	"github.com/restartkit/restart/jobpolicy/lint"
)

// No Job with the finding uses up backoffLimit, nor an index its own limit, before the
// deadline, however its pods end. Some Jobs without the finding do.
func TestNoLimitIsReachedBeforeAReportedDeadline(t *testing.T) {
	found, reached := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		job := &batch.Job{ObjectMeta: batch.ObjectMeta{Name: "job", UID: "job"}, Spec: genJobWithDeadline(t)}
		reported := slices.ContainsFunc(lint.Check(&job.Spec), func(f lint.Finding) bool { return f.Kind == lint.KindDeadline })
		if reported {
			found++
		}
		for range 30 {
			switch isReached := reachesLimit(t, job); {
			case isReached && reported:
				t.Fatalf("%s reaches its limit", jsonText(job.Spec))
			case isReached:
				reached++
			}
		}
	})
	if t.Logf("%d Jobs with the finding, %d runs to the limit without it", found, reached); (found == 0 || reached == 0) && rapidseed.Fixed() {
		t.Error("one of the two was not tried")
	}
}

// genJobWithDeadline draws a small Job whose deadline may pass before its limit is reached.
func genJobWithDeadline(t *rapid.T) batch.JobSpec {
	s := batch.JobSpec{
		Parallelism:           pointerTo(rapid.Int32Range(1, 4).Draw(t, "parallelism")),
		BackoffLimit:          pointerTo(rapid.Int32Range(0, 8).Draw(t, "backoffLimit")),
		ActiveDeadlineSeconds: pointerTo(rapid.SampledFrom([]int64{5, 10, 11, 20, 21, 30, 31, 50, 70, 71, 90, 91, 150, 170, 330}).Draw(t, "activeDeadlineSeconds")),
	}
	s.Template.Spec.RestartPolicy = batch.RestartPolicyNever
	if completions := rapid.Int32Range(0, 5).Draw(t, "completions"); completions > 0 {
		s.Completions = &completions
		if rapid.Bool().Draw(t, "indexed") {
			s.CompletionMode = batch.IndexedCompletion
			if rapid.Bool().Draw(t, "per index") {
				s.BackoffLimitPerIndex = pointerTo(rapid.Int32Range(0, 4).Draw(t, "backoffLimitPerIndex"))
			}
		}
	}
	return s
}

// reachesLimit runs the Job with drawn ends of its pods. It reports whether the Job fails
// by backoffLimit, or an index by its own limit.
func reachesLimit(t *rapid.T, job *batch.Job) bool {
	cluster := jobtest.New(job)
	after := rapid.SampledFrom([]time.Duration{0, 0, 0, 10 * time.Millisecond, time.Second, 9 * time.Second, 10 * time.Second, time.Minute})
	codes := rapid.SampledFrom([]int32{1, 1, 1, 0})
	err := cluster.Run(func(*batch.Pod, int) jobtest.End {
		return jobtest.End{After: after.Draw(t, "after"), ExitCode: codes.Draw(t, "exit code")}
	})
	if err != nil {
		t.Fatal(err)
	}
	status := &cluster.Job.Status
	end, _ := status.Finished()
	return end.Reason == batch.JobReasonBackoffLimitExceeded || status.FailedIndexes != nil && *status.FailedIndexes != ""
}
