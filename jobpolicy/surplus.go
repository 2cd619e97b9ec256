package jobpolicy

import (
	"cmp"
	"slices"
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// surplus returns the active pods to remove. In an Indexed Job, these are all but one pod
// of each index, and all pods whose index is not one of the Job's. If they are fewer than
// atLeast, surplus adds the pods with the least progress to reach that number.
func (v *view) surplus(atLeast int) []*podView {
	active := v.activePods()
	var remove []*podView
	if v.indexed {
		remove, active = duplicates(active)
	}
	if short := atLeast - len(remove); short > 0 {
		sortByProgress(active)
		remove = append(remove, active[:min(short, len(active))]...)
	}
	return remove
}

func (v *view) activePods() []*podView {
	active := make([]*podView, 0, v.active)
	for _, p := range v.pods {
		if p.active() {
			active = append(active, p)
		}
	}
	return active
}

// duplicates splits active pods, ordered by index, into those to remove and those to
// keep. It keeps the pod with the most progress for each of the Job's indexes.
func duplicates(active []*podView) (remove, keep []*podView) {
	for len(active) > 0 {
		var same []*podView
		same, active = sameIndex(active)
		if same[0].inRange {
			sortByProgress(same)
			keep = append(keep, same[len(same)-1])
			same = same[:len(same)-1]
		}
		remove = append(remove, same...)
	}
	return remove, keep
}

// sortByProgress orders active pods by progress, ascending.
func sortByProgress(pods []*podView) {
	if len(pods) < 2 {
		return
	}
	ranked := make([]rank, len(pods))
	for i, p := range pods {
		ranked[i] = newRank(p)
	}
	slices.SortStableFunc(ranked, rank.compare)
	for i := range ranked {
		pods[i] = ranked[i].pod
	}
}

// rank is the progress of an active pod.
type rank struct {
	pod               *podView
	scheduled         bool
	phase             int
	ready             bool
	readySince        time.Time // zero if not ready or unknown
	restarts, sidecar int32     // of the worst container, and of the worst sidecar
	created           time.Time
}

func newRank(p *podView) rank {
	r := rank{
		pod:       p,
		scheduled: p.Spec.NodeName != "",
		phase:     max(slices.Index(phasesByProgress, p.Status.Phase), 0),
		ready:     p.Ready(),
		created:   p.CreationTimestamp,
	}
	if r.ready {
		r.readySince = p.Condition(batch.PodReady).LastTransitionTime
	}
	for i := range p.Status.ContainerStatuses {
		r.restarts = max(r.restarts, p.Status.ContainerStatuses[i].RestartCount)
	}
	sidecars := p.Spec.Sidecars()
	for i := range p.Status.InitContainerStatuses {
		if c := &p.Status.InitContainerStatuses[i]; sidecars[c.Name] {
			r.sidecar = max(r.sidecar, c.RestartCount)
		}
	}
	return r
}

func (a rank) compare(b rank) int {
	return cmp.Or(
		compareBool(a.scheduled, b.scheduled),
		cmp.Compare(a.phase, b.phase),
		compareBool(a.ready, b.ready),
		compareSince(a.readySince, b.readySince),
		cmp.Compare(b.restarts, a.restarts),
		cmp.Compare(b.sidecar, a.sidecar), // only if the others are equal
		compareSince(a.created, b.created),
	)
}

// phasesByProgress are the phases of active pods by progress, ascending.
var phasesByProgress = []batch.PodPhase{batch.PodPending, batch.PodUnknown, batch.PodRunning}

// compareSince orders an unknown time first and then the latest, which has lasted for
// the shortest time.
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
