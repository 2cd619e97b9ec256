package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// A jobRun records a Job whose controller is killed after a status was written and
// before the pods named in it lost their finalizers.
type jobRun struct {
	name, spec string
	before     []ends // each followed by plans
	killed     ends   // followed by half of a plan
	after      []ends
}

// ends are the exit codes of pods that end at a time after start, by the pod's number.
type ends struct {
	at    time.Duration
	codes map[int]int32
}

// ignored is an exit code that the policy of job-plain ignores.
const ignored = 7

var jobRuns = []jobRun{
	{
		name: "job-indexed",
		spec: `{"completionMode":"Indexed","completions":4,"parallelism":4,"backoffLimitPerIndex":2,"maxFailedIndexes":3,
			"podFailurePolicy":{"rules":[{"action":"FailIndex","onExitCodes":{"operator":"In","values":[42]}}]},
			"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main"}]}}}`,
		before: []ends{{0, nil}, {5 * second, map[int]int32{1: 1, 2: 0}}},
		killed: ends{10 * second, map[int]int32{3: 1, 4: 42}},
		after:  []ends{{12 * second, nil}, {15 * second, nil}, {21 * second, nil}, {30 * second, map[int]int32{5: 1}}, {60 * second, map[int]int32{6: 0}}, {90 * second, map[int]int32{7: 0}}},
	},
	{
		name: "job-plain",
		spec: `{"completions":5,"parallelism":3,"backoffLimit":6,
			"podFailurePolicy":{"rules":[{"action":"Ignore","onExitCodes":{"operator":"In","values":[7]}}]},
			"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main"}]}}}`,
		before: []ends{{0, nil}, {5 * second, map[int]int32{1: 1}}, {6 * second, map[int]int32{2: 7}}},
		killed: ends{8 * second, map[int]int32{3: 1}},
		after:  []ends{{9 * second, nil}, {20 * second, nil}, {48 * second, nil}, {55 * second, map[int]int32{4: 0, 5: 0, 6: 0}}, {90 * second, map[int]int32{7: 0, 8: 0}}},
	},
}

// step is a group of ends, and the plans that follow it.
type step struct {
	At    time.Time     `json:"at"`
	Ends  map[int]int32 `json:"ends,omitempty"` // exit codes by the pods' numbers
	Plans []planned     `json:"plans"`
}

// planned is a plan.
type planned struct {
	Create        []int            `json:"create,omitempty"` // indexes
	Delete        []string         `json:"delete,omitempty"`
	InterimStatus *batch.JobStatus `json:"interimStatus,omitempty"`
	Release       []string         `json:"release,omitempty"`
	FinalStatus   *batch.JobStatus `json:"finalStatus,omitempty"`
	RequeueAfter  string           `json:"requeueAfter"`
}

// cluster holds a Job and its pods.
type cluster struct {
	job   *batch.Job
	pods  []*batch.Pod
	made  int
	state jobpolicy.State
	now   time.Time
}

func recordJobs(folder string) {
	for _, r := range jobRuns {
		r.record(folder)
	}
}

func (r jobRun) record(folder string) {
	c := &cluster{job: &batch.Job{}}
	c.job.Name, c.job.Namespace, c.job.UID, c.job.CreationTimestamp = r.name, "default", "uid-"+r.name, start
	must(json.Unmarshal([]byte(r.spec), &c.job.Spec))
	c.job.Spec.Default()
	for _, e := range r.before {
		c.end(e)
		c.settle()
	}
	c.end(r.killed)
	if p := c.plan(true); p.InterimStatus == nil || len(p.Release) == 0 {
		panic("no end is left uncounted")
	}
	text, err := json.Marshal(saved{c.now, c.job, c.pods, c.state})
	must(err)
	write(folder, r.name+".json", json.RawMessage(text))
	c = readCluster(text) // the next run of the program
	var steps []step
	for _, e := range r.after {
		c.end(e)
		steps = append(steps, step{c.now, e.codes, c.settle()})
	}
	write(folder, r.name+".expected.json", map[string]any{"steps": steps})
}

