// Package jobtest simulates a cluster for one Job, in memory and in virtual time, to
// test pod failure policies and users of package jobpolicy. A [Script] says how each
// pod ends.
//
//	c := jobtest.New(job)
//	err := c.Run(func(p *batch.Pod, attempt int) jobtest.End {
//		return jobtest.End{After: time.Minute, ExitCode: 3}
//	})
//	end, finished := c.Job.Status.Finished()
//
// For finer control, call [Cluster.Plan], [Cluster.CarryOut] and the methods that
// change pods, and set [Faults].
package jobtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Cluster simulates an API server and a kubelet for one Job. Tests may read and set its
// fields between calls. Create one with [New].
type Cluster struct {
	Engine jobpolicy.Engine
	Job    *batch.Job
	// Pods are the existing pods, without ended ones that have no finalizer. Changes
	// replace a pod instead of modifying it.
	Pods    []*batch.Pod
	Created []*batch.Pod    // every pod as created, in order
	State   jobpolicy.State // of the last plan whose InterimStatus was written
	Now     time.Time       // the clock, advanced only by Run
	Faults  Faults

	Deltas       []jobpolicy.MetricDeltas // of the plans whose InterimStatus was written
	Notes        []string                 // of all plans
	RequeueAfter time.Duration            // of the last plan

	perIndex map[int]int    // pods created
	attempts map[string]int // by UID, the number of pods created before for the same index
}

// New returns a cluster with a copy of the Job, with defaults, at noon on 1 January
// 2030.
func New(job *batch.Job) *Cluster {
	j := *job
	j.Spec.Default()
	return &Cluster{
		Job: &j, Now: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC),
		perIndex: make(map[int]int), attempts: make(map[string]int),
	}
}

// Plan returns the Engine's plan for [Cluster.Input], which is the cluster as the caller
// sees it under the Faults.
func (c *Cluster) Plan() (jobpolicy.Plan, error) {
	plan, err := c.Engine.Plan(c.Input())
	c.RequeueAfter = plan.RequeueAfter
	c.Notes = append(c.Notes, plan.Notes...)
	return plan, err
}

// Effects returns the number of a plan's deletions, creations, status writes and
// releases.
func Effects(plan jobpolicy.Plan) int {
	n := len(plan.Delete) + len(plan.Create) + len(plan.Release)
	for _, s := range []*batch.JobStatus{plan.InterimStatus, plan.FinalStatus} {
		if s != nil {
			n++
		}
	}
	return n
}

// CarryOut performs the plan's effects in order and returns their number. It stops
// after n, like a crashing caller, or at the first one refused by a fault.
func (c *Cluster) CarryOut(plan jobpolicy.Plan, n int) int {
	done := 0
	do := func(allowed bool, effect func()) bool {
		if done == n || !allowed {
			return false
		}
		effect()
		done++
		return true
	}
	for _, d := range plan.Delete {
		if !do(!c.Faults.Refuse, func() { c.delete(d) }) {
			return done
		}
	}
	for _, creation := range plan.Create {
		if !do(!c.Faults.Refuse && !c.quotaReached(), func() { c.create(creation) }) {
			return done
		}
	}
	if plan.InterimStatus != nil && !do(c.Faults.Status == nil, func() { c.Job = withStatus(c.Job, plan.InterimStatus) }) {
		return done
	}
	c.State = plan.State
	c.Deltas = append(c.Deltas, plan.MetricDeltas)
	for _, r := range plan.Release {
		if !do(true, func() { c.Change(r.UID, (*batch.Pod).Untrack) }) {
			return done
		}
	}
	if plan.FinalStatus != nil {
		do(c.Faults.Status == nil, func() { c.Job = withStatus(c.Job, plan.FinalStatus) })
	}
	return done
}

// delete marks the pod for deletion. Exit ends it.
func (c *Cluster) delete(d jobpolicy.Deletion) {
	c.Change(d.UID, func(p *batch.Pod) {
		if d.Untrack {
			p.Untrack()
		}
		if p.DeletionTimestamp.IsZero() {
			p.DeletionTimestamp = c.Now
		}
	})
}

// create adds a pending pod.
func (c *Cluster) create(creation jobpolicy.Creation) {
	p := creation.Pod(c.Job.Spec.Template.Spec)
	p.UID = fmt.Sprintf("u%04d", len(c.Created))
	p.Name = fmt.Sprintf("%s%05d", p.GenerateName, len(c.Created))
	p.CreationTimestamp = c.Now
	p.Spec.NodeName = "node"
	p.Status.Phase = batch.PodPending
	c.attempts[p.UID] = c.perIndex[creation.Index]
	c.perIndex[creation.Index]++
	c.Created = append(c.Created, p)
	c.Pods = append(c.Pods, p)
}

// Change replaces the pod with that UID by a modified copy.
func (c *Cluster) Change(uid string, change func(*batch.Pod)) {
	i := slices.IndexFunc(c.Pods, func(p *batch.Pod) bool { return p.UID == uid })
	if i < 0 {
		return
	}
	p := *c.Pods[i]
	p.Status.Conditions = slices.Clone(p.Status.Conditions)
	p.Status.ContainerStatuses = slices.Clone(p.Status.ContainerStatuses)
	change(&p)
	c.Pods[i] = &p
	if len(p.Finalizers) == 0 && p.Finished() {
		c.Pods = slices.Delete(c.Pods, i, i+1)
	}
}

// Active reports whether the pod has not ended and is not being deleted.
func Active(p *batch.Pod) bool { return !p.Finished() && p.DeletionTimestamp.IsZero() }

// Index returns the completion index of a pod, or -1.
func Index(p *batch.Pod) int { return p.CompletionIndex() }

// withStatus returns a copy of the Job with another status.
func withStatus(job *batch.Job, status *batch.JobStatus) *batch.Job {
	j := *job
	j.Status = *status
	return &j
}
