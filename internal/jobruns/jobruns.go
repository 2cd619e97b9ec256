// Package jobruns replays the scripts of recorded whole Jobs on a cluster in memory, with
// this library's controller.
package jobruns

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/jobtest"
)

// Step is an event and what the controller did until it came to rest.
type Step struct {
	Event            []string        `json:"event"`
	PodsCreatedAfter []string        `json:"podsCreatedAfter"`
	Status           json.RawMessage `json:"status"`
}

// Delay is the time from the report of a failure to the creation of the next pod.
type Delay struct {
	Index, Attempt int // Index is -1 for a NonIndexed Job
	After          time.Duration
}

// podTitle is a created pod's completion index and attempt, as names begin.
func podTitle(c *jobtest.Cluster, p *batch.Pod) string {
	i := jobtest.Index(p)
	n := 0
	for _, q := range c.Created {
		if q.UID == p.UID {
			break
		}
		if jobtest.Index(q) == i {
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

// Driver is the scripted kubelet over a cluster.
type Driver struct {
	*jobtest.Cluster
	scenario Scenario
	attempts map[string]attempt // by UID
	perIndex map[int]int        // attempts bound so far
	killed   map[string]bool    // pods that the controller deleted: they end as it pleases
	dying    []string           // evicted or deleted pods that end in steps of their own, oldest first
	Steps    []Step             // taken so far
	seen     int                // created pods that a step has told of
	picked   int                // of pickFirst
	Delays   []Delay            // of recreations
	failedAt map[int]time.Time
	// BeforePlan, if not nil, is called before each plan.
	BeforePlan func()
}

// New returns a driver before its first step.
func New(s Scenario) *Driver {
	d := &Driver{scenario: s, attempts: map[string]attempt{}, perIndex: map[int]int{}, killed: map[string]bool{}, failedAt: map[int]time.Time{}}
	job := &batch.Job{ObjectMeta: batch.ObjectMeta{Name: s.Name, Namespace: "NS", UID: "job"}, Spec: s.Spec}
	t := &job.Spec.Template.Spec
	if len(t.Containers) == 0 {
		t.Containers = []batch.Container{{Name: "main"}}
	}
	if t.RestartPolicy == "" {
		t.RestartPolicy = batch.RestartPolicyNever
	}
	d.Cluster = jobtest.New(job)
	d.Now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	d.Engine = jobpolicy.Engine{BaseDelay: time.Millisecond, MaxDelay: time.Millisecond, MinRequeue: time.Millisecond}
	if s.BackoffBaseMs > 0 {
		d.Engine.BaseDelay = time.Duration(s.BackoffBaseMs) * time.Millisecond
		d.Engine.MaxDelay = time.Duration(s.BackoffMaxMs) * time.Millisecond
	}
	return d
}

// Step performs the next action of the script, lets the controller come to rest and
// records both. It reports whether any action remained.
func (d *Driver) Step() bool {
	var event []string
	switch {
	case d.Steps == nil:
		event = []string{"create job"}
	case len(d.dying) > 0:
		uid := d.dying[0]
		d.dying = d.dying[1:]
		event = []string{"terminates " + uid}
		d.finish(uid)
	default:
		for _, uid := range d.pick() {
			event = append(event, d.exit(uid))
		}
		if event == nil {
			return false
		}
	}
	d.rest()
	s := Step{Event: event}
	for _, p := range d.Created[d.seen:] {
		s.PodsCreatedAfter = append(s.PodsCreatedAfter, podTitle(d.Cluster, p))
	}
	d.seen = len(d.Created)
	s.Status = d.Status()
	d.Steps = append(d.Steps, s)
	return true
}

// pick returns the pods whose attempt ends next: those that run and do not hang,
// one at a time or all of them.
func (d *Driver) pick() []string {
	var running []*batch.Pod
	for _, p := range d.Pods {
		if p.Status.Phase == batch.PodRunning && p.DeletionTimestamp.IsZero() && !d.attemptOf(p, false).Hang {
			running = append(running, p)
		}
	}
	slices.SortStableFunc(running, func(a, b *batch.Pod) int {
		if i, k := jobtest.Index(a), jobtest.Index(b); i != k {
			return i - k
		}
		return strings.Compare(a.UID, b.UID)
	})
	if len(running) == 0 {
		return nil
	}
	if d.scenario.Order == "round" {
		var all []string
		for _, p := range running {
			all = append(all, p.UID)
		}
		return all
	}
	for d.picked < len(d.scenario.PickFirst) {
		want := d.scenario.PickFirst[d.picked]
		d.picked++
		for _, p := range running {
			if jobtest.Index(p) == want {
				return []string{p.UID}
			}
		}
	}
	return []string{running[0].UID}
}

// attemptOf returns the script of the pod. An Indexed Job's pods are bound to theirs on
// creation, others when they end.
func (d *Driver) attemptOf(p *batch.Pod, ends bool) attempt {
	if a, ok := d.attempts[p.UID]; ok {
		return a
	}
	i := jobtest.Index(p)
	list := d.scenario.Script.Index[i]
	if i < 0 {
		list = d.scenario.Script.Pods
	}
	if len(list) == 0 {
		list = d.scenario.Script.Default
	}
	var a attempt
	if len(list) > 0 {
		a = list[min(d.perIndex[i], len(list)-1)]
	}
	if i >= 0 || ends {
		d.perIndex[i]++
		d.attempts[p.UID] = a
	}
	return a
}

func (d *Driver) find(uid string) *batch.Pod {
	for _, p := range d.Pods {
		if p.UID == uid {
			return p
		}
	}
	return nil
}

// exit ends the pod's attempt according to the script, or begins its eviction.
func (d *Driver) exit(uid string) string {
	p := d.find(uid)
	a := d.attemptOf(p, true)
	if !a.Evict {
		d.finish(uid)
		return "exit " + uid
	}
	d.Change(uid, func(p *batch.Pod) {
		p.DeletionTimestamp = d.Now
		for _, c := range a.Conditions {
			jobtest.SetCondition(p, c.Type, c.Status, c.Reason, d.Now)
		}
	})
	if d.scenario.TerminationStep {
		d.dying = append(d.dying, uid)
	} else {
		d.finish(uid)
	}
	return "evict " + uid
}

// finish sets the pod's end.
func (d *Driver) finish(uid string) {
	p := d.find(uid)
	if p == nil {
		return
	}
	a := d.attemptOf(p, true)
	phase, code := a.Phase, a.ExitCode
	if d.killed[uid] {
		phase, code = batch.PodFailed, 143
		a.Containers, a.InitContainers = nil, nil
		if a.OnKill != nil {
			code = *a.OnKill
		}
	}
	if phase == "" {
		phase = batch.PodSucceeded
		codes := []int32{code}
		for _, k := range slices.Concat(a.Containers, a.InitContainers) {
			codes = append(codes, k.ExitCode)
		}
		if slices.ContainsFunc(codes, func(c int32) bool { return c != 0 }) {
			phase = batch.PodFailed
		}
	}
	if phase == batch.PodFailed {
		d.failedAt[jobtest.Index(p)] = d.Now
	}
	listed := func(list []container, specs []batch.Container, code int32) (all []batch.ContainerStatus) {
		for _, spec := range specs {
			s := batch.ContainerStatus{Name: spec.Name}
			exit, running := code, false
			if i := slices.IndexFunc(list, func(k container) bool { return k.Name == spec.Name }); i >= 0 {
				exit, running = list[i].ExitCode, list[i].Running
			} else if len(list) > 0 {
				exit = 0
			}
			if !running {
				s.State.Terminated = &batch.ContainerStateTerminated{ExitCode: exit, FinishedAt: d.Now}
			}
			all = append(all, s)
		}
		return all
	}
	d.Change(uid, func(p *batch.Pod) {
		p.Status.Phase = phase
		jobtest.SetCondition(p, batch.PodReady, batch.ConditionFalse, "", d.Now)
		p.Status.ContainerStatuses = listed(a.Containers, p.Spec.Containers, code)
		p.Status.InitContainerStatuses = listed(a.InitContainers, p.Spec.InitContainers, 0)
	})
}

// rest runs the controller and the kubelet until nothing changes.
func (d *Driver) rest() {
	for range 10_000 {
		if d.BeforePlan != nil {
			d.BeforePlan()
		}
		plan, err := d.Plan()
		if err != nil {
			panic(err)
		}
		known := len(d.Created)
		d.CarryOut(plan, jobtest.Effects(plan))
		for _, p := range d.Created[known:] {
			i := jobtest.Index(p)
			if at, ok := d.failedAt[i]; ok {
				n := 0
				for _, q := range d.Created {
					if jobtest.Index(q) == i {
						n++
					}
				}
				d.Delays = append(d.Delays, Delay{Index: i, Attempt: n - 1, After: d.Now.Sub(at)})
				delete(d.failedAt, i)
			}
			d.Start(p.UID)
		}
		for _, del := range plan.Delete {
			d.killed[del.UID] = true
			if d.scenario.TerminationStep {
				d.dying = append(d.dying, del.UID)
			} else {
				d.finish(del.UID)
			}
		}
		if jobtest.Effects(plan) > 0 {
			continue
		}
		// Short delays pass; a deadline passes only when nothing else can happen.
		short := d.RequeueAfter > 0 && d.RequeueAfter <= 2*d.Engine.MaxDelay
		if d.RequeueAfter == 0 || !short && (len(d.pick()) > 0 || len(d.dying) > 0) {
			return
		}
		d.Now = d.Now.Add(d.RequeueAfter)
	}
	panic("the controller does not come to rest")
}

// Outcome returns the condition that ended the Job, or "running".
func (d *Driver) Outcome() string {
	if c, ok := d.Job.Status.Finished(); ok {
		return string(c.Type)
	}
	return "running"
}

// Status returns the status in the form of the record, without times and without
// the suffixes of pod names.
func (d *Driver) Status() json.RawMessage {
	s := d.Job.Status
	out := map[string]any{
		"active": s.Active, "ready": s.Ready, "terminating": s.Terminating, "succeeded": s.Succeeded, "failed": s.Failed,
	}
	if s.CompletedIndexes != "" {
		out["completedIndexes"] = s.CompletedIndexes
	}
	if s.FailedIndexes != nil {
		out["failedIndexes"] = *s.FailedIndexes
	}
	var conditions []map[string]any
	for _, c := range s.Conditions {
		conditions = append(conditions, map[string]any{"type": c.Type, "status": c.Status, "reason": c.Reason, "message": PodSuffix.ReplaceAllString(c.Message, "-XXXXX ")})
	}
	if conditions != nil {
		out["conditions"] = conditions
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return text
}

// PodSuffix is the random end of a pod's name in a message.
var PodSuffix = regexp.MustCompile(`-\d{5} `)
