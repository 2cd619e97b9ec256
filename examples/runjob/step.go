package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/jobpolicy"
)

// pod is a pod of the Job and what runs it.
type pod struct {
	jobpolicy.Pod
	index, attempt int
	run            *podRun
	told           bool // what its end decided
}

func (p *pod) ended() bool {
	return p.Status.Phase == jobpolicy.PodSucceeded || p.Status.Phase == jobpolicy.PodFailed
}

func (p *pod) tracked() bool { return slices.Contains(p.Finalizers, jobpolicy.JobTrackingFinalizer) }

// release takes the tracking finalizer off.
func (p *pod) release() {
	p.Finalizers = slices.DeleteFunc(slices.Clone(p.Finalizers), func(f string) bool { return f == jobpolicy.JobTrackingFinalizer })
}

// failures is how many counted failures the pod's index had before it.
func (p *pod) failures() int {
	n, _ := strconv.Atoi(p.Annotations[jobpolicy.JobIndexFailureCountAnnotation])
	return n
}

// step makes one plan and carries it out: first in the Job and the pods as they
// are held here, which are then saved as a whole, then in the processes. So
// whatever a process does was decided on what is saved, and a run that goes on
// from there decides the same; what is told has been saved too. It reports
// whether there was anything to do, and when to plan again at the latest.
func (r *runner) step(now time.Time) (busy bool, requeue time.Duration, err error) {
	pods := r.look()
	disrupted, requeue := r.disrupt(now)
	plan, err := r.engine.Plan(jobpolicy.Input{Job: r.job, Pods: pods, Memory: r.memory, Now: now})
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

// changes are what a step has changed in the Job and its pods.
type changes struct {
	ended      []ending
	disrupted  []*pod
	deleted    []*pod // with those that are disrupted
	over       []*pod // that were deleted, and whose end decided nothing
	created    []*pod
	gone       []*pod // nothing needs to be known of them any more
	conditions []jobpolicy.JobCondition
	written    bool // the Job's status, or what pods are there
}

// ending is the end of a pod and what the failure policy says of it.
type ending struct {
	pod   *pod
	match jobpolicy.Match
}

func (c *changes) none() bool { return !c.written && len(c.deleted)+len(c.created) == 0 }

// apply writes a plan to the Job and its pods, in the plan's order.
func (r *runner) apply(plan jobpolicy.Plan, now time.Time) (c changes) {
	before := r.job.Status.Conditions
	for _, d := range plan.Decisions {
		p := r.pods[d.UID]
		p.told = p.ended() // else, while it terminates, how it ends is still to be told
		c.ended = append(c.ended, ending{p, d.Match})
	}
	for _, d := range plan.Delete {
		c.deleted = append(c.deleted, r.delete(d, now))
	}
	for _, n := range plan.Create {
		c.created = append(c.created, r.create(n, now))
	}
	if plan.Record != nil {
		r.job.Status = *plan.Record
	}
	for _, ref := range plan.Release {
		r.pods[ref.UID].release()
	}
	if plan.Status != nil {
		r.job.Status = *plan.Status
	}
	r.memory = plan.Memory
	for _, after := range r.job.Status.Conditions {
		if !slices.ContainsFunc(before, func(b jobpolicy.JobCondition) bool { return b.Type == after.Type && b.Status == after.Status }) {
			c.conditions = append(c.conditions, after)
		}
	}
	known := len(r.pods)
	c.gone, c.over = r.forget()
	c.written = plan.Record != nil || plan.Status != nil || len(plan.Release) > 0 || len(r.pods) != known
	return c
}

// look brings the pods up to date.
func (r *runner) look() []*jobpolicy.Pod {
	pods := make([]*jobpolicy.Pod, 0, len(r.pods))
	for uid, p := range r.pods {
		if seen := r.cache.Get(uid); seen.Present {
			p.Status = *seen.Status
		}
		pods = append(pods, &p.Pod)
	}
	return pods
}

// create makes a pod; it does not run yet.
func (r *runner) create(n jobpolicy.NewPod, now time.Time) *pod {
	r.attempts[n.Index]++
	p := &pod{index: n.Index, attempt: r.attempts[n.Index]}
	p.ObjectMeta = n.ObjectMeta
	p.Name = fmt.Sprintf("%s%d", n.GenerateName, p.attempt)
	p.UID = newUID()
	p.CreationTimestamp = now
	r.add(p, nil)
	return p
}

// add makes a pod one of the Job's. What is known of it from another run is in
// its status and its history.
func (r *runner) add(p *pod, past history) {
	p.Spec = r.job.Spec.Template.Spec
	p.run = newPodRun(r.host, p.Pod, past)
	r.pods[p.UID] = p
	r.attempts[p.index] = max(r.attempts[p.index], p.attempt)
	p.run.publish()
}

// delete marks a pod as one that is to end with its grace period.
func (r *runner) delete(d jobpolicy.Deletion, now time.Time) *pod {
	p := r.pods[d.UID]
	if d.Untrack {
		if r.job.Spec.Suspend {
			interrupted := *p
			r.suspended = append(r.suspended, &interrupted)
		}
		p.release()
	}
	seconds := int64(p.run.grace / time.Second)
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = now.Add(p.run.grace), &seconds
	return p
}

// forget drops the pods that have ended and that the Job does not need any more,
// and returns those of which nothing needs to be known, and those that were deleted
// and whose end decided nothing.
func (r *runner) forget() (gone, over []*pod) {
	now := time.Now()
	for uid, p := range r.pods {
		if p.ended() && !p.tracked() {
			delete(r.pods, uid)
			r.cache.Delete(uid, now)
			if !p.told && !p.DeletionTimestamp.IsZero() {
				over = append(over, p)
			}
			if !slices.ContainsFunc(r.suspended, func(s *pod) bool { return s.UID == uid }) {
				gone = append(gone, p)
			}
		}
	}
	r.cache.UpdateTime(now) // it need not remember them
	slices.SortFunc(over, func(a, b *pod) int { return strings.Compare(a.Name, b.Name) })
	return gone, over
}
