package main

import (
	"slices"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// step makes one plan and applies it to the Job and its pods, saves the state, and then
// acts on the processes and reports. So every action follows from a saved state, and a
// run that resumes from it makes the same decisions. step reports whether anything was
// done, and returns the time after which to plan again at the latest.
func (r *runner) step(now time.Time) (busy bool, requeue time.Duration, err error) {
	pods := r.look()
	disrupted, requeue := r.disrupt(now)
	plan, err := r.engine.Plan(jobpolicy.Input{Job: r.job, Pods: pods, State: r.memory, Now: now})
	if err != nil {
		return false, 0, err
	}
	if d := plan.RequeueAfter; d > 0 && (requeue == 0 || d < requeue) {
		requeue = d
	}
	c := r.apply(plan, now)
	c.disrupted, c.deleted = disrupted, append(c.deleted, disrupted...)
	if c.none() {
		return false, requeue, nil
	}
	r.events.changes(c, &r.job.Spec, now)
	if err := r.save(len(c.conditions) > 0); err != nil {
		return false, 0, err
	}
	r.report.changes(c, &r.job.Spec)
	for _, p := range c.disrupted {
		p.run.disrupt(drained(now))
	}
	for _, p := range c.deleted {
		p.run.terminate()
	}
	for _, p := range c.created {
		r.live.Go(p.run.run)
	}
	for _, p := range c.gone {
		r.host.children.Forget(p.UID)
	}
	r.report.progress(r.job.Status)
	return true, requeue, nil
}

// changes holds the changes of a step to the Job and its pods.
type changes struct {
	ended      []ending
	disrupted  []*pod
	deleted    []*pod // including the disrupted ones
	over       []*pod // deleted, without a decision of the Engine on their end
	created    []*pod
	gone       []*pod // their records are no longer needed
	conditions []batch.JobCondition
	written    bool // the Job's status or its set of pods
}

// ending is the end of a pod and the decision about it.
type ending struct {
	pod      *pod
	decision jobpolicy.PodDecision
	wait     time.Duration // from its end until its replacement
	why      string
}

func (c *changes) none() bool { return !c.written && len(c.deleted)+len(c.created) == 0 }

// apply applies a plan to the Job and its pods, in the plan's order.
func (r *runner) apply(plan jobpolicy.Plan, now time.Time) (c changes) {
	before := r.job.Status.Conditions
	for _, d := range plan.Decisions {
		p := r.pods[d.UID]
		p.decided = p.ended() // a terminating pod's end is reported later
		c.ended = append(c.ended, ending{pod: p, decision: d})
	}
	for _, d := range plan.Delete {
		c.deleted = append(c.deleted, r.delete(d, now))
	}
	for _, n := range plan.Create {
		c.created = append(c.created, r.create(n, now))
	}
	if plan.InterimStatus != nil {
		r.job.Status = *plan.InterimStatus
	}
	for _, ref := range plan.Release {
		r.pods[ref.UID].Untrack()
	}
	if plan.FinalStatus != nil {
		r.job.Status = *plan.FinalStatus
	}
	r.memory = plan.State
	for i := range c.ended {
		e := &c.ended[i]
		e.wait, e.why = r.replaced(e.pod, e.decision)
	}
	for _, after := range r.job.Status.Conditions {
		if !slices.ContainsFunc(before, func(b batch.JobCondition) bool { return b.Type == after.Type && b.Status == after.Status }) {
			c.conditions = append(c.conditions, after)
		}
	}
	known := len(r.pods)
	c.gone, c.over = r.forget()
	c.written = plan.InterimStatus != nil || plan.FinalStatus != nil || len(plan.Release) > 0 || len(r.pods) != known
	return c
}