// saved is what is left of a cluster whose controller was killed.
type saved struct {
	Now   time.Time       `json:"now"`
	Job   *batch.Job      `json:"job"`
	Pods  []*batch.Pod    `json:"pods"`
	State jobpolicy.State `json:"state"`
}

func readCluster(text []byte) *cluster {
	var s saved
	must(json.Unmarshal(text, &s))
	c := &cluster{job: s.Job, pods: s.Pods, state: s.State, now: s.Now}
	for _, p := range s.Pods {
		c.made = max(c.made, number(p.UID))
	}
	return c
}

// number returns the number of the pod with this UID.
func number(uid string) (n int) {
	_, err := fmt.Sscanf(uid, "uid-%d", &n)
	must(err)
	return n
}

// end sets the time and ends pods.
func (c *cluster) end(e ends) {
	c.now = start.Add(e.at)
	for n, code := range e.codes {
		i := slices.IndexFunc(c.pods, func(p *batch.Pod) bool { return number(p.UID) == n })
		pod := *c.pods[i]
		pod.Status = finished(code, c.now)
		c.pods[i] = &pod
	}
}

func finished(code int32, at time.Time) (s batch.PodStatus) {
	text := fmt.Sprintf(`{"phase":%q,"containerStatuses":[{"name":"main","state":{"terminated":{"exitCode":%d,"finishedAt":%q}}}]}`,
		map[bool]string{true: "Succeeded", false: "Failed"}[code == 0], code, at.Format(time.RFC3339))
	must(json.Unmarshal([]byte(text), &s))
	return s
}

// settle plans and carries out plans until nothing changes, and returns them.
func (c *cluster) settle() (plans []planned) {
	for {
		p := c.plan(false)
		plans = append(plans, p)
		if len(p.Create)+len(p.Delete)+len(p.Release) == 0 && p.InterimStatus == nil && p.FinalStatus == nil {
			return plans
		}
	}
}

// plan makes a plan and carries it out; if killed, up to the interim status.
func (c *cluster) plan(killed bool) planned {
	plan, err := jobpolicy.Engine{}.Plan(jobpolicy.Input{Job: c.job, Pods: c.pods, State: c.state, Now: c.now})
	must(err)
	p := planned{InterimStatus: plan.InterimStatus, FinalStatus: plan.FinalStatus, RequeueAfter: plan.RequeueAfter.String()}
	for _, d := range plan.Delete {
		p.Delete = append(p.Delete, d.UID)
		c.pods = slices.DeleteFunc(c.pods, func(pod *batch.Pod) bool { return pod.UID == d.UID })
	}
	for _, n := range plan.Create {
		p.Create = append(p.Create, n.Index)
		c.made++
		pod := &batch.Pod{ObjectMeta: n.ObjectMeta}
		pod.Name, pod.Namespace, pod.UID = fmt.Sprintf("%s-%d", c.job.Name, c.made), "default", fmt.Sprintf("uid-%d", c.made)
		pod.CreationTimestamp, pod.Spec, pod.Status.Phase = c.now, c.job.Spec.Template.Spec, batch.PodRunning
		c.pods = append(c.pods, pod)
	}
	if plan.InterimStatus != nil {
		c.job.Status = *plan.InterimStatus
	}
	c.state = plan.State
	for _, r := range plan.Release {
		p.Release = append(p.Release, r.UID)
		if !killed {
			c.release(r.UID)
		}
	}
	if plan.FinalStatus != nil && !killed {
		c.job.Status = *plan.FinalStatus
	}
	return p
}

// release takes the tracking finalizer off a pod.
func (c *cluster) release(uid string) {
	i := slices.IndexFunc(c.pods, func(p *batch.Pod) bool { return p.UID == uid })
	pod := *c.pods[i]
	pod.Finalizers = nil
	c.pods[i] = &pod
}
