package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// EventsOf returns the events of an object.
func (x *Explainer) EventsOf(kind, namespace, name string) []*corev1.Event {
	return x.events[eventKey(kind, namespace, name)]
}

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
