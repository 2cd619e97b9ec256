package jobtest

import (
	"slices"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Faults are what the caller sees wrongly and may not do. They last until the test takes
// them back. The zero value has none. A write that is lost is none of them: carry out
// only a part of the plan.
type Faults struct {
	// Unseen are new pods that the caller does not see yet. It knows that there are some
	// and sets ExpectationsPending.
	Unseen []*batch.Pod
	// Status is an older status, which the caller sees in place of the Job's own. Its writes
	// of the status conflict and are refused. Nil: the caller sees the Job as it is.
	Status *batch.JobStatus
	// Pods are released pods, which the caller still sees as they are here. With Named it
	// says so in FinalizersRemoved.
	Pods  []*batch.Pod
	Named bool
	// Refuse refuses every creation and deletion, and the caller sets NoPodChanges.
	Refuse bool
	// Quota is how many pods may exist, ended ones included. Creations beyond it are
	// refused. 0 means any number.
	Quota int
}

// Input returns what the caller sees, and tells Plan, at this time.
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

// without returns the pods that are not among the others.
func without(pods, others []*batch.Pod) []*batch.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *batch.Pod) bool {
		return slices.ContainsFunc(others, func(o *batch.Pod) bool { return o.UID == p.UID })
	})
}

func (c *Cluster) quotaReached() bool { return c.Faults.Quota > 0 && len(c.Pods) >= c.Faults.Quota }

// Sync plans and carries the plan out, as a controller does: where a creation or a
// deletion is refused, it makes another plan with NoPodChanges, which records and
// releases what has ended. It returns how many effects were performed.
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
