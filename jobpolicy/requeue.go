package jobpolicy

import "time"

// RequeueReason says what a plan waits for: RequeueDelay, RequeueBatch,
// RequeueDeadline or RequeueStaleJob; "" is nothing.
type RequeueReason string

// Why to plan again after some time, though nothing changes.
const (
	RequeueDelay    RequeueReason = "Delay"    // the replacement of a failed pod is due
	RequeueBatch    RequeueReason = "Batch"    // the same, put off to MinRequeue so that others may join it
	RequeueDeadline RequeueReason = "Deadline" // activeDeadlineSeconds are over
	RequeueStaleJob RequeueReason = "StaleJob" // the Job is older than what was written; read it anew, or wait for it
)

// requeue is when to plan again though nothing changes; the zero value is never.
type requeue struct {
	after  time.Duration
	reason RequeueReason
}

// or returns the earlier of the two.
func (r requeue) or(s requeue) requeue {
	if s.reason == "" || r.reason != "" && r.after <= s.after {
		return r
	}
	return s
}

// requeueAfter is when to plan again after a delay; short delays are batched.
func (e Engine) requeueAfter(delay time.Duration) requeue {
	switch least := e.minRequeue(); {
	case delay == 0:
		return requeue{}
	case delay < least:
		return requeue{least, RequeueBatch}
	}
	return requeue{delay, RequeueDelay}
}
