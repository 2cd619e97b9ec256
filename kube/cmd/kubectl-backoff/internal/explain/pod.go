package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/kube/convert"
)

// Pod explains a pod.
type Pod struct {
	Kind       string      `json:"kind"` // Pod
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	Summary    string      `json:"summary"`          // one sentence: the state, and the end of the waiting
	Trouble    bool        `json:"trouble"`          // something keeps the pod from running, being ready or ending well
	Advice     string      `json:"advice,omitempty"` // what to do
	Phase      string      `json:"phase,omitempty"`
	Reason     string      `json:"reason,omitempty"` // of the status, such as Evicted
	Message    string      `json:"message,omitempty"`
	Node       string      `json:"node,omitempty"`
	Owner      string      `json:"owner,omitempty"` // its controller, such as Job/nightly
	Conditions []Condition `json:"conditions,omitempty"`
	Waits      []string    `json:"waits,omitempty"`
	Limits     []Limit     `json:"limits,omitempty"`
	Containers []Container `json:"containers,omitempty"`
	Ephemeral  []string    `json:"ephemeral,omitempty"` // ephemeral containers, which are never restarted
	Agent      string      `json:"agent,omitempty"`     // about the annotation with rules for an agent
	Events     []Event     `json:"events,omitempty"`
	Findings   []Finding   `json:"findings,omitempty"`
}

// Condition is a condition of an object.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// podView is a pod with the facts about it in other objects.
type podView struct {
	*Explainer
	p         *corev1.Pod
	histories []convert.History
	podEvents []*corev1.Event
	over      string // why no container is started again, or ""
	silent    string // why the node does not tell about the pod, or ""
	open      int    // as firstOpen returns it
	hindrance string // the hindrance to the preparation of the pod, or ""
	remedy    string
	agent     agentRules
}

func (x *Explainer) newPodView(p *corev1.Pod) *podView {
	v := &podView{Explainer: x, p: p, histories: convert.Histories(p), podEvents: x.EventsOf("Pod", &p.ObjectMeta)}
	v.silent = x.silence(p)
	v.over = v.podOver()
	v.open = v.firstOpen()
	v.hindered()
	v.agent = readAgentRules(p)
	return v
}

// Pod explains a pod.
func (x *Explainer) Pod(p *corev1.Pod) Pod {
	v := x.newPodView(p)
	pod := Pod{
		Kind: "Pod", Namespace: p.Namespace, Name: p.Name, Phase: string(p.Status.Phase), Node: p.Spec.NodeName,
		Reason: p.Status.Reason, Message: p.Status.Message, Agent: v.agent.text,
	}
	if c := metav1.GetControllerOf(p); c != nil {
		pod.Owner = c.Kind + "/" + c.Name
	}
	for i := range v.histories {
		pod.Containers = append(pod.Containers, v.container(i))
	}
	for _, c := range p.Spec.EphemeralContainers {
		pod.Ephemeral = append(pod.Ephemeral, c.Name)
	}
	pod.Conditions = v.conditions()
	pod.Limits = v.limits()
	pod.Findings = FindingsOf(p)
	if v.over == "" {
		pod.Waits = v.waits()
	}
	v.summarize(&pod)
	if pod.Trouble {
		pod.Events = shownEvents(ofPod(v.podEvents))
	}
	return pod
}

// podOver returns why a pod's containers are not started again, or "".
func (v *podView) podOver() string {
	p := v.p
	switch p.Status.Phase {
	case corev1.PodSucceeded:
		return "it has succeeded"
	case corev1.PodFailed:
		return "it has failed" + conditionText(p.Status.Reason, p.Status.Message)
	}
	d := p.DeletionTimestamp
	if d == nil {
		return ""
	}
	switch {
	case d.After(v.Now): // the timestamp is the end of the grace period
		return "it is being deleted, with grace until " + until(d.Time, v.Now)
	case p.Spec.NodeName == "":
		return "it is being deleted, since " + ago(d.Time, v.Now) + v.keptBy()
	case v.overdue(p):
		late := short(v.Now.Sub(d.Time))
		text := fmt.Sprintf("it is being deleted, and node %s has not reported its end, %s after it was due", line(p.Spec.NodeName), late)
		if v.silent != "" {
			text += "; " + v.silent
		} else if n := v.nodes[p.Spec.NodeName]; n != nil {
			text += "; the node reports otherwise, so its kubelet cannot end the pod's processes or take down its volumes"
		}
		if others := v.foreignFinalizers(); len(others) > 0 {
			text += "; the finalizers " + line(strings.Join(others, ", ")) + " keep it, too"
		}
		return text
	}
	return "it is being deleted, and its end was due at " + ago(d.Time, v.Now)
}

