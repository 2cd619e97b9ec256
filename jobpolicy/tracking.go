package jobpolicy

import "slices"

// Track puts the tracking finalizer on the pod. Only the end of a pod that has it
// counts; NewPod's have it.
func (p *Pod) Track() {
	if !p.tracked() {
		p.Finalizers = append(slices.Clip(p.Finalizers), JobTrackingFinalizer)
	}
}

// Untrack takes the tracking finalizer off the pod, which is what Plan.Release
// asks for where there is no API server.
func (p *Pod) Untrack() {
	p.Finalizers = slices.DeleteFunc(slices.Clone(p.Finalizers), func(f string) bool { return f == JobTrackingFinalizer })
}

func (p *Pod) tracked() bool { return slices.Contains(p.Finalizers, JobTrackingFinalizer) }

// noticeUntracked finds the pods that have ended without the tracking finalizer
// and so count nothing. A pod that was counted and released looks the same:
// there must be more of them than the status has counted. Which they are is only
// known if it has counted none. Pods that are being deleted were not wanted.
func (p *pass) noticeUntracked() {
	if p.seen.Ending {
		return
	}
	var succeeded, failed []*podView
	for _, v := range p.pods {
		switch {
		case v.tracked || v.stale || v.recorded != unrecorded || p.reported[v.identity()] || !v.inRange || !v.DeletionTimestamp.IsZero():
		case v.failed:
			failed = append(failed, v)
		case v.succeeded && !p.wasSucceeded.Contains(v.index) && !p.wasFailed.Contains(v.index):
			succeeded = append(succeeded, v)
		}
	}
	if len(failed) > int(p.status.Failed) {
		failed = slices.DeleteFunc(failed, func(v *podView) bool { return !p.match(v).Counted() })
	}
	counted := int(p.status.Succeeded)
	if p.indexed {
		counted = 0 // those that were are in the index set
	}
	p.noteUntracked("succeeded", succeeded, counted)
	p.noteUntracked("failed", failed, int(p.status.Failed))
}

func (p *pass) noteUntracked(what string, pods []*podView, counted int) {
	if len(pods) <= counted {
		return
	}
	p.note("%d pods have %s without the finalizer %s and at most %d of them were counted, pod %s for one: see Pod.Track",
		len(pods), what, JobTrackingFinalizer, counted, pods[0].Name)
	for _, v := range pods {
		v.untracked = counted == 0
	}
}
