package jobpolicy

import (
	"slices"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// observeUntracked marks the pods that have ended without the tracking finalizer
// and so count nothing, and notes them. A pod that was counted and released looks
// the same, so that there must be more of them than the status has counted. Which
// they are is only known if it has counted none. Left out are pods that may have
// been released while their index was scaled away, and pods that nobody wants: those
// that are being deleted, and all once the end of the Job is decided.
func (v *view) observeUntracked() (notes notes) {
	status := &v.in.Job.Status
	if progressOf(status).Ending {
		return nil
	}
	var succeeded, failed []*podView
	for _, p := range v.pods {
		switch {
		case p.tracked || p.counted || p.released || p.recorded != unrecorded || !p.inRange || !p.DeletionTimestamp.IsZero():
		case p.failed:
			failed = append(failed, p)
		case p.succeeded && !v.wasSucceeded.Contains(p.index) && !v.wasFailed.Contains(p.index):
			succeeded = append(succeeded, p)
		}
	}
	if len(failed) > int(status.Failed) {
		failed = slices.DeleteFunc(failed, func(p *podView) bool { return !p.match.Counted() })
	}
	report := func(how string, pods []*podView, counted int) {
		if len(pods) <= counted {
			return
		}
		notes.add("%d pods have %s without the finalizer %s and at most %d of them were counted, pod %s for one: see Pod.Track",
			len(pods), how, batch.JobTrackingFinalizer, counted, pods[0].Name)
		for _, p := range pods {
			p.untracked = counted == 0
		}
	}
	counted := int(status.Succeeded)
	if v.indexed {
		counted = 0 // those that were are in the index set
	}
	report("succeeded", succeeded, counted)
	report("failed", failed, int(status.Failed))
	return notes
}