// foreignFinalizers returns the finalizers of a pod but for that of the Job controller,
// which goes as soon as the end of the pod is known.
func (v *podView) foreignFinalizers() []string {
	return slices.DeleteFunc(slices.Clone(v.p.Finalizers), func(f string) bool { return f == batchv1.JobTrackingFinalizer })
}

// keptBy names the finalizers that keep an object.
func (v *podView) keptBy() string {
	if len(v.p.Finalizers) == 0 {
		return ""
	}
	return "; finalizers keep it: " + line(strings.Join(v.p.Finalizers, ", "))
}

// conditions returns the conditions that are worth a look.
func (v *podView) conditions() (all []Condition) {
	for _, c := range v.p.Status.Conditions {
		shown := false
		switch c.Type {
		case corev1.DisruptionTarget, corev1.AllContainersRestarting, corev1.PodResizePending:
			shown = c.Status == corev1.ConditionTrue
		case corev1.PodReady:
			shown = c.Status != corev1.ConditionTrue && v.p.Status.Phase != corev1.PodSucceeded
		case corev1.PodScheduled:
			shown = c.Status != corev1.ConditionTrue
		default:
			shown = c.Status != corev1.ConditionTrue && isGate(v.p, c.Type)
		}
		if shown {
			all = append(all, Condition{string(c.Type), string(c.Status), c.Reason, c.Message, c.LastTransitionTime.Time})
		}
	}
	return all
}

// waits lists the conditions that a pod as a whole waits for.
func (v *podView) waits() (waits []string) {
	p := v.p
	for _, g := range p.Spec.SchedulingGates {
		waits = append(waits, "the scheduling gate "+line(g.Name))
	}
	for _, c := range p.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			continue
		}
		text := ""
		switch {
		case c.Type == corev1.PodScheduled && len(p.Spec.SchedulingGates) == 0:
			text = "a node"
		case isGate(p, c.Type):
			text = "the readiness gate " + line(string(c.Type))
		default:
			continue
		}
		if detail := cmp.Or(line(c.Message), line(c.Reason)); detail != "" {
			text += ": " + detail
		}
		waits = append(waits, text)
	}
	for _, g := range p.Spec.ReadinessGates {
		if condition(p, g.ConditionType) == nil && p.Spec.NodeName != "" {
			waits = append(waits, "the readiness gate "+line(string(g.ConditionType))+", whose condition nobody has set yet")
		}
	}
	return waits
}

func isGate(p *corev1.Pod, t corev1.PodConditionType) bool {
	return slices.ContainsFunc(p.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool { return g.ConditionType == t })
}

func (v *podView) limits() []Limit {
	seconds := v.p.Spec.ActiveDeadlineSeconds
	if seconds == nil || v.over != "" {
		return nil
	}
	l := Limit{Name: "activeDeadlineSeconds", Max: *seconds, Left: *seconds, Text: "the pod fails that many seconds after its start"}
	if start := v.p.Status.StartTime; start != nil {
		l.timed(start.Time, v.Now, "the pod fails")
	}
	return []Limit{l}
}

// beforeDeadline returns the start of a container, or one that says that it never starts,
// because a deadline of the pod or of its Job is not later.
func (v *podView) beforeDeadline(s *Start) *Start {
	if s == nil || !s.Known() {
		return s
	}
	if own := v.limits(); len(own) > 0 && !own[0].At.IsZero() && !own[0].At.After(s.From) {
		return &Start{Never: true, Why: "the pod fails before, at its deadline, " + until(own[0].At, v.Now)}
	}
	owner := metav1.GetControllerOf(v.p)
	if owner == nil || owner.Kind != "Job" {
		return s
	}
	for _, job := range v.Jobs {
		if job.UID != owner.UID || job.Namespace != v.p.Namespace {
			continue
		}
		if at := v.failsAt(job); !at.IsZero() && !at.After(s.From) {
			return &Start{Never: true, Why: "its Job fails before, at its deadline, " + until(at, v.Now)}
		}
	}
	return s
}

