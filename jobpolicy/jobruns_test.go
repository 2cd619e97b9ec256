package jobpolicy_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/conformance/vectors"
	"github.com/restartkit/restart/conformance/vectors/shape"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/jobtest"
)

// The recorded runs are whole Jobs under the real controller, with a scripted kubelet.
// The driver below replays a scenario and compares the results with the record.

type recordedRun struct {
	Scenario         runScenario     `json:"scenario"`
	Outcome          string          `json:"outcome"`
	FinalStatus      json.RawMessage `json:"finalStatus"`
	PodsCreated      *int            `json:"podsCreated"`
	Steps            []recordedStep  `json:"steps"`
	RecreationDelays []string        `json:"recreationDelays"`
}

type recordedStep struct {
	Event            []string        `json:"event"`
	PodsCreatedAfter []string        `json:"podsCreatedAfter"`
	Status           json.RawMessage `json:"status"`
}

type runScenario struct {
	Name   string        `json:"name"`
	Spec   batch.JobSpec `json:"spec"`
	Script struct {
		Index   map[int][]runAttempt `json:"index"`
		Pods    []runAttempt         `json:"pods"`
		Default []runAttempt         `json:"default"`
	} `json:"script"`
	PickFirst       []int  `json:"pickFirst"`
	Order           string `json:"order"`
	TerminationStep bool   `json:"terminationStep"`
	BackoffBaseMs   int    `json:"backoffBaseMs"`
	BackoffMaxMs    int    `json:"backoffMaxMs"`
	Note            string `json:"note"`
}

type runAttempt struct {
	ExitCode       int32                `json:"exitCode"`
	Hang           bool                 `json:"hang"`
	Containers     []runContainer       `json:"containers"`
	InitContainers []runContainer       `json:"initContainers"`
	Phase          batch.PodPhase       `json:"phase"`
	Evict          bool                 `json:"evict"`
	Conditions     []batch.PodCondition `json:"conditions"`
	OnKill         *int32               `json:"onKill"`
}

type runContainer struct {
	Name     string `json:"name"`
	ExitCode int32  `json:"exitCode"`
	Running  bool   `json:"running"`
}

func (s *runScenario) UnmarshalJSON(data []byte) error {
	type plain runScenario
	return shape.StrictJSON(data, (*plain)(s))
}

func TestJobRuns(t *testing.T) {
	runs, timing, err := readRuns(vectors.Files())
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, r := range append(runs, timing...) {
		t.Run(r.Scenario.Name, func(t *testing.T) {
			differences, n := replay(r)
			compared += n
			for _, d := range differences {
				t.Error(d)
			}
		})
	}
	t.Logf("%d runs, %d with delays, %d fields compared, none left out", len(runs), len(timing), compared)
}

