package jobpolicy

import "slices"

// maxUncounted bounds the UIDs that the status holds at once, so that it stays
// small; the rest is counted by later passes.
const maxUncounted = 500

// uncounted are the UIDs of finished pods that are written down but not yet in
// the counters.
type uncounted struct{ succeeded, failed map[string]bool }

func newUncounted(u *UncountedTerminatedPods) uncounted {
	return uncounted{setOf(u.Succeeded), setOf(u.Failed)}
}

func setOf(uids []string) map[string]bool {
	m := make(map[string]bool, len(uids))
	for _, uid := range uids {
		m[uid] = true
	}
	return m
}

func (u *UncountedTerminatedPods) clone() *UncountedTerminatedPods {
	if u == nil {
		return &UncountedTerminatedPods{}
	}
	return &UncountedTerminatedPods{Succeeded: slices.Clone(u.Succeeded), Failed: slices.Clone(u.Failed)}
}

// account writes the ends of pods down and takes their finalizers off. e is how
// the Job ends, nil if it goes on.
func (p *pass) account(e *end) {
	p.writeCounts()
	if p.countReleased() {
		p.flush = true
	}
	release, all := p.recordEnds(e)
	p.forgetRecorded()
	p.writeIndexes()
	if e != nil && !e.standing {
		p.status.addCondition(e.target(), ConditionTrue, e.reason, e.message, p.now)
		p.flush = true
		p.plan.Counts.Finished = e.reason
	}
	p.memory.Written = p.status.progress()
	if p.indexed {
		p.memory.Written.Completions = p.completions()
	}
	if p.flush {
		p.plan.Record = p.status.clone()
	}

	for _, v := range release {
		p.plan.Release = append(p.plan.Release, v.ref())
		v.tracked = false
	}
	more := p.countReleased()
	if e != nil && all && p.countUncounted() == 0 && p.terminating == 0 {
		p.conclude(e)
		more = true
	}
	if more {
		p.plan.Status = p.status.clone()
	}
	p.plan.Memory = p.memory
}

// conclude sets the final condition.
func (p *pass) conclude(e *end) {
	p.status.setCondition(e.final(), ConditionTrue, e.reason, e.message, p.now)
	if p.status.StartTime.IsZero() { // it ended while it was suspended
		p.status.StartTime = p.now
	}
	if e.success {
		p.status.CompletionTime = later(p.now, p.status.StartTime) // the clock may have stepped back
	}
}

// writeCounts brings the status' counts of unfinished pods up to date.
func (p *pass) writeCounts() {
	active, ready, terminating := int32(p.active), int32(p.ready), int32(p.terminating)
	if p.status.Active != active || !equalPtr(p.status.Ready, &ready) || !equalPtr(p.status.Terminating, &terminating) {
		p.flush = true
	}
	p.status.Active, p.status.Ready, p.status.Terminating = active, &ready, &terminating
}

// countReleased moves the pods whose finalizer is gone from the uncounted into
// the counters, and reports whether there were any.
func (p *pass) countReleased() bool {
	before := p.countUncounted()
	if before == 0 {
		return false
	}
	tracked := make(map[string]bool)
	for _, v := range p.pods {
		if v.tracked && v.recorded != unrecorded {
			tracked[v.identity()] = true
		}
	}
	move := func(uids []string, counter *int32) []string {
		left := slices.DeleteFunc(slices.Clone(uids), func(uid string) bool { return !tracked[uid] })
		*counter = int32(addCounts(int(*counter), len(uids)-len(left)))
		return left
	}
	u := p.status.UncountedTerminatedPods
	p.status.UncountedTerminatedPods = &UncountedTerminatedPods{
		Succeeded: move(u.Succeeded, &p.status.Succeeded),
		Failed:    move(u.Failed, &p.status.Failed),
	}
	return p.countUncounted() != before
}

func (p *pass) countUncounted() int {
	u := p.status.UncountedTerminatedPods
	return len(u.Succeeded) + len(u.Failed)
}

// recordEnds writes the ends of tracked pods down, as uncounted or as completed
// indexes, and returns the pods whose finalizer may then go. all is false if the
// status has no room for more in this pass.
func (p *pass) recordEnds(e *end) (release []*podView, all bool) {
	u := p.status.UncountedTerminatedPods
	newIndexes := 0
	for _, v := range p.pods {
		if !v.tracked || !p.releasable(v, e) {
			continue
		}
		release = append(release, v)
		switch {
		case v.succeeded:
			switch {
			case !p.indexed && v.recorded == unrecorded:
				u.Succeeded = append(u.Succeeded, v.identity())
				p.plan.Counts.PodsSucceeded++
				p.flush = true
			case p.indexed && v.inRange && !p.wasSucceeded.Contains(v.index):
				newIndexes++ // the index is all that needs writing down
			}
		case v.failed || e != nil && !e.success: // when a Job fails, whatever still runs fails with it
			if !v.inRange || v.recorded != unrecorded {
				break
			}
			if !v.failed {
				p.countAction(p.match(v)) // of those that have failed it is counted by remember
			}
			if p.match(v).Counted() {
				u.Failed = append(u.Failed, v.identity())
				p.plan.Counts.PodsFailed++
				p.flush = true
			}
		}
		if newIndexes+p.countUncounted() >= maxUncounted {
			return release, false
		}
	}
	return release, true
}

// releasable reports whether the pod's finalizer may go once its end is written
// down: it has ended, or nobody waits for its end any more. The last failed pod
// of an index that will run again stays until its replacement exists.
func (p *pass) releasable(v *podView, e *end) bool {
	if e != nil || !p.in.Job.DeletionTimestamp.IsZero() || v.succeeded {
		return true
	}
	return v.failed && !v.kept
}

// writeIndexes rewrites the index fields from the sets.
func (p *pass) writeIndexes() {
	if !p.indexed {
		return
	}
	c := &p.plan.Counts
	c.PerIndex = p.perIndex
	c.IndexesSucceeded = max(p.succeeded.Len()-p.wasSucceeded.Len(), 0)
	c.PodsSucceeded = c.IndexesSucceeded
	if text := p.succeeded.String(); text != p.status.CompletedIndexes {
		p.status.CompletedIndexes = text
		p.flush = true
	}
	p.status.Succeeded = int32(p.succeeded.Len())

	var failed *string
	if p.perIndex {
		text := p.failed.String()
		failed = &text
		c.IndexesFailed = max(p.failed.Len()-p.wasFailed.Len(), 0)
	}
	if !equalPtr(p.status.FailedIndexes, failed) {
		p.status.FailedIndexes = failed
		p.flush = true
	}
}

// forgetRecorded leaves those pods to the memory that the status does not name;
// of those that it names the memory knows that they are on their way out.
func (p *pass) forgetRecorded() {
	now := newUncounted(p.status.UncountedTerminatedPods)
	p.memory.Handled = slices.DeleteFunc(p.memory.Handled, func(id string) bool {
		return now.succeeded[id] || now.failed[id]
	})
	p.memory.Released = slices.Concat(p.memory.Released, p.status.UncountedTerminatedPods.Succeeded, p.status.UncountedTerminatedPods.Failed)
}

// clone returns a copy that shares nothing that is written to again.
func (s *JobStatus) clone() *JobStatus {
	c := *s
	c.Conditions = slices.Clone(s.Conditions)
	c.UncountedTerminatedPods = s.UncountedTerminatedPods.clone()
	return &c
}

func equalPtr[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
