package jobpolicy

import (
	"cmp"
	"time"
)

// rank is what tells active pods apart by how far they have come.
type rank struct {
	scheduled         bool
	phase             int
	ready             bool
	readySince        time.Time // zero: it is not ready, or nobody knows
	restarts, sidecar int32     // of the worst container, and of the worst sidecar
	created           time.Time
}

// compareProgress orders active pods by how far they have come: the least loss
// first.
func compareProgress(v, w *podView) int {
	a, b := v.ranked(), w.ranked()
	return cmp.Or(
		compareBool(a.scheduled, b.scheduled),
		cmp.Compare(a.phase, b.phase),
		compareBool(a.ready, b.ready),
		compareSince(a.readySince, b.readySince),
		cmp.Compare(b.restarts, a.restarts),
		cmp.Compare(b.sidecar, a.sidecar), // only where the others are equal
		compareSince(a.created, b.created),
	)
}

// ranked works the pod's rank out once, however often it is compared.
func (v *podView) ranked() *rank {
	if v.rank != nil {
		return v.rank
	}
	v.rank = &rank{
		scheduled: v.Spec.NodeName != "",
		phase:     phaseRank(v.Status.Phase),
		ready:     v.ready(),
		created:   v.CreationTimestamp,
	}
	if v.rank.ready {
		v.rank.readySince = v.condition(PodReady).LastTransitionTime
	}
	for i := range v.Status.ContainerStatuses {
		v.rank.restarts = max(v.rank.restarts, v.Status.ContainerStatuses[i].RestartCount)
	}
	sidecars := v.Spec.sidecars()
	for i := range v.Status.InitContainerStatuses {
		if c := &v.Status.InitContainerStatuses[i]; sidecars[c.Name] {
			v.rank.sidecar = max(v.rank.sidecar, c.RestartCount)
		}
	}
	return v.rank
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

// compareSince orders an unknown time first, then the later one: it has lasted
// shorter.
func compareSince(a, b time.Time) int {
	return cmp.Or(compareBool(!a.IsZero(), !b.IsZero()), b.Compare(a))
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