// summarize sets Summary, Trouble and Advice. The phase and the conditions come first,
// because they say whether the containers' statuses still count.
func (v *podView) summarize(x *Pod) {
	p := v.p
	troubled := func() *Container {
		for i := range x.Containers {
			if x.Containers[i].Trouble {
				return &x.Containers[i]
			}
		}
		return nil
	}()
	switch {
	case v.over != "":
		v.summarizeOver(x)
	case p.Status.Phase == "" && len(p.Status.Conditions) == 0 && len(p.Status.ContainerStatuses) == 0:
		x.Summary, x.Trouble = "no scheduler and no kubelet has reported it yet", true
		if v.Partial != "" { // the pods are those of files
			x.Summary, x.Advice = asInAManifest, judgeManifests
		}
	case p.Spec.NodeName == "":
		x.Summary, x.Trouble = "it waits for a node", true
		if len(x.Waits) > 0 {
			x.Summary = "it waits for " + x.Waits[0]
		}
		x.Advice = v.schedulingAdvice()
	case v.silent != "":
		x.Summary, x.Trouble = v.silent+conditionText(p.Status.Reason, p.Status.Message)+"; what follows is what it reported last", true
		if !acknowledged(p) {
			x.Summary = v.silent + "; it has not acknowledged the pod"
		}
		x.Advice = v.nodeAdvice(p)
	case v.unacknowledged() != "":
		x.Summary, x.Trouble = v.unacknowledged(), true
		x.Advice = v.nodeAdvice(p)
	case p.Status.Reason != "" && p.Status.Phase != corev1.PodRunning:
		x.Summary, x.Trouble = "it does not run"+conditionText(p.Status.Reason, p.Status.Message), true
	case v.restartsAll():
		x.Summary, x.Trouble = "a rule restarts all of its containers"+v.whyRestartAll(x)+"; such a restart has no back-off (RestartAllContainers), so they start again as soon as all have ended", true
		x.Advice = restartAllAdvice
	case troubled != nil:
		v.summarizeTrouble(x, troubled)
	case len(x.Waits) > 0:
		x.Summary, x.Trouble = "it is not ready and waits for "+x.Waits[0], true
		x.Advice = "see whether the controller that sets the condition of this gate runs and knows the pod"
	case p.Status.Phase == corev1.PodPending:
		v.summarizeStart(x)
	default:
		v.summarizeFine(x)
	}
	if !slices.Contains(podPhases, p.Status.Phase) {
		x.Summary = fmt.Sprintf("its phase %s does not exist, since a pod's phase is %s; apart from that, %s", quoted(line(string(p.Status.Phase))), listedOr(podPhases[1:]), x.Summary)
		x.Trouble = true
	}
}

// What is said about objects of files that no cluster has seen.
const (
	asInAManifest  = "it has no status, as in a manifest"
	judgeManifests = "kubectl backoff check -f judges manifests"
)

// podPhases are the phases of pods. The first is that of a pod that nobody has reported.
var podPhases = []corev1.PodPhase{"", corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown}

// restartingAll is the kubelet's reason for the state of a container that it has removed
// because a rule restarts all containers of the pod.
const restartingAll = "RestartingAllContainers"

// restartsAll reports whether a rule is restarting all containers of the pod. The condition
// is false again before the containers have started.
func (v *podView) restartsAll() bool {
	if c := condition(v.p, corev1.AllContainersRestarting); c != nil && c.Status == corev1.ConditionTrue {
		return true
	}
	for i := range v.histories {
		if s := v.histories[i].Status; s != nil && s.State.Waiting != nil && s.State.Waiting.Reason == restartingAll {
			return true
		}
	}
	return false
}

// restartAllRules names the rules of a pod that restart all of its containers.
func restartAllRules(p *corev1.Pod) (all []string) {
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			for k, r := range list[i].RestartPolicyRules {
				if r.Action != corev1.ContainerRestartRuleActionRestartAllContainers {
					continue
				}
				text := fmt.Sprintf("restartPolicyRules[%d] of container %s", k, line(list[i].Name))
				if r.ExitCodes != nil {
					text += fmt.Sprintf(" (exit code %s %v)", map[bool]string{true: "not in", false: "in"}[r.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpNotIn], r.ExitCodes.Values)
				}
				all = append(all, text)
			}
		}
	}
	return all
}

const restartAllAdvice = "look at the exit that the rule matches; only a limit that the program sets itself ends the loop"

// whyRestartAll names the container whose exit restarts all.
func (v *podView) whyRestartAll(x *Pod) string {
	for i := range x.Containers {
		c := &x.Containers[i]
		if c.Decision != nil && c.Decision.Action == "RestartAllContainers" && c.last() != nil {
			if c.last().Reason == restartingAll {
				return fmt.Sprintf(", by %s; %s so far", c.Decision.By, counted(max(c.Restarts, 0), "restart"))
			}
			return fmt.Sprintf(", because container %s %s; %s so far", line(c.Name), cause(c.last()), counted(max(c.Restarts, 0), "restart"))
		}
	}
	return ""
}

