package jobpolicy

import "time"

// NextCounts returns the failure counts for the replacement of a failed pod,
// from those of the pod and what the policy said of it: failures counts towards
// the limit per index, ignored does not. Negative counts are 0, and both
// saturate at 2^31-1, the most that the annotations hold (KEP-3850, "Tracking the
// number of failures per index").
func NextCounts(failures, ignored int, m Match) (int, int) {
	if m.Counted() {
		return addCounts(max(failures, 0), 1), max(ignored, 0)
	}
	return max(failures, 0), addCounts(max(ignored, 0), 1)
}

// maxCount is the highest failure count that an annotation holds.
const maxCount = 1<<31 - 1

// IndexFailed reports whether a failed pod fails its index for good: a FailIndex
// rule matched it, or it counts and its index had reached the limit before.
// failures is the number of counted failures before this one, so that a limit of
// 1 allows two runs. A nil limit is no limit per index, and no index fails then.
func IndexFailed(m Match, failures int, limit *int32) bool {
	switch {
	case limit == nil:
		return false
	case m.Action == PodFailurePolicyActionFailIndex:
		return true
	}
	return m.Counted() && failures >= int(*limit)
}

// Limits are the numbers that end a Job. Nil is no limit, so the zero value only
// ends a Job that has succeeded once and has no active pod.
type Limits struct {
	Completions           *int32 // successes wanted; nil: one, and no active pod left
	BackoffLimit          *int32 // counted failures tolerated
	MaxFailedIndexes      *int32 // failed indexes tolerated
	ActiveDeadlineSeconds *int64 // time since the start
}

// Tally is what has happened to a Job so far. Its zero value is a Job that has
// just started.
type Tally struct {
	FailJob       string        // message of a pod that matched a FailJob rule, "" if none did
	Failed        int           // counted failures
	Restarts      int           // container restarts of unfinished pods, where restarts in place count (OnFailure)
	Elapsed       time.Duration // since the start
	Succeeded     int           // successes; for an Indexed Job, succeeded indexes
	FailedIndexes int           // failed indexes; 0 without a limit per index
	SuccessPolicy string        // message of the success policy's rule that is met, "" if none is
	Active        int           // pods that are neither finished nor being deleted
}

// Verdict returns why a Job ends now, and the message of its condition, or "" if
// it goes on. Where several limits are reached the first in Kubernetes' order
// decides: PodFailurePolicy, BackoffLimitExceeded, DeadlineExceeded,
// MaxFailedIndexesExceeded, FailedIndexes, SuccessPolicy, CompletionsReached.
// The last two are successes.
func Verdict(l Limits, t Tally) (Reason, string) {
	for _, end := range precedence {
		if end.reached(l, t) {
			return end.reason, end.message(t)
		}
	}
	return "", ""
}

// Succeeded reports whether a Job that ended for this reason has succeeded.
func (r Reason) Succeeded() bool {
	return r == JobReasonSuccessPolicy || r == JobReasonCompletionsReached
}

// precedence is every end of a Job, the strongest first.
var precedence = [...]struct {
	reason  Reason
	message func(Tally) string
	reached func(Limits, Tally) bool
}{
	{JobReasonPodFailurePolicy,
		func(t Tally) string { return t.FailJob },
		func(l Limits, t Tally) bool { return t.FailJob != "" }},
	{JobReasonBackoffLimitExceeded,
		text("Job has reached the specified backoff limit"),
		func(l Limits, t Tally) bool {
			return l.BackoffLimit != nil && (t.Failed > int(*l.BackoffLimit) ||
				t.Restarts > 0 && t.Restarts >= int(*l.BackoffLimit))
		}},
	{JobReasonDeadlineExceeded,
		text("Job was active longer than specified deadline"),
		func(l Limits, t Tally) bool {
			return l.ActiveDeadlineSeconds != nil && *l.ActiveDeadlineSeconds <= mostSeconds && t.Elapsed >= seconds(*l.ActiveDeadlineSeconds)
		}},
	{JobReasonMaxFailedIndexesExceeded,
		text("Job has exceeded the specified maximal number of failed indexes"),
		func(l Limits, t Tally) bool {
			return l.MaxFailedIndexes != nil && t.FailedIndexes > int(*l.MaxFailedIndexes)
		}},
	{JobReasonFailedIndexes,
		text("Job has failed indexes"),
		func(l Limits, t Tally) bool {
			return l.Completions != nil && t.FailedIndexes > 0 && t.FailedIndexes >= int(*l.Completions)-t.Succeeded
		}},
	{JobReasonSuccessPolicy,
		func(t Tally) string { return t.SuccessPolicy },
		func(l Limits, t Tally) bool { return t.SuccessPolicy != "" }},
	{JobReasonCompletionsReached,
		text("Reached expected number of succeeded pods"),
		func(l Limits, t Tally) bool {
			if l.Completions == nil {
				return t.Succeeded > 0 && t.Active == 0
			}
			return t.Succeeded >= int(*l.Completions) && t.Active == 0
		}},
}

func text(s string) func(Tally) string { return func(Tally) string { return s } }
