package jobpolicy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// cluster is a simulated API server and kubelet for one Job: it carries out
// plans and holds what the next one is made from.
type cluster struct {
	engine  Engine
	job     *batch.Job
	pods    []*batch.Pod
	memory  State
	now     time.Time
	created []*batch.Pod   // every pod that ever was, in order
	counts  []MetricDeltas // of plans whose InterimStatus was written
	notes   []string       // of all plans
	requeue time.Duration  // of the last plan
}

// effects is the number of effects that carry out may perform, one by one.
func effects(plan Plan) int {
	n := len(plan.Delete) + len(plan.Create) + len(plan.Release)
	for _, s := range []*batch.JobStatus{plan.InterimStatus, plan.FinalStatus} {
		if s != nil {
			n++
		}
	}
	return n
}

func (c *cluster) plan() (Plan, error) {
	plan, err := c.engine.Plan(Input{Job: c.job, Pods: c.pods, State: c.memory, Now: c.now})
	c.requeue = plan.RequeueAfter
	c.notes = append(c.notes, plan.Notes...)
	return plan, err
}

// carryOut performs the plan's first n effects. The pod that a deletion names
// gets a deletion time stamp; one without a finalizer is gone when it has ended.
func (c *cluster) carryOut(plan Plan, n int) {
	step := func() bool { n--; return n >= 0 }
	for _, d := range plan.Delete {
		if !step() {
			return
		}
		c.change(d.UID, func(p *batch.Pod) {
			if d.Untrack {
				p.Finalizers = nil
			}
			if p.DeletionTimestamp.IsZero() {
				p.DeletionTimestamp = c.now
			}
		})
	}
	for _, m := range plan.Create {
		if !step() {
			return
		}
		c.add(m)
	}
	if plan.InterimStatus != nil {
		if !step() {
			return
		}
		c.job.Status = *plan.InterimStatus
	}
	c.counts = append(c.counts, plan.MetricDeltas)
	c.memory = plan.State
	for _, r := range plan.Release {
		if !step() {
			return
		}
		c.change(r.UID, func(p *batch.Pod) { p.Finalizers = nil })
	}
	if plan.FinalStatus != nil {
		if !step() {
			return
		}
		c.job.Status = *plan.FinalStatus
	}
}

// add creates a pod, Pending.
func (c *cluster) add(n Creation) {
	p := &batch.Pod{ObjectMeta: n.ObjectMeta}
	p.UID = fmt.Sprintf("u%04d", len(c.created))
	p.Name = n.GenerateName + fmt.Sprintf("%05d", len(c.created))
	p.CreationTimestamp = c.now
	p.Spec = c.job.Spec.Template.Spec
	p.Spec.NodeName = "node"
	p.Status.Phase = batch.PodPending
	c.created = append(c.created, p)
	c.pods = append(c.pods, p)
}

// change replaces a pod by a changed copy, since a plan may still look at the
// old one, and drops it once it has ended and nothing holds it.
func (c *cluster) change(uid string, f func(*batch.Pod)) {
	i := slices.IndexFunc(c.pods, func(p *batch.Pod) bool { return p.UID == uid })
	if i < 0 {
		return
	}
	p := *c.pods[i]
	p.Status.Conditions = slices.Clone(p.Status.Conditions)
	p.Status.ContainerStatuses = slices.Clone(p.Status.ContainerStatuses)
	f(&p)
	c.pods[i] = &p
	if len(p.Finalizers) == 0 && p.Finished() {
		c.pods = slices.Delete(c.pods, i, i+1)
	}
}

// run makes a pending pod Running and Ready.
func (c *cluster) run(uid string) {
	c.change(uid, func(p *batch.Pod) {
		p.Status.Phase = batch.PodRunning
		p.Status.Conditions = append(p.Status.Conditions, batch.PodCondition{Type: batch.PodReady, Status: batch.ConditionTrue, LastTransitionTime: c.now})
	})
}

// setPodCondition sets a condition of the pod.
func setPodCondition(p *batch.Pod, t batch.PodConditionType, status batch.ConditionStatus, reason string, now time.Time) {
	p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c batch.PodCondition) bool { return c.Type == t })
	p.Status.Conditions = append(p.Status.Conditions, batch.PodCondition{Type: t, Status: status, Reason: reason, LastTransitionTime: now})
}

// end ends a pod with one container state for all its containers.
func (c *cluster) end(uid string, phase batch.PodPhase, code int32) {
	c.change(uid, func(p *batch.Pod) {
		p.Status.Phase = phase
		setPodCondition(p, batch.PodReady, batch.ConditionFalse, "", c.now)
		p.Status.ContainerStatuses = nil
		for _, k := range p.Spec.Containers {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, batch.ContainerStatus{Name: k.Name, State: batch.ContainerState{
				Terminated: &batch.ContainerStateTerminated{ExitCode: code, FinishedAt: c.now},
			}})
		}
	})
}

// index is a created pod's completion index and attempt, as names begin.
func podTitle(c *cluster, p *batch.Pod) string {
	i := completionIndex(p)
	n := 0
	for _, q := range c.created {
		if q.UID == p.UID {
			break
		}
		if completionIndex(q) == i {
			n++
		}
	}
	if i < 0 {
		return fmt.Sprintf("pod %02d", n)
	}
	var title strings.Builder
	title.WriteString(fmt.Sprintf("index %d attempt %d", i, n))
	for _, a := range []string{batch.JobIndexFailureCountAnnotation, batch.JobIndexIgnoredFailureCountAnnotation} {
		if text, ok := p.Annotations[a]; ok {
			title.WriteString(" " + strings.TrimPrefix(a, "batch.kubernetes.io/") + "=" + text)
		}
	}
	return title.String()
}

// completionIndex, failureCount and ignoredCount read a pod's annotations.
func completionIndex(p *batch.Pod) int { return viewOf(p).index }

func failureCount(p *batch.Pod) int { return viewOf(p).failures }

func ignoredCount(p *batch.Pod) int { return viewOf(p).ignored }

func viewOf(p *batch.Pod) podView {
	v := podView{Pod: p}
	v.readAnnotations()
	return v
}
