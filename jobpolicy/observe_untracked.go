package jobpolicy

import (
	"slices"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// observeUntracked marks and notes the pods that ended without the tracking finalizer
// and so count nothing. Because counted and released pods look the same, it notes such
// pods only if they outnumber those counted in the status, and marks them only if that
// count is zero. It ignores pods that may have been released while their index was
// scaled away, pods being deleted, and all pods once the end of the Job is decided.
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
		notes.add("%d pods, such as %s, have %s without the finalizer %s, and at most %d of them were counted; see Pod.Track",
			len(pods), pods[0].Name, how, batch.JobTrackingFinalizer, counted)
		for _, p := range pods {
			p.untracked = counted == 0
		}
	}
	counted := int(status.Succeeded)
	if v.indexed {
		counted = 0 // the counted ones are in the index set
	}
	report("succeeded", succeeded, counted)
	report("failed", failed, int(status.Failed))
	return notes
}
