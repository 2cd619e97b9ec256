package jobrun

import (
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Changes are the changes of one step to the Job and its pods.
type Changes struct {
	At         time.Time
	Ended      []Ending
	Deleted    []*Pod // which now have their grace period
	Over       []*Pod // deleted and ended pods without a decision about their end
	Created    []*Pod
	Conditions []batch.JobCondition // of the Job, new or with a new status
	Spec       *batch.JobSpec
	Status     batch.JobStatus

	written bool // the Job's status or its set of pods
}

// Ending is the end of a pod and the decision about it.
type Ending struct {
	Pod      *Pod
	Decision jobpolicy.PodDecision
	Wait     time.Duration // from its end until its replacement
	Why      string        // why that long
}

func (c *Changes) none() bool { return !c.written && len(c.Deleted)+len(c.Created) == 0 }

// step makes one plan and applies it to the Job and its pods, saves the state, and then
// acts on the processes and reports. So every action follows from a saved state, and a
// run that resumes from it makes the same decisions. step reports whether anything was
// done, and returns the time after which to plan again at the latest.
func (r *Run) step(now time.Time) (busy bool, requeue time.Duration, err error) {
	plan, err := r.engine.Plan(jobpolicy.Input{Job: r.job, Pods: r.look(), State: r.memory, Now: now})
	if err != nil {
		return false, 0, err
	}
	c := r.apply(plan, now)
	switch {
	case c.none() && r.unsaved:
		return false, plan.RequeueAfter, r.save()
	case c.none():
		r.answer()
		return false, plan.RequeueAfter, nil
	}
	if err := r.observer.Decided(c); err != nil {
		return false, 0, err
	}
	if err := r.save(); err != nil {
		return false, 0, err
	}
	r.observer.Changed(c)
	for _, p := range c.Deleted {
		p.run.terminate()
	}
	for _, p := range c.Created {
		r.live.Go(p.run.run)
	}
	return true, plan.RequeueAfter, nil
}

// look updates the pods from their runs and returns them.
func (r *Run) look() []*batch.Pod {
	pods := make([]*batch.Pod, 0, len(r.pods))
	for _, p := range r.pods {
		if now := p.run.now(); now != p.seen {
			p.seen, p.Status, r.unsaved = now, now.status, true
		}
		pods = append(pods, &p.Pod)
	}
	return pods
}

// apply applies a plan to the Job and its pods, in the plan's order.
func (r *Run) apply(plan jobpolicy.Plan, now time.Time) Changes {
	c := Changes{At: now, Spec: &r.job.Spec}
	before := r.job.Status.Conditions
	for _, d := range plan.Decisions {
		p := r.pods[d.UID]
		p.decided = p.Finished() // a terminating pod's end is reported later
		c.Ended = append(c.Ended, Ending{Pod: p, Decision: d})
	}
	for _, d := range plan.Delete {
		c.Deleted = append(c.Deleted, r.delete(d, now))
	}
	for _, n := range plan.Create {
		c.Created = append(c.Created, r.create(n, now))
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
	for i := range c.Ended {
		e := &c.Ended[i]
		e.Wait, e.Why = r.replaced(e.Pod, e.Decision)
	}
	for _, after := range r.job.Status.Conditions {
		if !slices.ContainsFunc(before, func(b batch.JobCondition) bool { return b.Type == after.Type && b.Status == after.Status }) {
			c.Conditions = append(c.Conditions, after)
		}
	}
	known := len(r.pods)
	c.Over = r.forget()
	c.written = plan.InterimStatus != nil || plan.FinalStatus != nil || len(plan.Release) > 0 || len(r.pods) != known
	c.Status = r.job.Status
	return c
}

// replaced returns the wait between the end of a failed pod and its replacement, and
// the reason. The wait is 0 if the pod is not replaced.
func (r *Run) replaced(p *Pod, d jobpolicy.PodDecision) (wait time.Duration, why string) {
	over := slices.ContainsFunc(r.job.Status.Conditions, func(c batch.JobCondition) bool {
		return c.Type != batch.JobSuspended && c.Status == batch.ConditionTrue
	})
	if p.Status.Phase == batch.PodSucceeded || over || d.IndexFailed {
		return 0, ""
	}
	if r.job.Spec.BackoffLimitPerIndex == nil {
		n := r.memory.Failures
		return r.engine.Remaining(n, 0), fmt.Sprintf("failure %d in a row of the Job", n)
	}
	failures, ignored := p.FailureCounts()
	n := failures + ignored + 1
	return r.engine.Remaining(n, 0), fmt.Sprintf("failure %d of index %d", n, d.Index)
}
