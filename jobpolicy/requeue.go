package jobpolicy

import "time"

// RequeueReason says why to plan again even without a change. "" means no reason.
type RequeueReason string

// The reasons for planning again.
const (
	RequeueDelay    RequeueReason = "Delay"    // the replacement of a failed pod is due
	RequeueBatch    RequeueReason = "Batch"    // like RequeueDelay, postponed to MinRequeue
	RequeueDeadline RequeueReason = "Deadline" // activeDeadlineSeconds have passed
	RequeueStaleJob RequeueReason = "StaleJob" // the Job is older than the last written status; reread it or wait
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
