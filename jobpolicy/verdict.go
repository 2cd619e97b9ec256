package jobpolicy

import (
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// EndLimits are the numbers that end a Job. The zero value has no limits: it only ends a
// Job that has succeeded once and has no active pod.
type EndLimits struct {
	Completions           *int32 // successes after which the Job completes once no pod is active; nil: one
	BackoffLimit          *int32 // counted failures tolerated; nil: all. See Progress.Restarts
	MaxFailedIndexes      *int32 // failed indexes tolerated; nil: all
	ActiveDeadlineSeconds *int64 // time since the start at which the Job fails; nil: none
}

// Progress is what has happened to a Job so far. Its zero value is a Job that has
// just started.
type Progress struct {
	FailJob string // message of a pod that matched a FailJob rule, "" if none did
	Failed  int    // counted failures
	// Restarts is how often containers of unfinished pods were restarted in place, for a Job
	// whose pods have the restart policy OnFailure, otherwise 0. As in Kubernetes, as many
	// as a BackoffLimit above 0 already exceed it.
	Restarts      int
	Elapsed       time.Duration // since the start
	Succeeded     int           // successes; for an Indexed Job, succeeded indexes
	FailedIndexes int           // failed indexes; 0 without a limit per index
	SuccessPolicy string        // message of the success policy's rule that is met, "" if none is
	Active        int           // pods that are neither finished nor being deleted
}

// Verdict returns why a Job with these limits ends now, and the message of its
// condition, or "" if it goes on. Where several limits are reached the first in
// Kubernetes' order decides: PodFailurePolicy, BackoffLimitExceeded, DeadlineExceeded,
// MaxFailedIndexesExceeded, FailedIndexes, SuccessPolicy, CompletionsReached.
// The last two are successes.
func (l EndLimits) Verdict(t Progress) (reason batch.Reason, message string) {
	for _, end := range precedence {
		if end.reached(l, t) {
			return end.reason, end.message(t)
		}
	}
	return "", ""
}

// precedence is every end of a Job, the strongest first.
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
			return l.ActiveDeadlineSeconds != nil && *l.ActiveDeadlineSeconds <= mostSeconds && t.Elapsed >= batch.Seconds(*l.ActiveDeadlineSeconds)
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

// mostSeconds is how many seconds a Duration holds.
const mostSeconds = int64(1<<63-1) / int64(time.Second)
