package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	Trouble  bool         `json:"trouble,omitempty"`
	Why      string       `json:"why,omitempty"`    // why it does not run, is not ready, or may end again
	Advice   string       `json:"advice,omitempty"` // what to do about it
	Start    *Start       `json:"start,omitempty"`  // nil if it is not about to start
	NextExit *NextExit    `json:"nextExit,omitempty"`
	Exits    []Exit       `json:"exits,omitempty"`  // those that the status has, the latest last
	Unseen   int64        `json:"unseen,omitempty"` // earlier exits, which the status does not keep
	Decision *Decision    `json:"decision,omitempty"`
	Agent    string       `json:"agent,omitempty"` // the prediction for an agent on the node, by the pod's annotation
	Events   []Event      `json:"events,omitempty"`

	short string // Why without details, for summaries
}

// Exit is the end of one run.
type Exit struct {
	Run      int64     `json:"run,omitempty"` // counted from 1; 0 if unknown
	Code     int32     `json:"code"`
	Signal   int32     `json:"signal,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Message  string    `json:"message,omitempty"` // the container's last words
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
}

// Decision is the response to a container's last exit.
type Decision struct {
	Action backoff.Action `json:"action"`
	By     string         `json:"by"`              // the field that decided
	Rules  []string       `json:"rules,omitempty"` // why each restart rule did or did not decide
}

// NextExit is the cost of the next exit of a container that has been restarted.
type NextExit struct {
	Delay     metav1.Duration `json:"delay"`     // estimated
	StartOver time.Time       `json:"startOver"` // a run that lasts longer starts the delays over
	Text      string          `json:"text"`
}

// container explains a container of the pod.
func (v *podView) container(i int) Container {
	h := &v.histories[i]
	c := Container{Name: h.Container.Name, Role: h.Role, State: "unknown", Unseen: h.Unseen, Exits: exitsOf(h)}
	events := ofContainer(v.podEvents, c.Name)
	c.Decision = v.decide(h)
	s := h.Status
	if s == nil {
		if v.over == "" {
			c.Why = cmp.Or(v.waitsFor(i), "no kubelet has reported it yet")
		}
		return c
	}
	c.Ready, c.Restarts = s.Ready, s.RestartCount
	switch {
	case s.State.Running != nil:
		c.State, c.Since = "running", s.State.Running.StartedAt.Time
	case s.State.Terminated != nil:
		t := s.State.Terminated
		c.State, c.Reason, c.Since = "terminated", t.Reason, t.FinishedAt.Time
	default: // a state without a part counts as waiting
		c.State = "waiting"
		if w := s.State.Waiting; w != nil {
			c.Reason, c.Message = w.Reason, w.Message
		}
	}
	switch {
	case v.over != "":
		if c.Decision != nil {
			c.Decision.Action, c.Decision.By, c.Decision.Rules = backoff.ActionStop, "the end of the pod", nil
		}
	case c.State == "running":
		v.explainRunning(&c, h, events)
	case c.State == "terminated":
		v.explainTerminated(&c, h, events)
	default:
		v.explainWaiting(&c, i, events)
	}
	c.Start = v.beforeDeadline(c.Start)
	if c.Trouble {
		c.Events = shownEvents(events)
	}
	v.askAgent(&c, h)
	return c
}

// exitsOf returns the exits that a history shows, with their termination messages.
func exitsOf(h *convert.History) []Exit {
	var all []Exit
	for _, e := range h.Exits {
		all = append(all, Exit{Run: e.Run, Code: e.Code, Signal: e.Signal, Reason: e.Reason, Started: e.Started, Finished: e.Finished})
	}
	n := len(all)
	if h.Status == nil || n == 0 {
		return all
	}
	if t := h.Status.State.Terminated; t != nil {
		all[n-1].Message = t.Message
		n--
	}
	if t := h.Status.LastTerminationState.Terminated; t != nil && n > 0 {
		all[n-1].Message = t.Message
	}
	for i := range all {
		if all[i].Reason == restartingAll { // the kubelet's message, always the same
			all[i].Message = ""
		}
	}
	return all
}

// lastWords returns the last line of the termination message of the latest exit that has
// one, or of the message about a start that failed, with its introduction in a summary.
func (c *Container) lastWords() (words, introduction string) {
	for _, e := range slices.Backward(c.Exits) {
		switch {
		case e.Message == "":
		case e.neverStarted():
			return lastLine(e.Message), ", with the message "
		default:
			return lastLine(e.Message), ", with the last words "
		}
	}
	return "", ""
}

// neverStarted reports whether the runtime could not start the run, so that its message is
// not the container's.
func (e *Exit) neverStarted() bool { return e.Started.IsZero() || e.Reason == "StartError" }

// last returns the latest exit, or nil.
func (c *Container) last() *Exit {
	if len(c.Exits) == 0 {
		return nil
	}
	return &c.Exits[len(c.Exits)-1]
}

// explainRunning explains a container that runs.
func (v *podView) explainRunning(c *Container, h *convert.History, events []*corev1.Event) {
	if c.Restarts > 0 && h.Role != convert.RoleInit {
		v.nextExit(c, h)
	}
	started, readiness := h.Status.Started, firstReadiness(c, h)
	switch {
	case h.Role == convert.RoleInit && !v.unstable(c):
		c.Why = "the containers after it start when it has succeeded"
	case v.unstable(c):
		c.Trouble = true
		c.short = v.runsAgain(c, events)
		c.Why = "it " + c.short
		if c.NextExit != nil {
			c.Why += "; " + c.NextExit.Text
		}
		c.Advice = v.exitAdvice(c, h, events)
	case v.livenessFails(c, h, events):
	case c.Ready:
	case started != nil && !*started:
		c.short, c.Trouble = sentence(": ", "is not ready, because its startup probe has not succeeded yet", probeFailure(events, "startup", c.Since)), true
		c.Why = "it runs and " + c.short
		c.Advice = startupAdvice(h)
	case !v.Undated && v.Now.Before(readiness):
		c.short, c.Trouble = fmt.Sprintf("is not ready yet, because its readiness probe begins %s after its start (initialDelaySeconds), at %s", short(readiness.Sub(c.Since)), until(readiness, v.Now)), true
		c.Why = "it runs and " + c.short
		c.Advice = "wait, or lower readinessProbe.initialDelaySeconds if it is ready sooner"
	case h.Container.ReadinessProbe != nil:
		c.short, c.Trouble = sentence(": ", "is not ready, because its readiness probe does not succeed", probeFailure(events, "readiness", c.Since)), true
		c.Why = "it runs and " + c.short + "; no Service sends it requests, and a readiness probe restarts nothing"
		c.Advice = "see why it is not ready: " + v.logs(c)
	default:
		c.Why = "it runs, and the kubelet has not yet reported it as ready"
	}
}

// livenessFails reports whether the liveness probe of a container that runs fails, and
// then explains the container.
func (v *podView) livenessFails(c *Container, h *convert.History, events []*corev1.Event) bool {
	probe := h.Container.LivenessProbe
	if probe == nil || c.Since.IsZero() {
		return false
	}
	// A failure is old news if further ones would have been reported since.
	recent := 2*time.Duration(cmp.Or(probe.PeriodSeconds, 10)+cmp.Or(probe.TimeoutSeconds, 1))*time.Second + 10*time.Second
	for _, e := range events {
		at, text := eventTime(e), strings.ToLower(e.Message)
		if at.Before(c.Since) {
			continue
		}
		switch {
		case e.Reason == "Killing" && strings.Contains(text, "liveness probe"):
			c.short = sentence(": ", "is being ended by the kubelet, because its liveness probe failed", probeFailure(events, "liveness", c.Since))
		case e.Reason == "Unhealthy" && strings.HasPrefix(text, "liveness probe") && v.Now.Sub(at) <= recent:
			c.short = fmt.Sprintf("runs, but its liveness probe fails, and %s in a row end it: %s", counted(cmp.Or(probe.FailureThreshold, 3), "failure"), probeText(e))
		default:
			continue
		}
		c.Trouble, c.Why = true, "it "+c.short
		c.Advice = probeRemedy + "; its log: " + v.logs(c)
		return true
	}
	return false
}

// firstReadiness returns the earliest time of the first readiness probe of a container that
// runs, or zero if it is unknown or has no delay.
func firstReadiness(c *Container, h *convert.History) time.Time {
	probe := h.Container.ReadinessProbe
	if probe == nil || probe.InitialDelaySeconds <= 0 || c.Since.IsZero() {
		return time.Time{}
	}
	return c.Since.Add(time.Duration(probe.InitialDelaySeconds) * time.Second)
}

// startupAdvice says when a startup probe gives up, and what the kubelet does then: it ends
// the container, and plans its restart by the policy, without the rules. If the policy is
// Never, the rules decide once the container has ended, with a code that nobody knows yet.
func startupAdvice(h *convert.History) string {
	probe := h.Container.StartupProbe
	if probe == nil {
		return ""
	}
	period, failures := cmp.Or(probe.PeriodSeconds, 10), cmp.Or(probe.FailureThreshold, 3)
	most := time.Duration(probe.InitialDelaySeconds)*time.Second + time.Duration(period)*time.Duration(failures)*time.Second
	then := "restarts it"
	if h.Policy.RestartPolicy == backoff.RestartPolicyNever {
		then = "ends it for good"
		if len(h.Policy.Rules) > 0 {
			then = "ends it, and its rules decide by the exit code"
		}
	}
	return fmt.Sprintf("wait: it has about %s from its start before the kubelet %s", short(most), then)
}

// How a container that runs counts as unstable: it was restarted within the time that the
// kubelet's delays remember, or so often lately that another exit is to be expected.
const (
	fewRestarts = 3
	longestCalm = 24 * time.Hour
)

// unstable reports whether a container that runs has been restarted so lately or often
// that it may soon end again.
func (v *podView) unstable(c *Container) bool {
	if c.Restarts <= 0 || c.Since.IsZero() {
		return false
	}
	runs := v.Now.Sub(c.Since)
	last := c.last()
	failed := last == nil || last.Code != 0
	if runs <= crashLoop.ResetAfter {
		return failed || c.Restarts >= fewRestarts
	}
	if c.Restarts < fewRestarts || runs > longestCalm {
		return false
	}
	begin := v.p.CreationTimestamp.Time
	if start := v.p.Status.StartTime; start != nil {
		begin = start.Time
	}
	if begin.IsZero() || !c.Since.After(begin) {
		return false
	}
	return runs < 2*c.Since.Sub(begin)/time.Duration(c.Restarts)
}

// runsAgain says for how long an unstable container has been running and why it had
// ended.
func (v *podView) runsAgain(c *Container, events []*corev1.Event) string {
	text := "has been running again for " + short(max(v.Now.Sub(c.Since), 0))
	if last := c.last(); last != nil {
		text += " after it " + cause(last)
		if !last.Finished.IsZero() {
			text += fmt.Sprintf(" %s ago", short(max(v.Now.Sub(last.Finished), 0)))
		}
	}
	text += ", " + counted(c.Restarts, "restart") + " so far"
	if last := c.last(); c.Decision != nil && c.Decision.Action == backoff.ActionRestartAll && last.Reason == restartingAll {
		text += "; such a restart has no back-off (RestartAllContainers)"
	} else if c.Decision != nil && c.Decision.Action == backoff.ActionRestartAll {
		text += "; a rule restarts all containers of the pod after such an exit, and has no back-off (RestartAllContainers)"
	}
	if k := v.killOf(events, c.last()); k != nil {
		text += "; " + k.text
	}
	return text
}

// nextExit returns the cost of the next exit.
func (v *podView) nextExit(c *Container, h *convert.History) {
	if action, _ := h.Policy.DecideExit(backoff.Exit{Code: 1}, 1); action != backoff.ActionRestart || c.Since.IsZero() {
		return
	}
	over := c.Since.Add(crashLoop.ResetAfter)
	if v.Now.After(over) {
		c.NextExit = &NextExit{StartOver: over, Text: fmt.Sprintf("it has run for more than %s, so the delays have started over and the next restart comes at once", short(crashLoop.ResetAfter))}
		return
	}
	delay := nextDelay(h)
	c.NextExit = &NextExit{Delay: metav1.Duration{Duration: delay}, StartOver: over, Text: fmt.Sprintf(
		"unless it lasts %s, until %s, the next restart waits %s (estimate)", short(crashLoop.ResetAfter), clock(over, v.Now), short(delay))}
}

// explainTerminated explains an ended container whose wait has not begun.
func (v *podView) explainTerminated(c *Container, h *convert.History, events []*corev1.Event) {
	exit, _ := h.Last()
	switch d := c.Decision; {
	case d == nil || d.Action == backoff.ActionStop:
		if exit.Code == 0 {
			if c.Role != convert.RoleInit {
				c.Why = "it succeeded and is not started again"
			}
			return
		}
		c.Trouble = true
		c.short = cause(c.last()) + " and is not started again"
		c.Why = "it " + c.short
		c.Advice = v.exitAdvice(c, h, events)
	case d.Action == backoff.ActionRestartAll:
		c.Trouble = true
		c.short = cause(c.last()) + ", and a rule restarts all containers of the pod"
		c.Why = "it " + c.short + "; the kubelet ends the others first, and such a restart has no back-off, however often it happens"
		c.Advice = v.exitAdvice(c, h, events)
		if !exit.Finished.IsZero() {
			c.Start = &Start{From: exit.Finished, To: exit.Finished.Add(12 * time.Second), Estimated: true,
				Why: "the other containers, which get 2s to end, whatever their grace period, and the init containers, which run again"}
		}
	default:
		c.Trouble = true
		c.short = cause(c.last())
		c.Why = "the kubelet starts it again after a delay"
		c.Advice = v.exitAdvice(c, h, events)
		c.Start = v.estimate(h)
	}
}

// estimate returns the estimated start after the latest exit, whose delay the kubelet has
// not told yet.
func (v *podView) estimate(h *convert.History) *Start {
	exit, ok := h.Last()
	if !ok || exit.Finished.IsZero() {
		return &Start{Why: "the status does not have the time of the exit from which the delay counts"}
	}
	delay, how := estimatedDelay(h)
	s := v.restartStart(exit.Finished, delay)
	s.Estimated = true
	s.Why = fmt.Sprintf("the exit at %s: %s", clock(exit.Finished, v.Now), how)
	if slack := s.To.Sub(s.From) - 2*time.Second; slack > 0 {
		s.Why += fmt.Sprintf("; the kubelet looks up to %s later, and says the delay itself about %s after the exit", short(slack), short(v.syncFrequency()))
	}
	return &s
}

// explainWaiting explains a container that waits.
func (v *podView) explainWaiting(c *Container, i int, events []*corev1.Event) {
	h := &v.histories[i]
	switch c.Reason {
	case "", "PodInitializing", "ContainerCreating":
		v.explainPreparing(c, i)
		return
	case restartingAll:
		c.Trouble = true
		c.short = "waits, because a rule restarts all containers of the pod"
		c.Why = "a rule restarts all containers of the pod, at once: such a restart has no back-off"
		c.Advice = restartAllAdvice
		c.Start = &Start{Why: "it starts as soon as all containers have ended and the init containers have run again"}
		return
	}
	c.Trouble = true
	c.Why = why(c.Reason)
	c.short = waits(c)
	c.Advice = v.waitAdvice(c, h, events)
	if k := v.killOf(events, c.last()); k != nil && c.Reason == "CrashLoopBackOff" {
		c.short += "; the kubelet had ended it because " + k.text
		c.Why += "; the kubelet had ended it because " + k.text
	}
	if from, to, ok := h.RestartWindow(v.SyncFrequency); ok {
		exit, _ := h.Last()
		delay, _ := h.CrashLoopDelay()
		c.Start = &Start{From: from, To: to, Why: fmt.Sprintf(
			"the exit at %s, the kubelet's delay of %s, and up to %s until the kubelet looks (syncFrequency %s)",
			clock(exit.Finished, v.Now), short(delay), short(to.Sub(from)), short(v.syncFrequency()))}
		return
	}
	switch c.Reason {
	case "CrashLoopBackOff":
		if delay, named := h.CrashLoopDelay(); named {
			most := backoff.KubeletRestart(delay, v.SyncFrequency).To
			c.Start = &Start{From: v.Now, To: v.Now.Add(most), Estimated: true, Why: fmt.Sprintf("the kubelet's delay of %s, which counts from an exit that the status does not have", short(delay))}
			return
		}
		c.Start = v.estimate(h)
	case "RunContainerError", "StartError", "ContainerCannotRun", "PostStartHookError":
		c.Start = v.estimate(h)
		if !c.Start.Known() {
			delay, _ := delayAfterRun(int64(c.Restarts) + 1)
			c.Start = &Start{From: v.Now, To: v.Now.Add(backoff.KubeletRestart(delay, v.SyncFrequency).To), Estimated: true, Why: "the delay of a crash loop, after which the kubelet tries again"}
		}
	case "ImagePullBackOff", "ErrImagePull", "RegistryUnavailable":
		c.Start = v.nextPull(events)
	default:
		c.Start = &Start{Why: "the kubelet tries again every 10 to 15 seconds, so it starts once the cause is gone"}
	}
}

// waits says in a few words why a container waits.
func waits(c *Container) string {
	switch c.Reason {
	case "CrashLoopBackOff":
		if last := c.last(); last != nil {
			return cause(last) + " and waits in CrashLoopBackOff"
		}
		return "keeps ending and waits in CrashLoopBackOff"
	case "ImagePullBackOff", "ErrImagePull":
		return sentence(": ", "has no image ("+c.Reason+")", line(c.Message))
	}
	return sentence(": ", "cannot start ("+line(c.Reason)+")", line(c.Message))
}

// pullSlack is how late a kubelet notices that the delay of an image pull is over.
const pullSlack = 15 * time.Second

// nextPull estimates when an image is pulled again. A kubelet's delays for a pod's image
// are 10s, 20s, up to 5m, and it looks every 10 to 15 seconds.
func (v *podView) nextPull(events []*corev1.Event) *Start {
	curve := backoff.ImagePull()
	if tries, last := pulls(events); tries > 0 && !last.IsZero() {
		delay := curve.Delay(int(tries))
		s := &Start{From: last.Add(delay), To: last.Add(delay + pullSlack), Estimated: true,
			Why: fmt.Sprintf("the last try at %s, and the delay of %s after %s", clock(last, v.Now), short(delay), counted(tries, "try"))}
		// A kubelet sends few Events of one pod, so later tries may be missing.
		if !v.Now.After(s.To) {
			return s
		}
	}
	return &Start{From: v.Now, To: v.Now.Add(curve.Max + pullSlack), Estimated: true,
		Why: fmt.Sprintf("the delays between the tries, %s at first, doubled up to %s", short(curve.Initial), short(curve.Max))}
}

// pulls returns how often the pull of a container's image has failed, and when last, as
// far as Events tell. They tell each failure twice, once with the runtime's message, which
// may differ each time, and once with the reason for which the container then waits. Those
// with the reason ImagePullBackOff are no tries.
func pulls(events []*corev1.Event) (tries int32, last time.Time) {
	var messages, reasons int32
	for _, e := range events {
		reason, _ := strings.CutPrefix(e.Message, "Error: ")
		switch {
		case e.Reason != "Failed":
			continue
		case strings.HasPrefix(e.Message, "Failed to pull image"):
			messages += eventCount(e)
		case reason == "ErrImagePull", reason == "RegistryUnavailable", reason == "SignatureValidationFailed":
			reasons += eventCount(e)
		default:
			continue
		}
		if at := eventTime(e); at.After(last) {
			last = at
		}
	}
	return max(messages, reasons), last
}

// whys explains reasons for waiting.
var whys = map[string]string{
	"CrashLoopBackOff":           "it keeps ending, so the kubelet delays its restart",
	"ImagePullBackOff":           "its image could not be pulled, and the kubelet delays the next try",
	"ErrImagePull":               "its image could not be pulled",
	"ErrImageNeverPull":          "its image is not on the node, and imagePullPolicy Never forbids pulling it",
	"InvalidImageName":           "the name of its image is not valid, so it cannot be pulled",
	"ImageInspectError":          "the container runtime cannot read its image",
	"RegistryUnavailable":        "the registry of its image cannot be reached",
	"SignatureValidationFailed":  "the signature of its image is not accepted",
	"CreateContainerConfigError": "its configuration is incomplete, for example for want of a ConfigMap or Secret",
	"CreateContainerError":       "the container runtime could not create it",
	"PreCreateHookError":         "it could not be created",
	"PreStartHookError":          "it could not be started",
	"RunContainerError":          "the container runtime could not start it; the kubelet tries again after the delay of a crash loop",
	"PostStartHookError":         "its postStart hook failed, so the kubelet ended it; it tries again after the delay of a crash loop",
}

func why(reason string) string {
	if text := whys[reason]; text != "" {
		return text
	}
	return "the kubelet says " + line(reason)
}

// decide returns the response to the last exit, or nil if there is none.
func (v *podView) decide(h *convert.History) *Decision {
	exit, ok := h.Last()
	if !ok {
		return nil
	}
	if exit.Reason == restartingAll {
		return &Decision{Action: backoff.ActionRestartAll, By: sentence(" or ", restartAllRules(v.p)...)}
	}
	action, rule := h.Policy.DecideExit(exit, 1)
	d := &Decision{Action: action, By: policyText(v.p, h)}
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
