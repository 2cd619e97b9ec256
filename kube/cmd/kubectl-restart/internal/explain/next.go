package explain

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/kube/convert"
)

// Waiting is a container, pod or Job that waits.
type Waiting struct {
	Kind      string    `json:"kind"` // Pod or Job
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Container string    `json:"container,omitempty"` // "" if the whole object waits
	Reason    string    `json:"reason"`              // such as CrashLoopBackOff
	Restarts  int32     `json:"restarts,omitempty"`
	From      time.Time `json:"from,omitzero"` // earliest start; zero if unknown
	To        time.Time `json:"to,omitzero"`   // latest start
	Why       string    `json:"why"`
}

// Next returns everything that waits among pods and Jobs, the soonest first, and then
// everything whose start is unknown.
func Next(pods []*corev1.Pod, jobs []*batchv1.Job, o Options) []Waiting {
	var all []Waiting
	of := make(map[types.UID][]*corev1.Pod)
	for _, p := range pods {
		all = append(all, waitingOfPod(p, o)...)
		if c := metav1.GetControllerOf(p); c != nil && c.Kind == "Job" {
			of[c.UID] = append(of[c.UID], p)
		}
	}
	for _, job := range jobs {
		if w, ok := waitingOfJob(job, of[job.UID], o); ok {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b Waiting) int {
		switch {
		case a.From.IsZero() != b.From.IsZero():
			if a.From.IsZero() {
				return 1
			}
			return -1
		}
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Container, b.Container))
	})
	return all
}

func waitingOfPod(p *corev1.Pod, o Options) (all []Waiting) {
	over := podOver(p, o)
	if over != "" {
		return nil
	}
	w := Waiting{Kind: "Pod", Namespace: p.Namespace, Name: p.Name}
	if p.Spec.NodeName == "" {
		w.Reason, w.Why = "Unscheduled", "it waits for a node"
		if waits := podWaits(p); len(waits) > 0 {
			w.Why = "it waits for " + waits[0]
		}
		return []Waiting{w}
	}
	histories := convert.Histories(p)
	for i := range histories {
		h := &histories[i]
		if h.Status == nil || h.Status.State.Running != nil {
			continue
		}
		c := explainContainer(p, h, over, o)
		if c.Start == nil || c.Reason == "PodInitializing" {
			continue
		}
		w.Container, w.Reason, w.Restarts = c.Name, cmp.Or(c.Reason, "Waiting"), c.Restarts
		w.From, w.To, w.Why = c.Start.From, c.Start.To, cmp.Or(line(c.Message), c.Why)
		if exit, ok := h.Last(); ok && c.Reason != "ImagePullBackOff" && c.Reason != "ErrImagePull" {
			w.Why = exitText(exit.Code, exit.Signal, exit.Reason)
		}
		all = append(all, w)
	}
	return all
}

func waitingOfJob(job *batchv1.Job, pods []*corev1.Pod, o Options) (w Waiting, ok bool) {
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			return w, false
		}
	}
	w = Waiting{Kind: "Job", Namespace: job.Namespace, Name: job.Name}
	if job.Spec.Suspend != nil && *job.Spec.Suspend {
		w.Reason, w.Why = "Suspended", "it starts when spec.suspend is false"
		return w, true
	}
	j := newJobView(job, pods, o)
	if s := j.start(); s != nil {
		w.Reason, w.From, w.To, w.Why = "Delay", s.From, s.To, s.Why
		if len(j.plan.Create) > 0 {
			w.Reason = "PodsDue"
		}
		return w, true
	}
	for _, x := range j.indexes() {
		if x.Start != nil && (w.From.IsZero() || x.Start.From.Before(w.From)) {
			w.Reason, w.From, w.To, w.Why = "IndexDelay", x.Start.From, x.Start.To, x.Start.Why
		}
	}
	return w, w.Reason != ""
}
