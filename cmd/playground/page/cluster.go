package page

import (
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// cluster simulates a cluster without faults that runs one Job in virtual time. Plans of
// the Engine take effect at once, and pods end by the script.
type cluster struct {
	job      *batch.Job
	memory   jobpolicy.State
	script   *script
	now      time.Time
	pods     []*pod // visible to the Engine, in order of creation
	byUID    map[string]*pod
	attempts map[int]int // by index
	work     int         // done so far
	log      recorder
}

// pod is a pod of the cluster.
type pod struct {
	batch.Pod
	index   int // -1 without an index
	attempt int // from 1
	phase   phase
	next    time.Time      // end of the phase
	runs    int            // runs so far, including those of earlier pods
	at      outcome        // of the current run
	streak  map[string]int // failures in a row, by container
}

// phase is the current phase of a pod.
type phase int

const (
	starting   phase = iota
	running          //
	restarting       // a container waits for its restart in the pod
	ending           // deleted, and about to end
	ended
)

// Durations in the life of a pod. The script may replace usualRun.
const (
	usualRun   = 10 * time.Second
	startTime  = time.Second
	endingTime = time.Second
)

// Bounds of a simulation, so that a browser answers in seconds.
const (
	mostSteps   = 1000
	mostPods    = 5000
	mostWork    = 300_000 // pods processed
	mostVirtual = 10 * 365 * 24 * time.Hour
)

// begin returns the start time of every simulation.
func begin() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// newCluster returns a cluster with a Job that has not begun.
func newCluster(job *batch.Job, s *script) *cluster {
	copied := *job
	copied.UID = "job"
	copied.CreationTimestamp = begin()
	return &cluster{
		job: &copied, script: s, now: begin(),
		byUID: make(map[string]*pod), attempts: make(map[int]int),
		log: recorder{begin: begin(), job: job.Name},
	}
}

// run runs the Job until nothing more happens or a bound is reached. stopped names the
// bound, if any.
func (c *cluster) run() (stopped string, err error) {
	c.log.began(c.now)
	for {
		wait, err := c.settle()
		if err != nil {
			return "", err
		}
		c.log.close(c.now, c.job.Status)
		next, ok := c.following(wait)
		switch {
		case !ok:
			return "", nil
		case len(c.log.steps) >= mostSteps:
			return fmt.Sprintf("stopped after %d steps", mostSteps), nil
		case len(c.byUID) >= mostPods:
			return fmt.Sprintf("stopped after %d pods", len(c.byUID)), nil
		case c.work >= mostWork:
			return "stopped: the Job is too large for this page to run on", nil
		case next.Sub(begin()) > mostVirtual:
			return "stopped after ten years", nil
		}
		c.now = next
		c.advance()
	}
}

// settle applies plans until one changes nothing, and returns the wait of that plan.
func (c *cluster) settle() (time.Duration, error) {
	for {
		var seen []*batch.Pod
		for _, p := range c.pods {
			seen = append(seen, &p.Pod)
		}
		c.work += len(seen) + 100
		plan, err := engine.Plan(jobpolicy.Input{Job: c.job, Pods: seen, State: c.memory, Now: c.now})
		if err != nil {
			return 0, err
		}
		for _, note := range plan.Notes {
			c.log.note(note)
		}
		if !c.carryOut(plan) || c.work >= mostWork || len(c.byUID) >= mostPods {
			return plan.RequeueAfter, nil
		}
	}
}

// carryOut applies a plan and reports whether it changed anything.
func (c *cluster) carryOut(plan jobpolicy.Plan) bool {
	c.memory = plan.State
	for _, d := range plan.Decisions {
		if p := c.byUID[d.UID]; p != nil {
			c.decided(p, d)
		}
	}
	for _, d := range plan.Delete {
		if p := c.byUID[d.UID]; p != nil {
			if d.Untrack {
				p.Untrack()
			}
			c.delete(p)
		}
	}
	for _, n := range plan.Create {
		c.create(n)
	}
	c.write(plan.InterimStatus)
	for _, ref := range plan.Release {
		if p := c.byUID[ref.UID]; p != nil {
			p.Untrack()
		}
	}
	c.write(plan.FinalStatus)
	before := len(c.pods)
	c.pods = slices.DeleteFunc(c.pods, func(p *pod) bool { return p.phase == ended && len(p.Finalizers) == 0 })
	return len(plan.Delete)+len(plan.Create)+len(plan.Release) > 0 || plan.InterimStatus != nil || plan.FinalStatus != nil || before > len(c.pods)
}

func (c *cluster) write(s *batch.JobStatus) {
	if s == nil {
		return
	}
	for _, condition := range s.Conditions {
		if !slices.Contains(c.job.Status.Conditions, condition) {
			c.log.condition(c.now, condition)
		}
	}
	job := *c.job
	job.Status = *s
	c.job = &job
}

func (c *cluster) create(n jobpolicy.Creation) {
	c.attempts[n.Index]++
	p := &pod{Pod: *n.Pod(c.job.Spec.Template.Spec), index: n.Index, attempt: c.attempts[n.Index], next: c.now.Add(startTime)}
	p.UID = fmt.Sprintf("pod-%d", len(c.byUID))
	p.Name = fmt.Sprintf("%s-%d", c.job.Name, p.attempt)
	if p.index >= 0 {
		p.Name = fmt.Sprintf("%s-%d-%d", c.job.Name, p.index, p.attempt)
	}
	p.Namespace, p.CreationTimestamp, p.Status.Phase = c.job.Namespace, c.now, batch.PodPending
	p.runs = p.attempt - 1
	c.byUID[p.UID] = p
	c.pods = append(c.pods, p)
	c.log.created(c.now, p)
}

func (c *cluster) delete(p *pod) {
	if !p.DeletionTimestamp.IsZero() {
		return
	}
	p.DeletionTimestamp = c.now
	c.log.deleted(c.now, p)
	if p.phase != ended {
		p.phase, p.next = ending, c.now.Add(endingTime)
	}
}

// following returns the time of the next change, given the wait of the last plan.
func (c *cluster) following(wait time.Duration) (next time.Time, ok bool) {
	if wait > 0 {
		next, ok = c.now.Add(wait), true
	}
	for _, p := range c.pods {
		if p.phase != ended && (!ok || p.next.Before(next)) {
			next, ok = p.next, true
		}
	}
	return next, ok
}

// advance ends the phases that are over.
func (c *cluster) advance() {
	for _, p := range c.pods {
		if p.phase == ended || p.next.After(c.now) {
			continue
		}
		switch p.phase {
		case starting, restarting:
			c.start(p)
		case running:
			c.exit(p)
		case ending:
			c.end(p, 143)
			if len(p.Finalizers) == 0 {
				c.log.terminated(c.now, p)
			}
		}
	}
}

func (c *cluster) start(p *pod) {
	if p.phase == starting {
		c.log.started(c.now, p)
		p.Status.StartTime = c.now
	}
	p.at = c.script.of(p.index).of(p.runs)
	p.runs++
	if p.at.container == "" {
		p.at.container = p.Spec.Containers[0].Name
	}
	if p.at.run == 0 {
		p.at.run = usualRun
	}
	p.phase, p.next = running, c.now.Add(p.at.run)
	p.Status.Phase = batch.PodRunning
	c.ready(p, batch.ConditionTrue)
	p.status(func(s *batch.ContainerStatus) {
		s.State = batch.ContainerState{Running: &batch.ContainerStateRunning{StartedAt: c.now}}
	})
}

// ready sets the condition Ready.
func (c *cluster) ready(p *pod, status batch.ConditionStatus) {
	p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(o batch.PodCondition) bool { return o.Type == batch.PodReady })
	p.Status.Conditions = append(p.Status.Conditions, batch.PodCondition{Type: batch.PodReady, Status: status, LastTransitionTime: c.now})
}