func readRuns(files fs.FS) (runs, timing []*recordedRun, err error) {
	const path = "jobcontroller_runs.json"
	data, err := fs.ReadFile(files, path)
	if err != nil {
		return nil, nil, err
	}
	var doc struct {
		Runs          []*recordedRun `json:"runs"`
		BackoffTiming []*recordedRun `json:"backoffTiming"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(doc.Runs) == 0 {
		return nil, nil, fmt.Errorf("%s: no runs", path)
	}
	return doc.Runs, doc.BackoffTiming, nil
}

// replay drives the scenario and returns the differences from the record and the number
// of fields compared.
func replay(r *recordedRun) (all []string, compared int) {
	d := newDriver(r.Scenario)
	differ := func(path string, want, got any) {
		w, _ := vectors.Value(want)
		g, _ := vectors.Value(got)
		for _, text := range vectors.Differences(w, g, &compared) {
			all = append(all, path+": "+strings.TrimPrefix(text, "want"))
		}
	}
	for d.step() {
	}
	if r.Steps != nil {
		differ("steps", len(r.Steps), len(d.steps))
		for i, s := range r.Steps[:min(len(r.Steps), len(d.steps))] {
			path := fmt.Sprintf("step %d (%s)", i, strings.Join(s.Event, "; "))
			slices.Sort(s.PodsCreatedAfter)
			slices.Sort(d.steps[i].PodsCreatedAfter)
			differ(path+" podsCreatedAfter", s.PodsCreatedAfter, d.steps[i].PodsCreatedAfter)
			if s.Status != nil {
				differ(path+" status", d.named(s.Status), d.steps[i].Status)
			}
		}
	}
	if r.PodsCreated != nil {
		differ("podsCreated", *r.PodsCreated, len(d.Created))
	}
	if r.Outcome != "" {
		differ("outcome", r.Outcome, d.outcome())
	}
	if r.FinalStatus != nil {
		differ("finalStatus", d.named(r.FinalStatus), d.recordStatus())
	}
	if r.RecreationDelays != nil {
		differ("recreationDelays", len(r.RecreationDelays), len(d.delays))
		for i, text := range r.RecreationDelays[:min(len(r.RecreationDelays), len(d.delays))] {
			compared++
			if err := compareDelay(text, d.delays[i]); err != nil {
				all = append(all, err.Error())
			}
		}
	}
	return all, compared
}

var delayText = regexp.MustCompile(`^(index -?\d+ attempt \d+) created (\d+) ms after`)

// compareDelay compares a recorded delay, which contains the recorder's own
// slowness, with ours, which is exact: the recorded one is at least ours and at
// most a tenth more.
func compareDelay(recorded, ours string) error {
	a, b := delayText.FindStringSubmatch(recorded), delayText.FindStringSubmatch(ours)
	if a == nil || b == nil || a[1] != b[1] {
		return fmt.Errorf("recreation %q, ours %q", recorded, ours)
	}
	var was, is int
	fmt.Sscan(a[2], &was)
	fmt.Sscan(b[2], &is)
	if is < was*10/11-1 || is > was {
		return fmt.Errorf("recreation %q, ours %q: off by more than a tenth", recorded, ours)
	}
	return nil
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

// driver is the scripted kubelet over a cluster.
type driver struct {
	*jobtest.Cluster
	scenario runScenario
	attempts map[string]runAttempt // by UID
	perIndex map[int]int           // attempts bound so far
	killed   map[string]bool       // pods that the controller deleted: they end as it pleases
	dying    []string              // evicted or deleted pods that end in steps of their own, oldest first
	steps    []recordedStep
	seen     int // created pods that a step has told of
	picked   int // of pickFirst
	delays   []string
	failedAt map[int]time.Time
	failJob  []string // messages for pods that matched FailJob, the first pass's first
}

func newDriver(s runScenario) *driver {
	d := &driver{scenario: s, attempts: map[string]runAttempt{}, perIndex: map[int]int{}, killed: map[string]bool{}, failedAt: map[int]time.Time{}}
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

// step performs the next action of the script, lets the controller come to rest and
// records both. It reports whether any action remained.
func (d *driver) step() bool {
	var event []string
	switch {
	case d.steps == nil:
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
	s := recordedStep{Event: event}
	for _, p := range d.Created[d.seen:] {
		s.PodsCreatedAfter = append(s.PodsCreatedAfter, podTitle(d.Cluster, p))
	}
	d.seen = len(d.Created)
	s.Status = d.recordStatus()
	d.steps = append(d.steps, s)
	return true
}

// pick returns the pods whose attempt ends next: those that run and do not hang,
// one at a time or all of them.
func (d *driver) pick() []string {
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
func (d *driver) attemptOf(p *batch.Pod, ends bool) runAttempt {
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
	var a runAttempt
	if len(list) > 0 {
		a = list[min(d.perIndex[i], len(list)-1)]
	}
	if i >= 0 || ends {
		d.perIndex[i]++
		d.attempts[p.UID] = a
	}
	return a
}

func (d *driver) find(uid string) *batch.Pod {
	for _, p := range d.Pods {
		if p.UID == uid {
			return p
		}
	}
	return nil
}

// exit ends the pod's attempt according to the script, or begins its eviction.
func (d *driver) exit(uid string) string {
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
func (d *driver) finish(uid string) {
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
	listed := func(list []runContainer, specs []batch.Container, code int32) (all []batch.ContainerStatus) {
		for _, spec := range specs {
			s := batch.ContainerStatus{Name: spec.Name}
			exit, running := code, false
			if i := slices.IndexFunc(list, func(k runContainer) bool { return k.Name == spec.Name }); i >= 0 {
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
func (d *driver) rest() {
	for range 10_000 {
		if d.failJob == nil {
			for _, text := range jobpolicy.FailJobMessages(&d.Job.Spec, d.Pods) {
				d.failJob = append(d.failJob, podSuffix.ReplaceAllString(text, "-XXXXX "))
			}
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
				d.delays = append(d.delays, fmt.Sprintf("index %d attempt %d created %d ms after the failure was reported", i, n-1, d.Now.Sub(at).Milliseconds()))
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

func (d *driver) outcome() string {
	if c, ok := d.Job.Status.Finished(); ok {
		return string(c.Type)
	}
	return "running"
}

// recordStatus returns the status in the form of the record, without times and without
// the suffixes of pod names.
func (d *driver) recordStatus() json.RawMessage {
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
		conditions = append(conditions, map[string]any{"type": c.Type, "status": c.Status, "reason": c.Reason, "message": podSuffix.ReplaceAllString(c.Message, "-XXXXX ")})
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

// named returns the recorded status with the pod named in ours, if several match
// FailJob.
func (d *driver) named(status json.RawMessage) any {
	tree, err := vectors.Tree(status)
	if err != nil {
		return err.Error()
	}
	jobpolicy.NameFirst(tree, d.failJob)
	return tree
}

var podSuffix = regexp.MustCompile(`-\d{5} `)

// TestJobRunsSelfTest corrupts each kind of recorded field once. The comparison must
// fail each time.
func TestJobRunsSelfTest(t *testing.T) {
	runs, timing, err := readRuns(vectors.Files())
	if err != nil {
		t.Fatal(err)
	}
	corruptText := func(status json.RawMessage, field string) (json.RawMessage, bool) {
		if status == nil {
			return nil, false
		}
		var tree map[string]any
		if err := json.Unmarshal(status, &tree); err != nil {
			t.Fatal(err)
		}
		switch v := tree[field].(type) {
		case float64:
			tree[field] = v + 1
		case string:
			tree[field] = v + "9"
		case []any:
			if len(v) == 0 {
				return nil, false
			}
			v[0].(map[string]any)["reason"] = "Another"
		default:
			return nil, false
		}
		text, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		return text, true
	}
	corruptions := map[string]func(r *recordedRun) bool{
		"outcome": func(r *recordedRun) bool { r.Outcome += "!"; return true },
		"podsCreated": func(r *recordedRun) bool {
			if r.PodsCreated == nil {
				return false
			}
			*r.PodsCreated++
			return true
		},
		"step missing": func(r *recordedRun) bool {
			if len(r.Steps) == 0 {
				return false
			}
			r.Steps = r.Steps[: len(r.Steps)-1 : len(r.Steps)]
			return len(r.Steps) > 0
		},
		"podsCreatedAfter": func(r *recordedRun) bool {
			if len(r.Steps) == 0 {
				return false
			}
			r.Steps[0].PodsCreatedAfter = append(r.Steps[0].PodsCreatedAfter, "index 77 attempt 0")
			return true
		},
	}
	for _, field := range []string{"active", "ready", "terminating", "succeeded", "failed", "completedIndexes", "failedIndexes", "conditions"} {
		corruptions["finalStatus."+field] = func(r *recordedRun) (ok bool) {
			r.FinalStatus, ok = corruptText(r.FinalStatus, field)
			return ok
		}
		corruptions["steps.status."+field] = func(r *recordedRun) (ok bool) {
			for i := range r.Steps {
				if text, yes := corruptText(r.Steps[i].Status, field); yes {
					r.Steps[i].Status = text
					return true
				}
			}
			return false
		}
	}
	noticed := 0
	for name, corrupt := range corruptions {
		tried := false
		for i := range runs {
			fresh, _, err := readRuns(vectors.Files())
			if err != nil {
				t.Fatal(err)
			}
			if r := fresh[i]; corrupt(r) {
				tried = true
				if all, _ := replay(r); len(all) == 0 {
					t.Errorf("%s: a corrupted %s goes unnoticed", r.Scenario.Name, name)
				}
				noticed++
				break
			}
		}
		if !tried {
			t.Errorf("no run has a %s to corrupt", name)
		}
	}
	for _, r := range timing {
		if len(r.RecreationDelays) == 0 {
			continue
		}
		r.RecreationDelays[0] = "index 0 attempt 1 created 1 ms after the failure was reported"
		if all, _ := replay(r); len(all) == 0 {
			t.Errorf("%s: a corrupted delay goes unnoticed", r.Scenario.Name)
		}
		noticed++
	}
	t.Logf("%d corruptions noticed", noticed)
}
