package explain

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// NodeOf returns the name of the node whose object says why a pod is as it is, or "" if
// the pod explains itself. Only such nodes need to be read.
func NodeOf(p *corev1.Pod, now time.Time) string {
	switch {
	case p.Spec.NodeName == "" || podEnded(p):
		return ""
	case overdue(p, now), unacknowledged(p, now), p.Status.Phase == corev1.PodUnknown, p.Status.Reason == "NodeLost", markedNotReady(p):
		return p.Spec.NodeName
	}
	return ""
}

// podEnded reports whether all containers of a pod have ended for good.
func podEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// overdueAfter is how long after it was due an act of the control plane or a node is late:
// the end of a deleted pod, since a kubelet kills at the end of the grace period and then
// cleans up and reports, the first try of a scheduler, or the end of a Job at its deadline.
const overdueAfter = 30 * time.Second

// overdue reports whether a pod is being deleted and should have ended by now.
func overdue(p *corev1.Pod, now time.Time) bool {
	return p.DeletionTimestamp != nil && now.Sub(p.DeletionTimestamp.Time) > overdueAfter
}

// overdue is the function overdue for objects that are as old as Now says.
func (x *Explainer) overdue(p *corev1.Pod) bool { return !x.Undated && overdue(p, x.Now) }

// acknowledged reports whether the kubelet of a pod's node has reported the pod.
func acknowledged(p *corev1.Pod) bool {
	return p.Status.StartTime != nil || len(p.Status.ContainerStatuses) > 0 || len(p.Status.InitContainerStatuses) > 0
}

// boundAt returns when a pod was bound to its node, or zero if unknown. Without a scheduler
// its creator has bound it.
func boundAt(p *corev1.Pod) time.Time {
	switch c := condition(p, corev1.PodScheduled); {
	case c == nil:
		return p.CreationTimestamp.Time
	case c.Status == corev1.ConditionTrue:
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// unacknowledged reports whether the kubelet of a pod's node, which reports a new pod within
// seconds, should have done so by now.
func unacknowledged(p *corev1.Pod, now time.Time) bool {
	bound := boundAt(p)
	return p.Spec.NodeName != "" && !acknowledged(p) && !bound.IsZero() && now.Sub(bound) > overdueAfter
}

// unacknowledged says that the kubelet of the pod's node should have reported the pod by
// now, or returns "".
func (v *podView) unacknowledged() string {
	if v.Undated || !unacknowledged(v.p, v.Now) {
		return ""
	}
	return fmt.Sprintf("node %s has not acknowledged it, %s after it was bound to the node", line(v.p.Spec.NodeName), short(v.Now.Sub(boundAt(v.p))))
}

// markedNotReady reports whether somebody other than the kubelet has made the pod's Ready
// condition false. The controller of nodes does so when a node no longer reports. It
// leaves the containers' own ready as it was, and the condition's reason.
func markedNotReady(p *corev1.Pod) bool {
	ready := condition(p, corev1.PodReady)
	if ready == nil || ready.Status != corev1.ConditionFalse || len(p.Spec.ReadinessGates) > 0 || len(p.Status.ContainerStatuses) == 0 {
		return false
	}
	if c := condition(p, corev1.ContainersReady); c != nil && c.Status != corev1.ConditionTrue {
		return false
	}
	return !slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return !s.Ready })
}

// condition returns a condition of a pod, or nil.
func condition(p *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == t {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// silence returns why a pod's node does not tell about the pod, such as "node n1 has not
// reported for 59m", or "" if nothing says so.
func (x *Explainer) silence(p *corev1.Pod) string {
	name := p.Spec.NodeName
	if name == "" {
		return ""
	}
	if slices.Contains(x.GoneNodes, name) {
		return fmt.Sprintf("node %s no longer exists", line(name))
	}
	if n := x.nodes[name]; n != nil {
		return x.nodeSilence(n)
	}
	ready := condition(p, corev1.PodReady)
	switch {
	case p.Status.Phase == corev1.PodUnknown || p.Status.Reason == "NodeLost":
		return fmt.Sprintf("node %s does not report", line(name))
	case markedNotReady(p) && !ready.LastTransitionTime.IsZero():
		return fmt.Sprintf("node %s has not reported since about %s", line(name), ago(ready.LastTransitionTime.Time, x.Now))
	case markedNotReady(p):
		return fmt.Sprintf("node %s does not report", line(name))
	}
	return ""
}

// nodeSilence is silence for a node whose object is known.
func (x *Explainer) nodeSilence(n *corev1.Node) string {
	for _, c := range n.Status.Conditions {
		if c.Type != corev1.NodeReady || c.Status == corev1.ConditionTrue {
			continue
		}
		if c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("node %s is not ready since %s%s", line(n.Name), ago(c.LastTransitionTime.Time, x.Now), conditionText(c.Reason, c.Message))
		}
		// The condition becomes Unknown some 50 seconds after the last renewal of the node's
		// lease. LastHeartbeatTime may be five minutes older: it is that of the last change.
		since := c.LastTransitionTime.Time
		if since.IsZero() {
			return fmt.Sprintf("node %s does not report", line(n.Name))
		}
		if x.Undated {
			return fmt.Sprintf("node %s did not report, since before %s", line(n.Name), clock(since, x.Now))
		}
		return fmt.Sprintf("node %s has not reported for more than %s, since before %s", line(n.Name), short(max(x.Now.Sub(since), 0)), clock(since, x.Now))
	}
	return ""
}

// nodeAdvice is the advice about a pod whose end is overdue, or whose node does not
// report. It names the deletion of a node only if something shows that the node is silent.
func (x *Explainer) nodeAdvice(p *corev1.Pod) string {
	name := line(p.Spec.NodeName)
	if x.silence(p) == "" {
		if x.nodes[p.Spec.NodeName] == nil {
			return fmt.Sprintf("see whether node %s reports (kubectl get node %[1]s); if it does, see its kubelet's log", name)
		}
		return fmt.Sprintf("node %s itself reports: see its kubelet's log, and kubectl describe pod -n %s %s", name, line(p.Namespace), line(p.Name))
	}
	then := "and its pods are removed within about a minute"
	if slices.ContainsFunc(p.Finalizers, func(f string) bool { return f != batchv1.JobTrackingFinalizer }) {
		then = "and its pods end once their finalizers are removed"
	}
	return fmt.Sprintf("bring node %s back; only if the machine is off for good, delete it (kubectl delete node %[1]s), %s", name, then)
}
