package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Workload explains an object that keeps pods running, such as a Deployment, by its pods.
type Workload struct {
	Kind       string      `json:"kind"`
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	Summary    string      `json:"summary"` // one sentence
	Trouble    bool        `json:"trouble"`
	Advice     string      `json:"advice,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"` // those that name a problem
	Pods       []Pod       `json:"pods"`                 // those in trouble first
	Jobs       []Job       `json:"jobs,omitempty"`       // of a CronJob
	Events     []Event     `json:"events,omitempty"`
	Findings   []Finding   `json:"findings,omitempty"`

	state  string // Summary without what is said about a pod or Job
	remedy string // Advice if it is not about one of them
}

// Owner is an object that keeps pods or Jobs running.
type Owner struct {
	Kind, Namespace, Name string
	Wanted                int32 // pods it wants; -1 if unknown
	Conditions            []Condition
	Events                []*corev1.Event
	Findings              []Finding
	Suspended             bool // a CronJob that starts no Jobs
	Manifest              bool // no cluster has seen it
}

// Workload explains an object by its pods and Jobs.
func (x *Explainer) Workload(o Owner, pods []Pod, jobs []Job) Workload {
	w := Workload{
		Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Conditions: o.Conditions,
		Pods: pods, Jobs: jobs, Findings: o.Findings, Events: shownEvents(o.Events),
	}
	ready, trouble := 0, 0
	for i := range w.Pods {
		p := &w.Pods[i]
		p.Findings = nil // those of the template are the workload's
		if p.Trouble {
			trouble++
		} else if p.Phase == string(corev1.PodRunning) {
			ready++
		}
	}
	slices.SortStableFunc(w.Pods, func(a, b Pod) int {
		if a.Trouble != b.Trouble {
			return map[bool]int{true: -1, false: 1}[a.Trouble]
		}
		return cmp.Compare(a.Name, b.Name)
	})
	for i := range w.Jobs {
		if w.Jobs[i].Trouble {
			trouble++
		}
	}
	w.Trouble = trouble > 0 || len(o.Conditions) > 0
	switch {
	case o.Kind == "CronJob" && x.Partial != "" && len(jobs) == 0:
		w.Summary = "its Jobs are " + x.Partial
		if o.Suspended {
			w.Summary += "; it is suspended and starts no Jobs"
		}
	case o.Kind == "CronJob":
		w.Summary = fmt.Sprintf("%s, %d in trouble", counted(len(jobs), "Job"), trouble)
		if o.Suspended {
			w.Summary += "; it is suspended and starts no Jobs"
		}
	case x.Partial != "" && len(pods) == 0:
		w.Summary = "its pods are " + x.Partial
	case o.Wanted >= 0 && len(pods) == 0 && o.Wanted > 0:
		w.Summary, w.Trouble = fmt.Sprintf("it has no pod, and wants %d", o.Wanted), true
	case o.Wanted >= 0:
		w.Summary = fmt.Sprintf("%d of %d pods run without trouble", ready, o.Wanted)
	default:
		w.Summary = fmt.Sprintf("%d of %d pods run without trouble", ready, len(pods))
	}
	if missing := int(o.Wanted) - len(pods); x.Partial != "" && len(pods) > 0 && missing > 0 {
		w.Summary += fmt.Sprintf("; %s %s", counted(missing, "pod"), x.Partial)
	}
	if e := x.refused(&o, pods); e != nil {
		w.Trouble, w.remedy = true, createAdvice(e.Message, o.Namespace)
		if len(pods) > 0 {
			w.Summary += fmt.Sprintf("; %s missing, and", counted(lacking(&o, pods), "pod"))
		} else {
			w.Summary += ";"
		}
		w.Summary += fmt.Sprintf(" creating one failed at %s: %s", ago(eventTime(e), x.Now), line(e.Message))
	}
	for _, c := range o.Conditions {
		w.Summary += "; " + line(c.Type) + " is " + line(c.Status) + conditionText(c.Reason, strings.TrimRight(c.Message, ". "))
		if remedy := createAdvice(c.Message, o.Namespace); c.Type == "ReplicaFailure" && remedy != "" {
			w.remedy = remedy
		}
	}
	switch {
	case o.Suspended:
		w.remedy = "to start Jobs again, set spec.suspend to false"
	case o.Manifest && len(o.Conditions) == 0:
		w.remedy = judgeManifests
	}
	w.state, w.Advice = w.Summary, w.remedy
	for i := range w.Pods {
		if p := &w.Pods[i]; p.Trouble {
			w.Summary += fmt.Sprintf("; pod %s: %s", line(p.Name), p.Summary)
			w.Advice = p.Advice
			break
		}
	}
	for i := range w.Jobs {
		if job := &w.Jobs[i]; job.Trouble {
			w.Summary += fmt.Sprintf("; Job %s: %s", line(job.Name), job.Summary)
			w.Advice = job.Advice
			break
		}
	}
	return w
}

// lacking returns how many of the pods that a workload wants do not exist. Pods that have
// ended do not count. A terminating pod does, because nothing has refused its successor.
func lacking(o *Owner, pods []Pod) int {
	n := int(o.Wanted)
	for i := range pods {
		if phase := pods[i].Phase; phase != string(corev1.PodSucceeded) && phase != string(corev1.PodFailed) {
			n--
		}
	}
	return n
}

// refused returns the Event that says why a workload lacks pods, or nil. Without one, or with
// a condition that says the same, a StatefulSet may just be starting its pods in order.
func (x *Explainer) refused(o *Owner, pods []Pod) *corev1.Event {
	if x.Partial != "" || lacking(o, pods) <= 0 || slices.ContainsFunc(o.Conditions, func(c Condition) bool { return c.Type == "ReplicaFailure" }) {
		return nil
	}
	e := latestEvent(o.Events, "FailedCreate")
	if e == nil || x.Now.Sub(eventTime(e)) > longestRetry {
		return nil
	}
	return e
}

// longestRetry exceeds the time after which a controller tries again to create a pod, which
// client-go limits to 1000 s. Without a later Event, the try has succeeded.
const longestRetry = 20 * time.Minute

// AddCondition adds a condition of the object if it says that something is wrong.
func (o *Owner) AddCondition(c Condition) {
	wrong := c.Status == string(corev1.ConditionFalse)
	if c.Type == "ReplicaFailure" {
		wrong = c.Status == string(corev1.ConditionTrue)
	}
	if wrong {
		o.Conditions = append(o.Conditions, c)
	}
}
