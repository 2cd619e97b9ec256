package jobpolicy

import (
	"cmp"
	"time"
)

// compareProgress orders active pods by how far they have come: the least loss
// first.
func compareProgress(a, b *podView) int {
	return cmp.Or(
		compareBool(a.Spec.NodeName != "", b.Spec.NodeName != ""),
		cmp.Compare(phaseRank(a.Status.Phase), phaseRank(b.Status.Phase)),
		compareBool(a.ready(), b.ready()),
		compareSince(a.readySince(), b.readySince()),
		compareRestarts(a.Pod, b.Pod),
		compareSince(a.CreationTimestamp, b.CreationTimestamp),
	)
}

func phaseRank(phase PodPhase) int {
	switch phase {
	case PodUnknown:
		return 1
	case PodRunning:
		return 2
	}
	return 0
}

// readySince is when a ready pod became ready; zero if it is not, or nobody knows.
func (v *podView) readySince() time.Time {
	if c := v.condition(PodReady); c != nil && c.Status == ConditionTrue {
		return c.LastTransitionTime
	}
	return time.Time{}
}

// compareSince orders an unknown time first, then the later one: it has lasted
// shorter.
func compareSince(a, b time.Time) int {
	return cmp.Or(compareBool(!a.IsZero(), !b.IsZero()), b.Compare(a))
}

// compareRestarts orders the pod whose worst container restarted more often
// first; sidecars are compared where the others are equal.
func compareRestarts(a, b *Pod) int {
	worst := func(pod *Pod) (app, sidecar int32) {
		for i := range pod.Status.ContainerStatuses {
			app = max(app, pod.Status.ContainerStatuses[i].RestartCount)
		}
		for i := range pod.Status.InitContainerStatuses {
			if c := &pod.Status.InitContainerStatuses[i]; pod.Spec.isSidecar(c.Name) {
				sidecar = max(sidecar, c.RestartCount)
			}
		}
		return app, sidecar
	}
	appA, sidecarA := worst(a)
	appB, sidecarB := worst(b)
	return cmp.Or(cmp.Compare(appB, appA), cmp.Compare(sidecarB, sidecarA))
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
