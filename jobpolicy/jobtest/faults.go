package jobtest

import (
	"slices"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Faults distort the caller's view and refuse its writes until reset. To simulate lost
// writes, carry out only part of a plan.
type Faults struct {
	// Unseen are new pods not yet visible to the caller, who sets ExpectationsPending.
	Unseen []*batch.Pod
	// Status, unless nil, is an older status seen by the caller, whose status writes
	// are refused.
	Status *batch.JobStatus
	// Pods are released pods that the caller still sees in this state. If Named is set,
	// the caller lists them in FinalizersRemoved.
	Pods  []*batch.Pod
	Named bool
	// Refuse refuses every creation and deletion, and the caller sets NoPodChanges.
	Refuse bool
	// Quota, unless 0, is the maximum number of pods, ended ones included.
	Quota int
}

// Input returns the caller's input for Plan.
func (c *Cluster) Input() jobpolicy.Input {
	f := &c.Faults
	in := jobpolicy.Input{Job: c.Job, Pods: c.Pods, State: c.State, ExpectationsPending: len(f.Unseen) > 0, NoPodChanges: f.Refuse, Now: c.Now}
	if len(f.Unseen) > 0 {
		in.Pods = without(in.Pods, f.Unseen)
	}
	if f.Status != nil {
		in.Job = withStatus(c.Job, f.Status)
	}
	if len(f.Pods) > 0 {
		in.Pods = append(without(in.Pods, f.Pods), f.Pods...)
	}
	if f.Named {
		for _, p := range f.Pods {
			in.FinalizersRemoved = append(in.FinalizersRemoved, p.UID)
		}
	}
	return in
}

// without returns the pods except the others.
func without(pods, others []*batch.Pod) []*batch.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *batch.Pod) bool {
		return slices.ContainsFunc(others, func(o *batch.Pod) bool { return o.UID == p.UID })
	})
}

func (c *Cluster) quotaReached() bool { return c.Faults.Quota > 0 && len(c.Pods) >= c.Faults.Quota }

// Sync plans and carries out the plan like a controller. After a refused creation or
// deletion, it plans again with NoPodChanges to record and release ended pods. It
// returns the number of effects.
func (c *Cluster) Sync() (int, error) {
	plan, err := c.Plan()
	if err != nil {
		return 0, err
	}
	done := c.CarryOut(plan, Effects(plan))
	if done >= len(plan.Delete)+len(plan.Create) {
		return done, nil
	}
	in := c.Input()
	in.NoPodChanges = true
	if plan, err = c.Engine.Plan(in); err != nil {
		return done, err
	}
	c.Notes = append(c.Notes, plan.Notes...)
	return done + c.CarryOut(plan, Effects(plan)), nil
}
