package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Waiting is a container, pod or Job that waits.
type Waiting struct {
	Kind      string    `json:"kind"` // Pod or Job
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Container string    `json:"container,omitempty"` // "" if the whole object waits
	Reason    string    `json:"reason"`              // such as CrashLoopBackOff, or DeadlineExceeded
	Restarts  int32     `json:"restarts,omitempty"`
	Failures  int       `json:"failures,omitempty"` // of a Job, as they count
	From      time.Time `json:"from,omitzero"`      // earliest start; zero if unknown or never
	To        time.Time `json:"to,omitzero"`        // latest start
	Estimated bool      `json:"estimated,omitempty"`
	Never     bool      `json:"never,omitempty"` // nothing starts, because the pod or the Job fails at its deadline before
	Why       string    `json:"why"`
}

// Next is NextOf for all pods and Jobs that x knows.
func (x *Explainer) Next() []Waiting { return x.NextOf(x.Pods, x.Jobs) }

// NextOf returns everything that waits among the pods and Jobs, the soonest first, and then
// everything whose start is unknown.
func (x *Explainer) NextOf(pods []*corev1.Pod, jobs []*batchv1.Job) []Waiting {
	var all []Waiting
	for _, p := range pods {
		all = append(all, x.waitingOfPod(p)...)
	}
	for _, job := range jobs {
		all = append(all, x.waitingOfJob(job)...)
	}
	slices.SortFunc(all, func(a, b Waiting) int {
		if a.From.IsZero() != b.From.IsZero() {
			if a.From.IsZero() {
				return 1
			}
			return -1
		}
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Container, b.Container))
	})
	return all
}

func (w *Waiting) starts(s *Start) {
	w.From, w.To, w.Estimated, w.Never = s.From, s.To, s.Estimated, s.Never
}

// start returns when it starts.
func (w *Waiting) start() Start {
	return Start{From: w.From, To: w.To, Estimated: w.Estimated, Never: w.Never, Why: w.Why}
}

func (x *Explainer) waitingOfPod(p *corev1.Pod) (all []Waiting) {
	w := Waiting{Kind: "Pod", Namespace: p.Namespace, Name: p.Name}
	v := x.newPodView(p)
	switch {
	case podEnded(p):
		return nil
	case p.DeletionTimestamp != nil:
		if x.overdue(p) && p.Spec.NodeName != "" {
			w.Reason, w.Why = "Terminating", strings.TrimPrefix(v.over, "it is being deleted, and ")
			return []Waiting{w}
		}
		return nil
	case p.Spec.NodeName == "":
		w.Reason, w.Why = "Unscheduled", "it waits for a node"
		if waits := v.waits(); len(waits) > 0 {
			w.Why = "it waits for " + waits[0]
		}
		return []Waiting{w}
	case v.silent != "":
		w.Reason, w.Why = "NodeSilent", v.silent
		return []Waiting{w}
	case v.unacknowledged() != "":
		w.Reason, w.Why = "Unacknowledged", v.unacknowledged()
		return []Waiting{w}
	}
	for i := range v.histories {
		h := &v.histories[i]
		if h.Status == nil || h.Status.State.Running != nil || v.waitsFor(i) != "" {
			continue
		}
		c := v.container(i)
		if c.Start == nil && !c.Trouble || c.State == "terminated" && c.Start == nil {
			continue
		}
		w.Container, w.Reason, w.Restarts = c.Name, cmp.Or(c.Reason, "Waiting"), c.Restarts
		w.From, w.To, w.Estimated = time.Time{}, time.Time{}, false
		if c.Start != nil {
			w.starts(c.Start)
		}
		w.Why = cmp.Or(c.short, c.Why)
		if last := c.last(); last != nil && c.Reason == "CrashLoopBackOff" {
			w.Why = cause(last)
			if k := v.killOf(ofContainer(v.podEvents, c.Name), last); k != nil {
				w.Why += "; " + k.text
			}
		}
		all = append(all, w)
	}
	return all
}

func (x *Explainer) waitingOfJob(job *batchv1.Job) (all []Waiting) {
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			return nil
		}
	}
	w := Waiting{Kind: "Job", Namespace: job.Namespace, Name: job.Name}
	j := x.newJobView(job)
	w.Failures = j.failed()
	if job.Spec.Suspend != nil && *job.Spec.Suspend {
		w.Reason, w.Why = "Suspended", "it starts when "+cmp.Or(resumedWhen(job), "spec.suspend is false")
		return []Waiting{w}
	}
	never := func() []Waiting {
		w.Reason, w.Why = string(batchv1.JobReasonDeadlineExceeded), j.deadlineText()
		w.starts(&Start{Never: true})
		return append(all, w)
	}
	if j.deadlineOver() {
		return never()
	}
	if j.paused() {
		w.Reason, w.Why = "Paused", "it starts when spec.parallelism is above 0"
		return []Waiting{w}
	}
	if blockers := j.blockers(); len(blockers) > 0 {
		w.Reason, w.Why = "PodReplacement", j.blockedText(blockers)
		return []Waiting{w}
	}
	if s := j.beforeDeadline(j.start()); s != nil {
		if s.Never {
			return never()
		}
		w.Reason, w.Why = "Delay", s.Why
		w.starts(s)
		if len(j.plan.Create) == 0 {
			return []Waiting{w}
		}
		w.Reason, w.Why = "PodsDue", j.podsDue()
		all = append(all, w)
	}
	w.Reason, w.From = "", time.Time{}
	for _, index := range j.indexes() {
		if s := index.Start; s != nil && (len(all) == 0 || s.From.After(j.Now)) && (w.From.IsZero() || s.From.Before(w.From)) {
			w.Reason, w.Why = IndexDelay, fmt.Sprintf("index %d: %s", index.Index, s.Why)
			w.starts(s)
		}
	}
	switch {
	case w.Reason == "":
	case !j.beforeDeadline(&Start{From: w.From}).Never:
		all = append(all, w)
	case len(all) == 0:
		return never()
	}
	return all
}

// IndexDelay is the Reason of a Job one of whose indexes waits. A Job may have it beside
// another, if the pods of other indexes can start.
const IndexDelay = "IndexDelay"
