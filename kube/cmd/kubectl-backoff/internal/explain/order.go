package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/kube/convert"
)

// A pod starts its init containers one after the other, each when the one before has
// succeeded, or has started if it is a sidecar, and then its containers, all at once.
// Before everything it needs a sandbox, with network and volumes, and before each
// container the container's image.

// passed reports whether an init container lets the ones after it start.
func passed(h *convert.History) bool {
	s := h.Status
	switch {
	case s == nil:
		return false
	case h.Role == convert.RoleSidecar:
		return s.State.Running != nil && s.Started != nil && *s.Started
	}
	return s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
}

// firstOpen returns the index of the init container for which the ones after it wait, or
// the number of init containers if none is left.
func (v *podView) firstOpen() int {
	inits := len(v.p.Spec.InitContainers)
	if c := condition(v.p, corev1.PodInitialized); c != nil && c.Status == corev1.ConditionTrue {
		return inits
	}
	for i := inits; i < len(v.histories); i++ {
		if s := v.histories[i].Status; s != nil && (s.State.Running != nil || s.State.Terminated != nil) {
			return inits
		}
	}
	for i := range inits {
		if !passed(&v.histories[i]) {
			return i
		}
	}
	return inits
}

// waitsFor names the init containers for which a container waits, or returns "" if it
// waits for none.
func (v *podView) waitsFor(i int) string {
	if i <= v.open {
		return ""
	}
	var names []string
	for k := v.open; k < min(i, len(v.p.Spec.InitContainers)); k++ {
		if !passed(&v.histories[k]) {
			names = append(names, line(v.histories[k].Container.Name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := "it starts after " + listed(names)
	if h := &v.histories[v.open]; h.Role == convert.RoleSidecar {
		text += fmt.Sprintf("; the sidecar %s has to start, and to pass its startup probe if it has one", line(h.Container.Name))
	}
	return text
}

// listed joins names, such as "a, b and c". It leaves out those after the first few.
func listed(names []string) string {
	const most = 4
	if n := len(names); n > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// patience is how long the preparation of a container may take before it is called
// trouble without an event that says so.
const patience = 5 * time.Minute

// explainPreparing explains a container that has not been created yet.
func (v *podView) explainPreparing(c *Container, i int) {
	if c.Why = v.waitsFor(i); c.Why != "" {
		c.short = strings.TrimPrefix(c.Why, "it ")
		return
	}
	if since := v.hookSince(c); !since.IsZero() {
		c.short = "runs its postStart hook, for " + short(max(v.Now.Sub(since), 0)) + "; the kubelet reports it once the hook has ended"
		c.Why = "it " + c.short
		if !v.Undated && v.Now.Sub(since) > patience {
			c.Trouble = true
			c.Advice = "see what lifecycle.postStart does; kubectl logs does not show this run before the hook has ended"
		}
		return
	}
	what := "its sandbox, image and volumes"
	sandbox := condition(v.p, corev1.PodReadyToStartContainers)
	if sandbox != nil && sandbox.Status == corev1.ConditionTrue {
		what = "its image, or it is about to start"
		if spec := containerNamed(v.p, c.Name); spec != nil && spec.Lifecycle != nil && spec.Lifecycle.PostStart != nil {
			what = "its image, or its postStart hook runs"
		}
	}
	if e := latestEvent(ofContainer(v.podEvents, c.Name), startReasons...); e != nil && e.Reason == "Pulling" {
		what = "its image is being pulled, for " + short(max(v.Now.Sub(eventTime(e)), 0))
	}
	c.short = "is being prepared (" + strings.TrimPrefix(what, "its ") + ")"
	c.Why = "it is being prepared: " + what
	if c.Message != "" {
		c.Why += ": " + line(c.Message)
	}
	if last := c.last(); last != nil && c.Restarts > 0 {
		c.Why += "; before, it " + cause(last)
	}
	if v.hindrance != "" {
		c.Trouble = true
		c.short = "cannot be prepared: " + v.hindrance
		c.Why = "it " + c.short
		c.Advice = v.remedy
		c.Start = &Start{Why: "the kubelet tries again by itself, after two minutes at most, so it starts soon after the cause is gone"}
		return
	}
	if since := v.preparingSince(); !v.Undated && !since.IsZero() && v.Now.Sub(since) > patience {
		c.Trouble = true
		c.short += ", for " + short(v.Now.Sub(since))
		c.Why += fmt.Sprintf(", for %s", short(v.Now.Sub(since)))
		c.Advice = v.preparationAdvice()
	}
	c.Start = &Start{Why: "it starts once this is done"}
}

// startReasons are the reasons of the Events about the start of a container.
var startReasons = []string{"Pulling", "Pulled", "Created", "Started"}

// hookSince returns when a container was started whose postStart hook has not ended yet, or
// zero. The kubelet reports nothing else of the pod meanwhile, so only an Event tells.
func (v *podView) hookSince(c *Container) time.Time {
	spec := containerNamed(v.p, c.Name)
	e := latestEvent(ofContainer(v.podEvents, c.Name), startReasons...)
	if spec == nil || spec.Lifecycle == nil || spec.Lifecycle.PostStart == nil || e == nil || e.Reason != "Started" {
		return time.Time{}
	}
	if last := c.last(); last != nil && (last.Finished.IsZero() || !eventTime(e).After(last.Finished)) {
		return time.Time{} // it is about the run before
	}
	for _, other := range v.podEvents {
		if containerOf(other) != c.Name && slices.Contains(startReasons, other.Reason) && !eventTime(other).Before(eventTime(e)) {
			return time.Time{} // the kubelet has gone on to another container, so the hook has ended
		}
	}
	return eventTime(e)
}

// preparingSince returns since when the pod is being prepared; zero if unknown.
func (v *podView) preparingSince() time.Time {
	since := time.Time{}
	if s := v.p.Status.StartTime; s != nil {
		since = s.Time
	}
	for i := range v.histories {
		if e, ok := v.histories[i].Last(); ok && e.Finished.After(since) {
			since = e.Finished
		}
	}
	return since
}

// preparationAdvice says where to look when no Event tells why the preparation takes
// long.
func (v *podView) preparationAdvice() string {
	var needs []string
	for _, volume := range v.p.Spec.Volumes {
		switch {
		case volume.Secret != nil && !isTrue(volume.Secret.Optional):
			needs = append(needs, "Secret "+volume.Secret.SecretName)
		case volume.ConfigMap != nil && !isTrue(volume.ConfigMap.Optional):
			if volume.ConfigMap.Name != "kube-root-ca.crt" {
				needs = append(needs, "ConfigMap "+volume.ConfigMap.Name)
			}
		case volume.PersistentVolumeClaim != nil:
			needs = append(needs, "PersistentVolumeClaim "+volume.PersistentVolumeClaim.ClaimName)
		}
	}
	text := "no Event says what is missing"
	if v.EventsHidden {
		text = "Events would say what is missing, but you may not read them"
	}
	if len(needs) > 0 {
		text += "; its volumes need " + line(listed(needs))
	}
	return text + fmt.Sprintf("; see kubectl describe pod -n %s %s, and the kubelet's log on node %s", line(v.p.Namespace), line(v.p.Name), line(v.p.Spec.NodeName))
}

func isTrue(b *bool) bool { return b != nil && *b }

// hindered looks in Events for a hindrance to the preparation of the pod, and sets it and
// the remedy.
func (v *podView) hindered() {
	if v.p.Spec.NodeName == "" || v.over != "" {
		return
	}
	sandbox := condition(v.p, corev1.PodReadyToStartContainers)
	for _, e := range ofPod(v.podEvents) {
		switch e.Reason {
		case "FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox", "FailedCreatePodContainer", "NetworkNotReady", "FailedToRetrieveImagePullSecret", "FailedPrepareDynamicResources":
		default:
			continue
		}
		if e.Reason == "FailedToRetrieveImagePullSecret" || v.Now.Sub(eventTime(e)) > eventsLast {
			continue // pulling may work without it
		}
		// Volumes, devices and the network are there before the sandbox, so a later try has
		// succeeded.
		isReady := sandbox != nil && sandbox.Status == corev1.ConditionTrue
		if isReady && e.Reason != "FailedCreatePodContainer" && !eventTime(e).After(sandbox.LastTransitionTime.Time) {
			continue
		}
		// Of several messages about one volume, one that names a missing object says most.
		text := line(e.Message)
		if v.hindrance == "" {
			v.hindrance = sentence(": ", e.Reason, text)
		}
		if remedy := missing(e.Message, v.p.Namespace); remedy != "" {
			v.hindrance, v.remedy = sentence(": ", e.Reason, text), remedy
			return
		}
	}
}
