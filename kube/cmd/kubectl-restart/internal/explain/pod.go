package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/kube/convert"
)

// Pod explains a pod.
type Pod struct {
	Kind       string      `json:"kind"` // Pod
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	Phase      string      `json:"phase,omitempty"`
	Node       string      `json:"node,omitempty"`
	Owner      string      `json:"owner,omitempty"` // its controller, such as Job/nightly
	Summary    string      `json:"summary"`         // one sentence
	Trouble    bool        `json:"trouble"`         // something keeps the pod from running, being ready or ending well
	Waits      []string    `json:"waits,omitempty"`
	Containers []Container `json:"containers,omitempty"`
	Ephemeral  []string    `json:"ephemeral,omitempty"` // ephemeral containers, which are never restarted
	Limits     []Limit     `json:"limits,omitempty"`
	Lint       []Finding   `json:"lint,omitempty"`
}

// OfPod explains a pod.
func OfPod(p *corev1.Pod, o Options) Pod {
	x := Pod{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, Phase: string(p.Status.Phase), Node: p.Spec.NodeName}
	if c := metav1.GetControllerOf(p); c != nil {
		x.Owner = c.Kind + "/" + c.Name
	}
	over := podOver(p, o)
	histories := convert.Histories(p)
	for i := range histories {
		x.Containers = append(x.Containers, explainContainer(p, &histories[i], over, o))
	}
	for _, c := range p.Spec.EphemeralContainers {
		x.Ephemeral = append(x.Ephemeral, c.Name)
	}
	x.Limits = podLimits(p, over, o)
	x.Lint = lintPodSpec(p, "spec", &p.Spec)
	if over == "" {
		x.Waits = podWaits(p)
	}
	x.summarize(p, over, o.Now)
	return x
}

// podOver returns why a pod's containers are not started again, or "".
func podOver(p *corev1.Pod, o Options) string {
	switch p.Status.Phase {
	case corev1.PodSucceeded:
		return "it has succeeded"
	case corev1.PodFailed:
		text := "it has failed"
		if p.Status.Reason != "" {
			text += " (" + line(p.Status.Reason) + ")"
		}
		if p.Status.Message != "" {
			text += ": " + line(p.Status.Message)
		}
		return text
	}
	if d := p.DeletionTimestamp; d != nil {
		// The timestamp is the end of the grace period.
		text := "it is being deleted"
		if d.After(o.Now) {
			text += ", with grace until " + until(d.Time, o.Now)
		} else {
			text += ", since " + ago(d.Time, o.Now)
		}
		if len(p.Finalizers) > 0 {
			text += "; finalizers keep it: " + line(strings.Join(p.Finalizers, ", "))
		}
		return text
	}
	return ""
}

// podWaits lists what a pod as a whole waits for.
func podWaits(p *corev1.Pod) (waits []string) {
	for _, g := range p.Spec.SchedulingGates {
		waits = append(waits, "the scheduling gate "+line(g.Name))
	}
	for _, c := range p.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			continue
		}
		text := ""
		switch c.Type {
		case corev1.PodScheduled:
			if len(p.Spec.SchedulingGates) > 0 {
				continue
			}
			text = "a node"
		case corev1.PodReadyToStartContainers:
			if p.Status.Phase != corev1.PodPending || p.Spec.NodeName == "" {
				continue
			}
			text = "its sandbox and volumes"
		default:
			if !isGate(p, c.Type) {
				continue
			}
			text = "the readiness gate " + line(string(c.Type))
		}
		if detail := cmp.Or(line(c.Message), line(c.Reason)); detail != "" {
			text += ": " + detail
		}
		waits = append(waits, text)
	}
	return waits
}

func isGate(p *corev1.Pod, t corev1.PodConditionType) bool {
	return slices.ContainsFunc(p.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool { return g.ConditionType == t })
}

func podLimits(p *corev1.Pod, over string, o Options) []Limit {
	seconds := p.Spec.ActiveDeadlineSeconds
	if seconds == nil || over != "" {
		return nil
	}
	l := Limit{Name: "activeDeadlineSeconds", Max: *seconds, Left: *seconds, Text: "the pod fails that many seconds after its start"}
	if start := p.Status.StartTime; start != nil {
		l.timed(start.Time, o.Now, "the pod fails")
	}
	return []Limit{l}
}

// timed sets the limit to an end that many seconds after a start.
func (l *Limit) timed(start, now time.Time, effect string) {
	seconds := min(max(l.Max, 0), 1<<33) // the length of a Duration is limited
	l.At = start.Add(time.Duration(seconds) * time.Second)
	l.Used = max(int64(now.Sub(start)/time.Second), 0)
	l.Left = max(l.Max-l.Used, 0)
	l.Text = effect + " at " + until(l.At, now)
}

// stuckWords are verbs for containers in trouble, by state.
var stuckWords = map[string]string{"waiting": "waits", "running": "is not ready", "terminated": "has ended", "unknown": "is unknown"}

// summarize sets Summary and Trouble.
func (x *Pod) summarize(p *corev1.Pod, over string, now time.Time) {
	failed := p.Status.Phase == corev1.PodFailed
	if d := p.DeletionTimestamp; d != nil && now.Sub(d.Time) > time.Minute {
		failed = true // something keeps it from being deleted
	}
	var stuck []string
	for i := range x.Containers {
		if c := &x.Containers[i]; c.Trouble {
			stuck = append(stuck, fmt.Sprintf("container %s %s: %s", line(c.Name), stuckWords[c.State], c.Why))
		}
	}
	switch {
	case over != "":
		x.Summary, x.Trouble = over, failed
	case p.Status.Phase == "" && len(p.Status.Conditions) == 0 && len(p.Status.ContainerStatuses) == 0:
		x.Summary, x.Trouble = "no scheduler and no kubelet has reported it yet", true
	case p.Spec.NodeName == "" && len(x.Waits) > 0:
		x.Summary, x.Trouble = "it waits for "+x.Waits[0], true
	case p.Spec.NodeName == "":
		x.Summary, x.Trouble = "it waits for a node", true
	case len(stuck) > 0:
		x.Summary, x.Trouble = strings.Join(stuck, "; "), true
	case len(x.Waits) > 0:
		x.Summary, x.Trouble = "it waits for "+x.Waits[0], true
	default:
		x.summarizeFine(p)
	}
}

func (x *Pod) summarizeFine(p *corev1.Pod) {
	running, restarts := 0, int32(0)
	for i := range x.Containers {
		c := &x.Containers[i]
		if c.State == "running" {
			running++
		}
		restarts += max(c.Restarts, 0)
	}
	if p.Status.Phase == corev1.PodPending {
		x.Summary = "it is starting"
		for i := range x.Containers {
			if c := &x.Containers[i]; c.State == "waiting" || c.State == "running" && c.Role == convert.RoleInit {
				x.Summary += fmt.Sprintf("; %s %s: %s", roles[c.Role], line(c.Name), cmp.Or(c.Why, "it runs"))
				break
			}
		}
		return
	}
	x.Summary = "nothing is wrong: " + counted(running, "container") + " running"
	if restarts > 0 {
		x.Summary += ", " + counted(restarts, "restart") + " so far"
	}
}
