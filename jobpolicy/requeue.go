package jobpolicy

import "time"

// RequeueReason says why to plan again: RequeueDelay, RequeueBatch, RequeueDeadline or
// RequeueStaleJob. "" means that the plan waits for nothing.
type RequeueReason string

// The reasons for planning again after some time without a change.
const (
	RequeueDelay    RequeueReason = "Delay"    // the replacement of a failed pod is due
	RequeueBatch    RequeueReason = "Batch"    // like RequeueDelay, but postponed to MinRequeue to batch replacements
	RequeueDeadline RequeueReason = "Deadline" // activeDeadlineSeconds have passed
	RequeueStaleJob RequeueReason = "StaleJob" // the Job is older than the last written status; reread it or wait for an update
)

// requeue is when to plan again without a change; the zero value means never.
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

// requeueAfter returns when to plan again after a delay. It batches short delays.
func (e Engine) requeueAfter(delay time.Duration) requeue {
	switch least := e.minRequeue(); {
	case delay == 0:
		return requeue{}
	case delay < least:
		return requeue{least, RequeueBatch}
	}
	return requeue{delay, RequeueDelay}
}
