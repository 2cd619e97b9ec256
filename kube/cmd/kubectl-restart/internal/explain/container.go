package explain

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/kube/convert"
)

// Container explains one container of a pod.
type Container struct {
	Name     string       `json:"name"`
	Role     convert.Role `json:"role"`
	State    string       `json:"state"`            // waiting, running or terminated; unknown if not reported
	Reason   string       `json:"reason,omitempty"` // of the state
	Message  string       `json:"message,omitempty"`
	Since    time.Time    `json:"since,omitzero"` // of a running or terminated one
	Ready    bool         `json:"ready"`
	Restarts int32        `json:"restarts"`
	Exits    []Exit       `json:"exits,omitempty"`  // those that the cluster still has, the latest last
	Unseen   int64        `json:"unseen,omitempty"` // earlier exits, which the cluster no longer has
	Decision *Decision    `json:"decision,omitempty"`
	Start    *Start       `json:"start,omitempty"` // nil if it is not about to start
	Why      string       `json:"why,omitempty"`   // why it does not run, or is not ready
	Trouble  bool         `json:"trouble,omitempty"`
}

// Exit is the end of one run.
type Exit struct {
	Run      int64     `json:"run,omitempty"` // counted from 1; 0 if unknown
	Code     int32     `json:"code"`
	Signal   int32     `json:"signal,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
}

// Decision is the response to a container's last exit.
type Decision struct {
	Action backoff.Action `json:"action"`
	By     string         `json:"by"`              // the field that decided
	Rules  []string       `json:"rules,omitempty"` // why each restart rule did or did not decide
}

// explainContainer explains a container of a pod. over is why the pod's containers are
// not started again, or "".
func explainContainer(p *corev1.Pod, h *convert.History, over string, o Options) Container {
	c := Container{Name: h.Container.Name, Role: h.Role, State: "unknown", Unseen: h.Unseen}
	for _, e := range h.Exits {
		c.Exits = append(c.Exits, Exit{e.Run, e.Code, e.Signal, e.Reason, e.Started, e.Finished})
	}
	c.Decision = decide(p, h)
	s := h.Status
	if s == nil {
		if over == "" {
			c.Why = "no kubelet has reported it yet"
		}
		return c
	}
	c.Ready, c.Restarts = s.Ready, s.RestartCount
	switch {
	case s.State.Running != nil:
		c.State, c.Since = "running", s.State.Running.StartedAt.Time
		c.explainRunning(h, over)
	case s.State.Terminated != nil:
		t := s.State.Terminated
		c.State, c.Reason, c.Message, c.Since = "terminated", t.Reason, t.Message, t.FinishedAt.Time
		c.explainTerminated(h, over, o)
	default: // a state without a part counts as waiting
		c.State = "waiting"
		if w := s.State.Waiting; w != nil {
			c.Reason, c.Message = w.Reason, w.Message
		}
		c.explainWaiting(h, over, o)
	}
	return c
}

func (c *Container) explainRunning(h *convert.History, over string) {
	started := h.Status.Started
	switch {
	case over != "" || h.Status.Ready || c.Role == convert.RoleInit:
	case started != nil && !*started:
		c.Why, c.Trouble = "it runs, but its startup probe has not succeeded yet", true
	case h.Container.ReadinessProbe != nil:
		c.Why, c.Trouble = "it runs, but its readiness probe does not succeed", true
	default:
		c.Why = "it runs, and the kubelet has not yet reported it as ready"
	}
}

func (c *Container) explainTerminated(h *convert.History, over string, o Options) {
	d := c.Decision
	switch {
	case over != "":
		return
	case d == nil || d.Action == backoff.ActionStop:
		if exit, ok := h.Last(); ok && exit.Code != 0 {
			c.Trouble = true
			c.Why = "it failed and is not started again"
		} else if c.Role != convert.RoleInit {
			c.Why = "it succeeded and is not started again"
		}
		return
	}
	c.Trouble = true
	exit, _ := h.Last()
	if s := h.Status; s.RestartCount == 0 && !exit.Finished.IsZero() {
		w := backoff.KubeletRestart(0, o.SyncFrequency)
		c.Why = "it ended, and the first restart has no delay"
		c.Start = &Start{From: exit.Finished.Add(w.From), To: exit.Finished.Add(w.To).Add(time.Second), Why: "the kubelet restarts a container without delay the first time"}
		return
	}
	c.Why = "it ended, and the kubelet has not yet said when it starts again"
	c.Start = &Start{Why: "the kubelet names the delay once the container waits in CrashLoopBackOff"}
}

func (c *Container) explainWaiting(h *convert.History, over string, o Options) {
	c.Why = why(c.Reason)
	c.Trouble = c.Reason != "" && c.Reason != "PodInitializing" && c.Reason != "ContainerCreating"
	if over != "" {
		return
	}
	if from, to, ok := h.RestartWindow(o.SyncFrequency); ok {
		exit, _ := h.Last()
		delay, _ := h.CrashLoopDelay()
		c.Start = &Start{From: from, To: to, Why: fmt.Sprintf(
			"the exit at %s, the kubelet's delay of %s, and up to %s until the kubelet looks (syncFrequency %s)",
			clock(exit.Finished, o.Now), short(delay), short(to.Sub(from)), short(syncFrequency(o)))}
		return
	}
	switch _, named := h.CrashLoopDelay(); {
	case c.Reason == "PodInitializing": // the containers before it have starts
	case c.Reason == "CrashLoopBackOff" && !named:
		c.Start = &Start{Why: "the kubelet's message names no delay"}
	case c.Reason == "CrashLoopBackOff":
		c.Start = &Start{Why: "the cluster no longer has the exit from which the delay counts"}
	case c.Reason == "ImagePullBackOff" || c.Reason == "ErrImagePull":
		c.Start = &Start{Why: "a pod does not show when its image is pulled again; the delays grow from " +
			short(backoff.ImagePull().Initial) + " to " + short(backoff.ImagePull().Max)}
	default:
		c.Start = &Start{Why: "it starts once the cause is gone"}
	}
}

func syncFrequency(o Options) time.Duration {
	if o.SyncFrequency <= 0 {
		return time.Minute
	}
	return o.SyncFrequency
}

// whys explains reasons for waiting.
var whys = map[string]string{
	"CrashLoopBackOff":           "it keeps ending, so the kubelet delays its restart",
	"ImagePullBackOff":           "its image could not be pulled, and the kubelet delays the next try",
	"ErrImagePull":               "its image could not be pulled",
	"ErrImageNeverPull":          "its image is not on the node, and imagePullPolicy Never forbids pulling it",
	"InvalidImageName":           "the name of its image is not valid, so it cannot be pulled",
	"ImageInspectError":          "the container runtime cannot read its image",
	"CreateContainerConfigError": "its configuration is incomplete, for example for want of a ConfigMap or Secret",
	"CreateContainerError":       "the container runtime could not create it",
	"RunContainerError":          "the container runtime could not start it",
	"PostStartHookError":         "its postStart hook failed",
	"PodInitializing":            "it starts after the init containers",
	"ContainerCreating":          "its sandbox, volumes or image are being prepared",
	"RestartingAllContainers":    "a rule restarts all containers of the pod",
}

func why(reason string) string {
	if text := whys[reason]; text != "" {
		return text
	}
	if reason == "" {
		return "the kubelet gives no reason"
	}
	return "the kubelet says " + line(reason)
}

// decide returns the response to the last exit, or nil if there is none.
func decide(p *corev1.Pod, h *convert.History) *Decision {
	exit, ok := h.Last()
	if !ok {
		return nil
	}
	action, rule := h.Policy.DecideExit(exit, 1)
	d := &Decision{Action: action, By: policyText(p, h)}
	if rule >= 0 {
		d.By = fmt.Sprintf("restartPolicyRules[%d] of the container", rule)
	}
	for _, r := range (backoff.Decision{}).Explain(h.Policy, exit) {
		d.Rules = append(d.Rules, line(r.String()))
	}
	return d
}

// policyText names the restart policy that applies to a container.
func policyText(p *corev1.Pod, h *convert.History) string {
	policy, of := cmp.Or(p.Spec.RestartPolicy, corev1.RestartPolicyAlways), "pod"
	if r := h.Container.RestartPolicy; r != nil {
		policy, of = corev1.RestartPolicy(*r), "container"
	}
	text := fmt.Sprintf("restartPolicy %s of the %s", line(string(policy)), of)
	if h.Role == convert.RoleInit && policy == corev1.RestartPolicyAlways {
		text += ", for an init container OnFailure"
	}
	return text
}
