package page

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/jobtest"
	"github.com/restartkit/restart/kube/convert"
)

// simulation runs one Job on a cluster of package jobtest in virtual time. It adds what
// pods do: they take a second to start and to be deleted, end by the script, and restart
// their containers in place.
type simulation struct {
	c        *jobtest.Cluster
	script   *script
	policies map[string]backoff.ExitPolicy // by container; for restarts in place
	pods     map[string]*pod               // by UID
	order    []*pod                        // that have not ended
	perIndex map[int]int                   // pods created
	work     int
	log      recorder
}

// pod is a pod as the simulation sees it. Its object is in the cluster.
type pod struct {
	uid, name string
	index     int // -1 without an index
	attempt   int // from 1
	phase     phase
	next      time.Time      // end of the phase
	runs      int            // so far, including those of earlier pods
	at        outcome        // of the current run
	streak    map[string]int // failures in a row, by container
	deleted   bool
}

// phase is the current phase of a pod.
type phase int

const (
	starting   phase = iota
	running          //
	restarting       // a container waits for its restart in the pod
	ending           // deleted, and about to end
)

// Durations in the life of a pod. The script may replace usualRun.
const (
	usualRun   = 10 * time.Second
	startTime  = time.Second
	endingTime = time.Second

	// restartAllTime is how long others run on, at most, once a container restarts all:
	// minimumGracePeriodInSeconds of the kubelet.
	restartAllTime = 2 * time.Second
)

// Bounds of a run. longestAnswer bounds its time in addition.
const (
	mostSteps   = 1000
	mostPods    = 5000
	mostWork    = 1_000_000 // pods looked at
	mostVirtual = 10 * 365 * 24 * time.Hour
)

func newSimulation(job *batch.Job, policies map[string]backoff.ExitPolicy, s *script) *simulation {
	c := jobtest.New(job)
	c.Job.UID = "job"
	c.Job.CreationTimestamp = c.Now
	return &simulation{
		c: c, script: s, policies: policies, pods: make(map[string]*pod), perIndex: make(map[int]int),
		log: recorder{begin: c.Now, job: job.Name, spec: &c.Job.Spec},
	}
}

// run runs the Job until nothing more happens or a bound is reached. stopped names the
// bound, if any.
func (s *simulation) run(ctx context.Context) (stopped string, err error) {
	s.log.began(s.c.Now)
	begin := s.c.Now
	for {
		if err := s.settle(ctx); err != nil {
			return "", err
		}
		s.log.close(s.c.Now, s.c.Job.Status)
		next, ok := s.following()
		switch {
		case !ok:
			return "", nil
		case len(s.log.steps) >= mostSteps:
			return fmt.Sprintf("stopped after %d steps", mostSteps), nil
		case len(s.pods) >= mostPods:
			return fmt.Sprintf("stopped after %d pods", len(s.pods)), nil
		case s.work >= mostWork || ctx.Err() != nil:
			return "stopped: the Job is too large for this page to run on", nil
		case next.Sub(begin) > mostVirtual:
			return "stopped after ten years", nil
		}
		s.c.Now = next
		s.advance()
	}
}

// settle carries out plans until one changes nothing.
func (s *simulation) settle(ctx context.Context) error {
	for {
		before := s.c.Job.Status.Conditions
		plan, err := s.c.Plan()
		if err != nil {
			return err
		}
		s.work += len(s.c.Pods) + 100
		for _, note := range plan.Notes {
			s.log.note(note)
		}
		for _, d := range plan.Decisions {
			s.decided(d)
		}
		effects, created := jobtest.Effects(plan), len(s.c.Created)
		s.c.CarryOut(plan, effects)
		for _, d := range plan.Delete {
			s.deleted(s.pods[d.UID])
		}
		for _, p := range s.c.Created[created:] {
			s.created(p)
		}
		s.log.conditions(s.c.Now, before, s.c.Job.Status.Conditions)
		if effects == 0 || s.work >= mostWork || len(s.pods) >= mostPods || ctx.Err() != nil {
			return nil
		}
	}
}

func (s *simulation) created(object *batch.Pod) {
	index := jobtest.Index(object)
	s.perIndex[index]++
	p := &pod{uid: object.UID, index: index, attempt: s.perIndex[index], next: s.c.Now.Add(startTime)}
	p.runs = p.attempt - 1
	p.name = fmt.Sprintf("%s-%d", s.c.Job.Name, p.attempt)
	if index >= 0 {
		p.name = fmt.Sprintf("%s-%d-%d", s.c.Job.Name, index, p.attempt)
	}
	s.pods[p.uid] = p
	s.order = append(s.order, p)
	s.log.created(s.c.Now, p)
}

// deleted notes that a pod is being deleted. It is nil-safe, as a plan may name a pod
// that has ended.
func (s *simulation) deleted(p *pod) {
	if p == nil || p.deleted {
		return
	}
	p.deleted = true
	p.phase, p.next = ending, s.c.Now.Add(endingTime)
	s.log.deleted(s.c.Now, p)
}

// following returns the time of the next change.
func (s *simulation) following() (next time.Time, ok bool) {
	if wait := s.c.RequeueAfter; wait > 0 {
		next, ok = s.c.Now.Add(wait), true
	}
	for _, p := range s.order {
		if !ok || p.next.Before(next) {
			next, ok = p.next, true
		}
	}
	return next, ok
}

// advance ends the finished phases.
func (s *simulation) advance() {
	s.work += len(s.order)
	due := s.order
	s.order = nil
	for _, p := range due {
		if p.next.After(s.c.Now) || !s.over(p) {
			s.order = append(s.order, p)
		}
	}
}