// summarizeOver summarizes a pod that has ended or is being deleted.
func (v *podView) summarizeOver(x *Pod) {
	p := v.p
	x.Summary = v.over
	switch p.Status.Phase {
	case corev1.PodSucceeded:
	case corev1.PodFailed:
		x.Trouble = true
		if c := failedContainer(x); c != nil {
			last := c.last()
			x.Summary += fmt.Sprintf(": %s %s %s", roles[c.Role], line(c.Name), cause(last))
			if words, introduction := c.lastWords(); words != "" {
				x.Summary += introduction + quoted(words)
			}
			x.Advice = v.exitAdvice(c, nil, ofContainer(v.podEvents, c.Name))
		}
		x.Advice = cmp.Or(v.reasonAdvice(), x.Advice)
		if p.DeletionTimestamp == nil {
			x.Summary += "; a failed pod is not started again" + v.replacement(x)
		}
	default:
		x.Trouble = v.overdue(p)
		if x.Trouble && p.Spec.NodeName != "" {
			x.Advice = v.nodeAdvice(p)
		}
		if c := condition(p, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
			x.Summary += "; it is disrupted" + conditionText(c.Reason, c.Message)
		}
		if p.Status.Reason != "" {
			x.Summary += "; its status says" + conditionText(p.Status.Reason, p.Status.Message)
		}
		x.Summary += "; none of its containers is started again"
		return
	}
	if d := p.DeletionTimestamp; d != nil {
		since := d.Time // the end of its grace period
		if grace := p.DeletionGracePeriodSeconds; grace != nil {
			since = since.Add(-time.Duration(min(max(*grace, 0), 1<<33)) * time.Second)
		}
		x.Summary = "it is being deleted, since " + ago(since, v.Now) + v.keptBy() + "; " + x.Summary
		if others := v.foreignFinalizers(); len(others) > 0 {
			x.Trouble = x.Trouble || v.overdue(p)
			x.Advice = "see why whoever set the finalizer " + line(strings.Join(others, ", ")) + " does not remove it; the pod has ended and goes as soon as it is removed"
		}
	}
}

// replacement says who replaces a failed pod.
func (v *podView) replacement(x *Pod) string {
	kind, name, owned := strings.Cut(x.Owner, "/")
	switch {
	case !owned:
		return ", and nothing replaces it, because it has no controller"
	case kind == "Job":
		return fmt.Sprintf(", and Job %s decides whether another one is", line(name))
	}
	switch kind {
	case "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet":
		return fmt.Sprintf(", and %s %s replaces it", line(kind), line(name))
	case "Node":
		return fmt.Sprintf(", and the kubelet of node %s runs it by a manifest of its own", line(name))
	}
	return fmt.Sprintf(", and %s %s decides whether another one is", line(kind), line(name))
}

// failedContainer returns the container of a failed pod that ended first with a failure,
// or nil.
func failedContainer(x *Pod) (failed *Container) {
	for i := range x.Containers {
		c := &x.Containers[i]
		last := c.last()
		if c.State != "terminated" || last == nil || last.Code == 0 {
			continue
		}
		if failed == nil || last.Finished.Before(failed.last().Finished) {
			failed = c
		}
	}
	return failed
}

// summarizeTrouble summarizes a pod by its containers in trouble.
func (v *podView) summarizeTrouble(x *Pod, first *Container) {
	x.Trouble = true
	var all []string
	for i := range x.Containers {
		c := &x.Containers[i]
		if !c.Trouble {
			continue
		}
		restarts := ""
		switch {
		case c.State == "running" && (v.unstable(c) || c.Restarts < fewRestarts): // said, or long ago
		case c.Restarts > 0:
			restarts = " (" + counted(c.Restarts, "restart") + ")"
		}
		text := fmt.Sprintf("%s %s%s %s", roles[c.Role], line(c.Name), restarts, c.short)
		if words, introduction := c.lastWords(); words != "" && c.State != "running" && !strings.Contains(text, words) {
			text += introduction + quoted(words)
		}
		if c.Start != nil && c.Start.Known() {
			verb := "starts again"
			if len(c.Exits) == 0 {
				verb = "is tried again"
			}
			text += "; it " + verb + " " + c.Start.soon(v.Options)
		} else if c.Start != nil && c.Start.Never {
			text += "; it does not start again: " + c.Start.Why
		}
		if c.NextExit != nil {
			text += "; " + c.NextExit.Text
		}
		all = append(all, text)
		if len(all) == mostSummarized {
			break
		}
	}
	x.Summary = strings.Join(all, "; ")
	if first.Role == convert.RoleInit && first.State != "running" {
		x.Summary += "; the containers after it wait for it"
	}
	x.Advice = first.Advice
}

