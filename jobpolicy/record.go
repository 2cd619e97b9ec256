package jobpolicy

import (
	"slices"
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// record builds the plan. InterimStatus records the ends of pods, Release names the pods
// whose finalizers may be removed after that, and FinalStatus counts them.
func record(v *view, d decision) Plan {
	r := recording{view: v, end: d.end, status: cloneStatus(&v.in.Job.Status)}
	r.status.StartTime = v.startTime
	if d.managed && d.end == nil {
		r.writeSuspension()
	}
	r.writeCounts(&d)
	held := make(map[string]bool) // the uncounted pods that still have their finalizers
	for _, p := range v.pods {
		if p.tracking == trackingRecorded {
			held[p.identity()] = true
		}
	}
	r.changed = r.countReleased(held) || r.changed
	decisions := r.decisions()
	release, all := r.writeEnds()
	if v.indexed {
		r.writeIndexes()
	}
	if e := d.end; e != nil && !e.decided {
		addCondition(r.status, e.target(), batch.ConditionTrue, e.reason, e.message, v.in.Now)
		r.changed = true
		r.deltas.Finished = reasonLabel(e.reason)
	}
	plan := Plan{
		Delete: d.delete, Create: d.create, State: r.state(d.state),
		RequeueAfter: d.requeue.after, RequeueReason: d.requeue.reason,
		Decisions: decisions, MetricDeltas: r.deltas, Notes: v.notes,
	}
	if r.changed {
		plan.InterimStatus = cloneStatus(r.status)
	}
	for _, p := range release {
		plan.Release = append(plan.Release, p.ref())
		delete(held, p.identity())
	}
	more := r.countReleased(held)
	if d.end != nil && all && uncounted(r.status) == 0 && d.terminating == 0 {
		r.conclude()
		more = true
	}
	if more {
		plan.FinalStatus = r.status
	}
	return plan
}

// recording is the status while record changes it.
type recording struct {
	*view
	end     *jobEnd // how the Job ends, nil if it goes on
	status  *batch.JobStatus
	changed bool // the status differs from the original
	deltas  MetricDeltas
}

// writeSuspension updates the Suspended condition. A Job that was never suspended has
// no such condition; a resumed Job starts its deadline over.
func (r *recording) writeSuspension() {
	status, reason, message, start := batch.ConditionFalse, batch.JobReasonResumed, "Job resumed", r.in.Now
	if r.spec.Suspend {
		status, reason, message, start = batch.ConditionTrue, batch.JobReasonSuspended, "Job suspended", time.Time{}
	}
	if setCondition(r.status, batch.JobSuspended, status, reason, message, r.in.Now) {
		r.status.StartTime = start
		r.changed = true
	}
}

// writeCounts updates the status' counts of unfinished pods.
func (r *recording) writeCounts(d *decision) {
	s, active, ready, terminating := r.status, int32(d.active), int32(d.ready), int32(d.terminating)
	is := func(p *int32, n int32) bool { return p != nil && *p == n }
	if s.Active != active || !is(s.Ready, ready) || !is(s.Terminating, terminating) {
		r.changed = true
	}
	s.Active, s.Ready, s.Terminating = active, &ready, &terminating
}

// countReleased moves the uncounted pods into the counters of the status, except those in
// held, which still have their finalizers. It reports whether it moved any.
func (r *recording) countReleased(held map[string]bool) bool {
	before := uncounted(r.status)
	move := func(uids []string, counter *int32) []string {
		left := slices.DeleteFunc(slices.Clone(uids), func(uid string) bool { return !held[uid] })
		*counter = int32(addCounts(int(*counter), len(uids)-len(left)))
		return left
	}
	u := r.status.UncountedTerminatedPods
	r.status.UncountedTerminatedPods = &batch.UncountedTerminatedPods{
		Succeeded: move(u.Succeeded, &r.status.Succeeded),
		Failed:    move(u.Failed, &r.status.Failed),
	}
	return uncounted(r.status) != before
}

// decisions returns the decisions about newly ended pods, and counts those handled by
// the policy.
func (r *recording) decisions() (decisions []PodDecision) {
	for _, p := range r.pods {
		if p.handled || !p.endIsNew() {
			continue
		}
		d := PodDecision{
			PodRef:      p.ref(),
			Index:       p.index,
			Match:       p.match,
			Failures:    p.failures,
			IndexFailed: p.role == roleFailsIndex,
			Finished:    p.finish,
			Untracked:   p.tracking == trackingNever,
		}
		if p.failed() && !d.Untracked {
			r.deltas.handled(p.match)
			d.Failures, _ = p.match.NextCounts(p.failures, p.ignored)
		}
		if !r.perIndex {
			d.Failures = 0
		}
		decisions = append(slices.Grow(decisions, r.ended-len(decisions)), d)
	}
	return decisions
}

// writeEnds records the ends of tracked pods, as uncounted pods or as completed
// indexes, and returns the pods to release. all is false if the status has no room for
// more.
func (r *recording) writeEnds() (release []*podView, all bool) {
	u := r.status.UncountedTerminatedPods
	everyPod := r.end != nil || !r.in.Job.DeletionTimestamp.IsZero() // do not wait for unfinished pods
	newIndexes := 0
	for _, p := range r.pods {
		if !p.tracked() {
			continue
		}
		if !everyPod && !p.succeeded() && (!p.failed() || p.role == rolePredecessor) {
			continue
		}
		release = append(release, p)
		switch {
		case p.succeeded() && r.indexed:
			if p.inRange && !r.wasSucceeded.Contains(p.index) {
				newIndexes++ // the index is the only record needed
			}
		case !p.inRange || p.recorded():
		case p.succeeded():
			u.Succeeded = append(u.Succeeded, p.identity())
			r.deltas.PodsSucceeded++
			r.changed = true
		case p.failed() || r.end != nil && !r.end.success:
			match := p.match
			if !p.failed() { // running pods fail with the Job
				match = MatchPod(r.spec.PodFailurePolicy, p.Pod)
				r.deltas.handled(match)
			}
			if match.Counted() {
				u.Failed = append(u.Failed, p.identity())
				r.deltas.PodsFailed++
				r.changed = true
			}
		}
		if newIndexes+uncounted(r.status) >= maxUncounted {
			return release, false
		}
	}
	return release, true
}

// writeIndexes rewrites the index fields from the sets.
func (r *recording) writeIndexes() {
	r.deltas.PerIndex = r.perIndex
	r.deltas.IndexesSucceeded = max(r.succeeded.Len()-r.wasSucceeded.Len(), 0)
	r.deltas.PodsSucceeded = r.deltas.IndexesSucceeded
	if text := r.succeeded.String(); text != r.status.CompletedIndexes {
		r.status.CompletedIndexes = text
		r.changed = true
	}
	r.status.Succeeded = int32(r.succeeded.Len())

	before := r.status.FailedIndexes
	if r.status.FailedIndexes = nil; r.perIndex {
		text := r.failed.String()
		r.status.FailedIndexes = &text
		r.deltas.IndexesFailed = max(r.failed.Len()-r.wasFailed.Len(), 0)
	}
	if after := r.status.FailedIndexes; (before == nil) != (after == nil) || after != nil && *before != *after {
		r.changed = true
	}
}

// state returns s with the progress of the new status, and with the pods that the next
// plan must not decide on or count again.
func (r *recording) state(s State) State {
	s.Written = progressOf(r.status)
	if r.indexed {
		s.Written.Completions = r.completions()
	}
	uncounted := slices.Concat(r.status.UncountedTerminatedPods.Succeeded, r.status.UncountedTerminatedPods.Failed)
	named := setOf(uncounted)
	s.Handled, s.Released = nil, nil
	for _, p := range r.pods {
		switch id := p.identity(); {
		case p.tracking == trackingCounted || p.recorded() && !named[id]: // or counted by this plan
			s.Released = append(s.Released, id)
		case (p.endIsNew() || p.handled && !p.inRange) && !named[id]: // an index out of range may come back
			s.Handled = append(slices.Grow(s.Handled, max(r.ended-len(s.Handled), 0)), id)
		}
	}
	s.Released = append(s.Released, uncounted...)
	return s
}

// conclude sets the final condition.
func (r *recording) conclude() {
	e, s, now := r.end, r.status, r.in.Now
	setCondition(s, e.final(), batch.ConditionTrue, e.reason, e.message, now)
	if s.StartTime.IsZero() { // it ended while suspended
		s.StartTime = now
	}
	if e.success {
		if s.CompletionTime = now; now.Before(s.StartTime) { // the clock has stepped back
			s.CompletionTime = s.StartTime
		}
	}
}

// maxUncounted limits the UIDs in the status so that it stays small. Later plans count
// the rest.
const maxUncounted = 500

// setCondition sets the condition of that type and reports whether anything changed. An
// absent condition counts as False.
func setCondition(s *batch.JobStatus, t batch.JobConditionType, status batch.ConditionStatus, reason batch.Reason, message string, now time.Time) bool {
	i := slices.IndexFunc(s.Conditions, func(c batch.JobCondition) bool { return c.Type == t })
	if i < 0 {
		if status == batch.ConditionFalse {
			return false
		}
		addCondition(s, t, status, reason, message, now)
		return true
	}
	if c := s.Conditions[i]; c.Status == status && c.Reason == reason && c.Message == message {
		return false
	}
	s.Conditions[i] = newCondition(t, status, reason, message, now)
	return true
}

// addCondition appends a condition, even if the status has one of that type.
func addCondition(s *batch.JobStatus, t batch.JobConditionType, status batch.ConditionStatus, reason batch.Reason, message string, now time.Time) {
	s.Conditions = append(s.Conditions, newCondition(t, status, reason, message, now))
}

func newCondition(t batch.JobConditionType, status batch.ConditionStatus, reason batch.Reason, message string, now time.Time) batch.JobCondition {
	return batch.JobCondition{Type: t, Status: status, LastProbeTime: now, LastTransitionTime: now, Reason: reason, Message: message}
}

// cloneStatus returns a copy with writable lists and non-nil uncounted pods.
func cloneStatus(s *batch.JobStatus) *batch.JobStatus {
	c := *s
	c.Conditions = slices.Clone(s.Conditions)
	c.UncountedTerminatedPods = cloneUncounted(s.UncountedTerminatedPods)
	return &c
}

func cloneUncounted(u *batch.UncountedTerminatedPods) *batch.UncountedTerminatedPods {
	if u == nil {
		return &batch.UncountedTerminatedPods{}
	}
	return &batch.UncountedTerminatedPods{Succeeded: slices.Clone(u.Succeeded), Failed: slices.Clone(u.Failed)}
}

// uncounted returns the number of uncounted pods in the status.
func uncounted(s *batch.JobStatus) int {
	u := s.UncountedTerminatedPods
	return len(u.Succeeded) + len(u.Failed)
}