// over ends the phase of a pod, and reports whether the pod has ended with it.
func (s *simulation) over(p *pod) bool {
	switch p.phase {
	case starting, restarting:
		s.start(p)
		return false
	case ending:
		s.end(p, 143)
		if !s.tracked(p) {
			s.log.terminated(s.c.Now, p)
		}
		return true
	}
	if p.at.drain {
		s.c.Evict(p.uid)
	} else if action, _ := s.policies[p.at.container].DecideExit(backoff.Exit{Code: p.at.code}, 1); action != backoff.ActionStop {
		s.restart(p, action)
		return false
	}
	s.end(p, p.at.code)
	return true
}

// tracked reports whether the end of a pod still counts.
func (s *simulation) tracked(p *pod) bool {
	for _, object := range s.c.Pods {
		if object.UID == p.uid {
			return object.Tracked()
		}
	}
	return false
}

func (s *simulation) start(p *pod) {
	if p.phase == starting {
		s.c.Start(p.uid)
		s.c.Change(p.uid, func(object *batch.Pod) { object.Status.StartTime = s.c.Now })
		s.log.started(s.c.Now, p)
	}
	p.at = s.script.of(p.index).of(p.runs)
	p.runs++
	if p.at.container == "" {
		p.at.container = s.c.Job.Spec.Template.Spec.Containers[0].Name
	}
	if p.at.run == 0 {
		p.at.run = usualRun
	}
	p.phase, p.next = running, s.c.Now.Add(p.at.run)
}

// exitPolicies returns what decides about restarts in place, by container.
func exitPolicies(pod *corev1.PodSpec) map[string]backoff.ExitPolicy {
	policies := make(map[string]backoff.ExitPolicy)
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			policies[containers[i].Name] = convert.ExitPolicy(pod, &containers[i])
		}
	}
	return policies
}

// restart restarts a container in its pod as a kubelet does. After a long run the delay
// starts over. A restart of all containers has no delay and forgets the failures before it.
// It only waits for the other containers to end.
func (s *simulation) restart(p *pod, action backoff.Action) {
	s.c.Change(p.uid, func(object *batch.Pod) {
		statuses := &object.Status.ContainerStatuses
		if isInit(s.c.Job, p.at.container) {
			statuses = &object.Status.InitContainerStatuses
		}
		*statuses = countRestart(*statuses, p.at.container)
	})
	if action == backoff.ActionRestartAll {
		clear(p.streak)
		wait := restartAllTime
		if len(s.c.Job.Spec.Template.Spec.Containers) == 1 {
			wait = 0
		}
		s.log.restarted(s.c.Now, p, action, wait)
		p.phase, p.next = restarting, s.c.Now.Add(wait)
		return
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
	s.log.restarted(s.c.Now, p, action, delay)
	p.phase, p.next = restarting, s.c.Now.Add(delay)
}

// countRestart returns the statuses with one more restart of a container.
func countRestart(statuses []batch.ContainerStatus, container string) []batch.ContainerStatus {
	var counted []batch.ContainerStatus
	restarts := int32(1)
	for _, status := range statuses {
		if status.Name == container {
			restarts += status.RestartCount
			continue
		}
		counted = append(counted, status)
	}
	return append(counted, batch.ContainerStatus{Name: container, RestartCount: restarts})
}

func isInit(job *batch.Job, container string) bool {
	for _, c := range job.Spec.Template.Spec.InitContainers {
		if c.Name == container {
			return true
		}
	}
	return false
}

// end ends a pod. Only the container of its outcome has the code, but all of them if the
// node is drained or the pod is deleted.
func (s *simulation) end(p *pod, code int32) {
	only := p.at.container
	if p.deleted || p.at.drain {
		only = ""
	}
	s.c.Change(p.uid, func(object *batch.Pod) {
		restarts := object.Status.ContainerStatuses
		object.Finish(code, s.c.Now)
		jobtest.SetCondition(object, batch.PodReady, batch.ConditionFalse, "", s.c.Now)
		init := only != "" && isInit(s.c.Job, only)
		for i := range object.Status.ContainerStatuses {
			status := &object.Status.ContainerStatuses[i]
			for _, before := range restarts {
				if before.Name == status.Name {
					status.RestartCount = before.RestartCount
				}
			}
			if only != "" && status.Name != only {
				status.State.Terminated.ExitCode = 0
			}
		}
		if init {
			object.Status.InitContainerStatuses = []batch.ContainerStatus{{Name: only, State: batch.ContainerState{
				Terminated: &batch.ContainerStateTerminated{ExitCode: code, FinishedAt: s.c.Now},
			}}}
		}
	})
}

// decided records the decision on an ended pod.
func (s *simulation) decided(d jobpolicy.PodDecision) {
	p := s.pods[d.UID]
	var object *batch.Pod
	for _, one := range s.c.Pods {
		if one.UID == d.UID {
			object = one
		}
	}
	if p == nil || object == nil {
		return
	}
	if object.Status.Phase == batch.PodSucceeded {
		s.log.succeeded(s.c.Now, p)
		return
	}
	_, ignored := object.FailureCounts()
	failures := d.Failures + ignored
	if !d.Match.Counted() {
		failures++
	}
	if s.c.Job.Spec.BackoffLimitPerIndex == nil {
		failures = max(s.c.State.Failures, 1)
		if d.Match.Counted() {
			s.log.counted++
		}
	}
	s.log.failed(s.c.Now, p, d, engine.Remaining(failures, 0))
}
