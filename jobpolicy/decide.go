package jobpolicy

import "time"

// decision is the decision about a view.
type decision struct {
	end     *jobEnd // how the Job ends, nil if it goes on
	managed bool    // this plan may create and delete pods to follow the specification

	delete                     []Deletion
	create                     []Creation
	active, ready, terminating int // pods after these deletions and creations

	state   State // with the new failures in a row; record sets the rest
	requeue requeue
}

// decide decides whether and how the Job ends, and which pods to delete or create.
// Failures, the deadline and the success policy are judged first. Completions are judged
// last, because they depend on the number of active pods.
func (v *view) decide() decision {
	d := decision{state: v.withNewEnds(), active: v.active, ready: v.ready, terminating: v.terminating}
	if d.end = v.decidedEnd(); d.end == nil {
		d.end, d.requeue = v.limitReached()
	}
	switch {
	case d.end != nil && v.in.NoPodChanges && v.active > 0:
		d.end = nil // its pods cannot be deleted now, so the end has to wait
	case d.end != nil:
		for _, p := range v.activePods() {
			d.remove(p, false) // its end still counts
		}
	default:
		if d.managed = !v.in.ExpectationsPending && !v.in.NoPodChanges && v.in.Job.DeletionTimestamp.IsZero(); d.managed {
			surplus, create, wait := v.manage(d.state)
			for _, p := range surplus {
				d.remove(p, true)
			}
			d.create = create
			d.active += len(create)
			d.requeue = d.requeue.or(v.engine.requeueAfter(wait))
		}
		d.end = v.completed(d.active)
	}
	if v.in.ExpectationsPending {
		d.end = nil // more pods may appear, so the end has to wait
	}
	return d
}

// remove adds the deletion of an active pod. If untrack is set, the pod's finalizer is
// removed first, so that its end does not count.
func (d *decision) remove(p *podView, untrack bool) {
	d.delete = append(d.delete, Deletion{PodRef: p.ref(), Untrack: untrack && p.tracked()})
	d.active--
	d.terminating++
	if p.Ready() {
		d.ready--
	}
}

// manage returns either surplus pods or pods to create. A wait other than 0 is the time
// until another pod may be created.
func (v *view) manage(s State) (surplus []*podView, create []Creation, wait time.Duration) {
	if v.spec.Suspend {
		return v.surplus(v.active), nil, 0
	}
	wanted := v.wantedActive()
	if surplus = v.surplus(v.active - wanted); len(surplus) > 0 {
		return surplus[:min(len(surplus), v.engine.maxPodsPerPlan())], nil, 0
	}
	missing := wanted - v.active
	if v.replacesOnlyFailed() {
		missing -= v.terminating
	}
	if missing > 0 {
		create, wait = v.creations(min(missing, v.engine.maxPodsPerPlan()), s)
	}
	return nil, create, wait
}

// wantedActive returns the number of pods that should be active.
func (v *view) wantedActive() int {
	parallelism := max(int(*v.spec.Parallelism), 0)
	if v.spec.Completions == nil {
		if v.succeededPods > 0 {
			return v.active // running pods may finish, but no new ones start
		}
		return parallelism
	}
	return max(min(int(*v.spec.Completions)-v.succeededPods, parallelism), 0)
}