// mostSummarized is the number of containers in the summary of a pod.
const mostSummarized = 3

// summarizeStart summarizes a pod in its start, without trouble.
func (v *podView) summarizeStart(x *Pod) {
	x.Summary = "it is starting"
	if start := v.p.Status.StartTime; start != nil {
		x.Summary += ", for " + short(max(v.Now.Sub(start.Time), 0))
	}
	shown := 0
	for i := range x.Containers {
		c := &x.Containers[i]
		if c.State == "terminated" || c.State == "running" && c.Role != convert.RoleInit {
			continue
		}
		what := c.short
		if c.State == "running" {
			what = "runs"
		}
		if what == "" {
			what = strings.TrimPrefix(c.Why, "it ")
		}
		if shown++; shown <= mostSummarized {
			x.Summary += fmt.Sprintf("; %s %s", line(c.Name), what)
		}
	}
}

// onlyDone reports whether a pod is not ready only because some of its containers have
// succeeded and are not started again.
func onlyDone(x *Pod) (some bool) {
	for i := range x.Containers {
		c := &x.Containers[i]
		if c.Role == convert.RoleInit || c.Ready {
			continue
		}
		last := c.last()
		if c.State != "terminated" || last == nil || last.Code != 0 || c.Decision == nil || c.Decision.Action != backoff.ActionStop {
			return false
		}
		some = true
	}
	return some
}

func (v *podView) summarizeFine(x *Pod) {
	running, restarts := 0, int32(0)
	latest := time.Time{}
	for i := range x.Containers {
		c := &x.Containers[i]
		if c.State == "running" {
			running++
		}
		restarts += max(c.Restarts, 0)
		if last := c.last(); last != nil && c.Restarts > 0 && last.Finished.After(latest) {
			latest = last.Finished
		}
	}
	if ready := condition(v.p, corev1.PodReady); ready != nil && ready.Status != corev1.ConditionTrue && !onlyDone(x) {
		x.Summary, x.Trouble = "it is not ready"+conditionText(ready.Reason, ready.Message), true
		return
	}
	x.Summary = "nothing is wrong: " + counted(running, "container") + " running"
	if restarts > 0 {
		x.Summary += ", " + counted(restarts, "restart") + " so far"
		if !latest.IsZero() {
			x.Summary += ", the last exit " + short(max(v.Now.Sub(latest), 0)) + " ago"
		}
	}
}

// unscheduledLate reports whether a scheduler should have looked at the pod by now.
func (v *podView) unscheduledLate() bool {
	created := v.p.CreationTimestamp.Time
	return !v.Undated && !created.IsZero() && v.Now.Sub(created) > overdueAfter
}

// schedulingAdvice is the advice about a pod without a node.
func (v *podView) schedulingAdvice() string {
	c := condition(v.p, corev1.PodScheduled)
	switch {
	case len(v.p.Spec.SchedulingGates) > 0:
		return "whoever set the scheduling gate removes it, for example a quota controller; until then no node is chosen"
	case c == nil && v.unscheduledLate():
		return "nobody has tried to schedule it: see whether the scheduler " + line(cmp.Or(v.p.Spec.SchedulerName, "default-scheduler")) + " runs"
	case c == nil:
		return ""
	}
	if remedy := missing(c.Message, v.p.Namespace); remedy != "" {
		return remedy
	}
	text := strings.ToLower(c.Message)
	var hints []string
	for _, hint := range []struct{ part, advice string }{
		{"insufficient", "free resources, lower the pod's requests or add a node"},
		{"taint", "see the nodes in kubectl describe nodes: the taint of one that is not ready goes when it is ready again; tolerate or remove another"},
		{"affinity/selector", "compare nodeSelector and affinity with the labels of the nodes"},
		{"persistentvolumeclaim", "see kubectl get pvc -n " + line(v.p.Namespace)},
		{"volume node affinity", "its volume is in another zone than the nodes that are left"},
		{"free ports", "another pod uses its hostPort"},
		{"cordoned", "uncordon a node"}, {"unschedulable", "uncordon a node"},
	} {
		if strings.Contains(text, hint.part) && !slices.Contains(hints, hint.advice) {
			hints = append(hints, hint.advice)
		}
	}
	return strings.Join(hints, "; ")
}
