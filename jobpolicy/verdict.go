package jobpolicy

import (
	"time"

	"github.com/restartkit/restart/internal/seconds"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// EndLimits are the limits at which a Job ends.
type EndLimits struct {
	Completions           *int32 // successes that complete the Job once no pod is active; nil means one
	BackoffLimit          *int32 // counted failures tolerated; nil means all
	MaxFailedIndexes      *int32 // failed indexes tolerated; nil means all
	ActiveDeadlineSeconds *int64 // seconds after the start at which the Job fails; nil means never
}

// Progress is a Job's progress, for EndLimits.Verdict.
type Progress struct {
	FailJob string // Match.Message of a pod that matched a FailJob rule, or ""
	Failed  int    // counted failures
	// Restarts is the number of container restarts in unfinished pods under OnFailure,
	// otherwise 0. As in Kubernetes, the Job already fails when Restarts equals a
	// BackoffLimit above 0.
	Restarts      int
	Elapsed       time.Duration // since the start
	Succeeded     int           // succeeded pods, or indexes of an Indexed Job
	FailedIndexes int           // 0 without a limit per index
	SuccessPolicy string        // message of the success policy rule met, or ""
	Active        int           // pods neither finished nor being deleted
}

// Verdict returns why the Job ends now and the message of its condition, both "" if it
// goes on. The reasons take precedence in this order, as in Kubernetes:
// PodFailurePolicy, BackoffLimitExceeded, DeadlineExceeded, MaxFailedIndexesExceeded,
// FailedIndexes, SuccessPolicy, CompletionsReached. The last two are successes.
func (l EndLimits) Verdict(t Progress) (reason batch.Reason, message string) {
	for _, end := range precedence {
		if end.reached(l, t) {
			return end.reason, end.message(t)
		}
	}
	return "", ""
}

// precedence lists all ends of a Job, the strongest first.
var precedence = [...]struct {
	reason  batch.Reason
	message func(Progress) string
	reached func(EndLimits, Progress) bool
}{
	{batch.JobReasonPodFailurePolicy,
		func(t Progress) string { return t.FailJob },
		func(l EndLimits, t Progress) bool { return t.FailJob != "" }},
	{batch.JobReasonBackoffLimitExceeded,
		always("Job has reached the specified backoff limit"),
		func(l EndLimits, t Progress) bool {
			return l.BackoffLimit != nil && (t.Failed > int(*l.BackoffLimit) ||
				t.Restarts > 0 && t.Restarts >= int(*l.BackoffLimit))
		}},
	{batch.JobReasonDeadlineExceeded,
		always("Job was active longer than specified deadline"),
		func(l EndLimits, t Progress) bool {
			return l.ActiveDeadlineSeconds != nil && *l.ActiveDeadlineSeconds <= seconds.Max && t.Elapsed >= seconds.Duration(*l.ActiveDeadlineSeconds)
		}},
	{batch.JobReasonMaxFailedIndexesExceeded,
		always("Job has exceeded the specified maximal number of failed indexes"),
		func(l EndLimits, t Progress) bool {
			return l.MaxFailedIndexes != nil && t.FailedIndexes > int(*l.MaxFailedIndexes)
		}},
	{batch.JobReasonFailedIndexes,
		always("Job has failed indexes"),
		func(l EndLimits, t Progress) bool {
			return l.Completions != nil && t.FailedIndexes > 0 && t.FailedIndexes >= int(*l.Completions)-t.Succeeded
		}},
	{batch.JobReasonSuccessPolicy,
		func(t Progress) string { return t.SuccessPolicy },
		func(l EndLimits, t Progress) bool { return t.SuccessPolicy != "" }},
	{batch.JobReasonCompletionsReached,
		always("Reached expected number of succeeded pods"),
		func(l EndLimits, t Progress) bool {
			if l.Completions == nil {
				return t.Succeeded > 0 && t.Active == 0
			}
			return t.Succeeded >= int(*l.Completions) && t.Active == 0
		}},
}

func always(s string) func(Progress) string { return func(Progress) string { return s } }