// status changes the statuses of all app containers.
func (p *pod) status(change func(s *batch.ContainerStatus)) {
	if p.Status.ContainerStatuses == nil {
		for _, container := range p.Spec.Containers {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, batch.ContainerStatus{Name: container.Name})
		}
	}
	for i := range p.Status.ContainerStatuses {
		change(&p.Status.ContainerStatuses[i])
	}
}

// exit ends a run by the script.
func (c *cluster) exit(p *pod) {
	switch {
	case p.at.drain:
		p.Status.Conditions = append(p.Status.Conditions, batch.PodCondition{
			Type: batch.DisruptionTarget, Status: batch.ConditionTrue, Reason: batch.PodReasonEvictionByEvictionAPI, LastTransitionTime: c.now,
		})
		p.DeletionTimestamp = c.now
	case p.at.code != 0 && p.Spec.RestartPolicy == batch.RestartPolicyOnFailure:
		c.restart(p)
		return
	}
	c.end(p, p.at.code)
}

// restart restarts a container in its pod as a kubelet does. After a long run the delay
// starts over.
func (c *cluster) restart(p *pod) {
	var count int32
	p.status(func(s *batch.ContainerStatus) {
		if s.Name == p.at.container {
			s.RestartCount++
			count = s.RestartCount
		}
	})
	if count == 0 { // an init container
		p.Status.InitContainerStatuses = []batch.ContainerStatus{{Name: p.at.container, RestartCount: int32(p.runs)}}
	}
	policy := backoff.CrashLoop()
	if p.streak == nil {
		p.streak = make(map[string]int)
	}
	if p.at.run > policy.ResetThreshold() {
		p.streak[p.at.container] = 0
	}
	p.streak[p.at.container]++
	delay := policy.Delay(p.streak[p.at.container])
	c.log.restarted(c.now, p, delay)
	p.phase, p.next = restarting, c.now.Add(delay)
}

// end ends a pod.
func (c *cluster) end(p *pod, code int32) {
	p.phase = ended
	p.Status.Phase = batch.PodSucceeded
	if code != 0 {
		p.Status.Phase = batch.PodFailed
	}
	c.ready(p, batch.ConditionFalse)
	var found bool
	p.status(func(s *batch.ContainerStatus) {
		state := &batch.ContainerStateTerminated{StartedAt: p.Status.StartTime, FinishedAt: c.now}
		if found = found || s.Name == p.at.container; s.Name == p.at.container || p.at.drain || p.at.container == "" {
			state.ExitCode = code
		}
		s.State = batch.ContainerState{Terminated: state}
	})
	if !found && p.at.container != "" {
		p.Status.InitContainerStatuses = []batch.ContainerStatus{{Name: p.at.container, State: batch.ContainerState{
			Terminated: &batch.ContainerStateTerminated{ExitCode: code, StartedAt: p.Status.StartTime, FinishedAt: c.now},
		}}}
	}
}

// decided records the Engine's decision on an ended pod.
func (c *cluster) decided(p *pod, d jobpolicy.PodDecision) {
	if p.Status.Phase == batch.PodSucceeded {
		c.log.succeeded(c.now, p)
		return
	}
	_, ignored := p.FailureCounts()
	failures := d.Failures + ignored
	if !d.Match.Counted() {
		failures++
	}
	if c.job.Spec.BackoffLimitPerIndex == nil {
		failures = max(c.memory.Failures, 1)
		if d.Match.Counted() {
			c.log.counted++
		}
	}
	c.log.failed(c.now, p, d, &c.job.Spec, engine.Remaining(failures, 0))
}
