package explain

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// event returns an Event about the container of podIn, some seconds after noon.
func event(reason, message string, count int32, seconds int) *corev1.Event {
	typ := corev1.EventTypeWarning
	if reason == "Killing" {
		typ = corev1.EventTypeNormal
	}
	return &corev1.Event{
		Type: typ, Reason: reason, Message: message, Count: count, LastTimestamp: at(seconds),
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "p", FieldPath: "spec.containers{c}"},
	}
}

// What Events add to the status of a pod, as a kubelet sends them.
func TestEventsTellCauses(t *testing.T) {
	always := corev1.RestartPolicyAlways
	pull := waiting("ImagePullBackOff", `Back-off pulling image "i"`)
	runs := podIn(always, 0, running, nil) // for a minute
	runs.Spec.Containers[0].LivenessProbe = &corev1.Probe{PeriodSeconds: 3, FailureThreshold: 2}
	runs.Status.ContainerStatuses[0].Ready = true
	unready := podIn(always, 0, running, nil)
	unready.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
	const refused = "Readiness probe failed: connection refused"
	starting := podIn(always, 0, running, nil)
	no := false
	starting.Status.ContainerStatuses[0].Started, starting.Spec.Containers[0].StartupProbe = &no, &corev1.Probe{}
	killed := podIn(always, 2, waiting("CrashLoopBackOff", backOffMessage), ended(137, -5))
	hooked := podIn(always, 0, waiting("ContainerCreating", ""), nil)
	hooked.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{}}
	recreated := hooked.DeepCopy()
	recreated.Status.ContainerStatuses[0].RestartCount, recreated.Status.ContainerStatuses[0].LastTerminationState.Terminated = 1, ended(1, -60)
	unseen := recreated.DeepCopy()
	unseen.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: lost}
	ofOther := func(e *corev1.Event) *corev1.Event {
		e.InvolvedObject.FieldPath = "spec.containers{d}"
		return e
	}
	const cannotOpen = "Liveness probe failed: cat: can't open 'ok'"
	for _, tt := range []struct {
		name    string
		pod     *corev1.Pod
		events  []*corev1.Event
		says    string
		without string
	}{
		{"looks during the delay are no tries", podIn(always, 0, pull, nil), []*corev1.Event{
			event("Failed", "Error: ImagePullBackOff", 6, -2), event("Failed", "Error: ErrImagePull", 3, -30), event("Failed", `Failed to pull image "i": refused`, 3, -30),
		}, "the last try at 11:59:30, and the delay of 40s after 3 tries", "Error: "},
		{"messages that differ count as tries", podIn(always, 0, pull, nil), []*corev1.Event{
			event("Failed", `Failed to pull image "i": request 2`, 1, -10), event("Failed", `Failed to pull image "i": request 1`, 1, -25),
		}, "the last try at 11:59:50, and the delay of 20s after 2 tries", ""},
		{"Events of later tries are missing", podIn(always, 0, pull, nil), []*corev1.Event{
			event("Failed", "Error: ErrImagePull", 4, -200),
		}, "within 5m15s", "the last try"},
		{"a postStart hook", killed, []*corev1.Event{event("Killing", "FailedPostStartHook", 3, -15), event("FailedPostStartHook", "PostStartHook failed", 3, -15)},
			"the kubelet had ended it because its postStart hook failed; it starts again", "something killed it"},
		{"the advice about a postStart hook", killed, []*corev1.Event{event("FailedPostStartHook", "PostStartHook failed", 3, -15)}, "to do         correct lifecycle.postStart; its log:", ""},
		{"a postStart hook of an earlier run", killed, []*corev1.Event{event("FailedPostStartHook", "PostStartHook failed", 3, -900)}, "something killed it", "because its postStart hook"},
		{"a liveness probe fails", runs, []*corev1.Event{event("Unhealthy", cannotOpen, 1, -5)},
			"container c runs, but its liveness probe fails, and 2 failures in a row end it: " + cannotOpen, "nothing is wrong"},
		{"a liveness probe has failed for good", runs, []*corev1.Event{event("Killing", "Container c failed liveness probe, will be restarted", 1, -40), event("Unhealthy", cannotOpen, 2, -40)},
			"container c is being ended by the kubelet, because its liveness probe failed: " + cannotOpen, "nothing is wrong"},
		{"a liveness probe failed once", runs, []*corev1.Event{event("Unhealthy", cannotOpen, 1, -40)}, "nothing is wrong", cannotOpen},
		{"a liveness probe failed in the run before", runs, []*corev1.Event{event("Unhealthy", cannotOpen, 1, -65)}, "nothing is wrong", cannotOpen},
		{"a probe's kill of an earlier run", podIn(always, 5, waiting("CrashLoopBackOff", backOffMessage), ended(1, -5)), []*corev1.Event{
			event("Killing", "Container c failed liveness probe, will be restarted", 1, -3000)}, "ended with exit code 1 and waits in CrashLoopBackOff", "its probe failed"},
		{"a probe's kill whose Event is held back", killed, []*corev1.Event{event("Killing", "Container c failed liveness probe, will be restarted", 9, -500)}, "its probe failed", "something killed it"},
		{"a probe's kill is no lack of memory", podIn(always, 5, waiting("CrashLoopBackOff", backOffMessage), func() *corev1.ContainerStateTerminated { e := ended(137, -5); e.Reason = "OOMKilled"; return e }()), []*corev1.Event{
			event("Killing", "Container c failed liveness probe, will be restarted", 1, -20)}, "it has no memory limit", "its probe failed"},
		{"a mount that has succeeded", func() *corev1.Pod {
			p := podIn(always, 0, waiting("ContainerCreating", ""), nil)
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue, LastTransitionTime: at(-10)}}
			return p
		}(), []*corev1.Event{event("Pulling", `Pulling image "i"`, 1, -5), event("FailedMount", "failed to sync configmap cache: timed out", 1, -120)}, "its image", "cannot be prepared"},
		{"a readiness probe fails", unready, []*corev1.Event{event("Unhealthy", refused, 1, -5)}, "because its readiness probe does not succeed: " + refused, ""},
		{"a readiness probe failed in the run before", unready, []*corev1.Event{event("Unhealthy", refused, 1, -65)}, "because its readiness probe does not succeed\n", "not succeed: "},
		{"a startup probe fails", starting, []*corev1.Event{event("Unhealthy", "Startup probe failed: no", 1, -5)}, "has not succeeded yet: Startup probe failed: no", ""},
		{"a startup probe failed in the run before", starting, []*corev1.Event{event("Unhealthy", "Startup probe failed: no", 1, -65)}, "has not succeeded yet\n", "yet: "},
		{"a kill in this run, a failure in the run before", runs, []*corev1.Event{event("Killing", "Container c failed liveness probe, will be restarted", 1, -40), event("Unhealthy", cannotOpen, 2, -65)},
			"is being ended by the kubelet, because its liveness probe failed\n", "failed: Liveness"},
		{"a probe that prints nothing", podIn(always, 1, running, ended(137, -65)), []*corev1.Event{event("Unhealthy", "Liveness probe failed: ", 1, -66)},
			"its probe failed: Liveness probe failed; unless", ""},
		{"a postStart hook runs", hooked, []*corev1.Event{event("Started", "Started container c", 1, -400), event("Created", "Created container c", 1, -401)},
			"container c runs its postStart hook, for 6m40s; the kubelet reports it once the hook has ended\n  to do         see what lifecycle.postStart does; kubectl logs does not show this run before", "volumes"},
		{"a postStart hook that has ended, since another container is next", hooked, []*corev1.Event{
			ofOther(event("Pulling", "Pulling image", 1, -400)), event("Started", "Started container c", 1, -400),
		}, "is being prepared", "for 6m40s"},
		{"a postStart hook of the run before", recreated, []*corev1.Event{event("Started", "Started container c", 1, -100)}, "is being prepared", "postStart hook, for"},
		{"a postStart hook of a run that was lost", unseen, []*corev1.Event{event("Started", "Started container c", 1, -100)}, "is being prepared", "postStart hook, for"},
		{"a start without a hook", podIn(always, 0, waiting("ContainerCreating", ""), nil), []*corev1.Event{event("Started", "Started container c", 1, -100)}, "is being prepared", "postStart"},
		{"a pull by a clock that is ahead", podIn(always, 0, waiting("ContainerCreating", ""), nil), []*corev1.Event{event("Pulling", `Pulling image "i"`, 1, 3)}, "image is being pulled, for 0s", "-3s"},
		{"what says nothing about the pod", podIn(always, 0, waiting("InvalidImageName", "bad"), nil), []*corev1.Event{
			event("MissingClusterDNS", "no DNS", 5, -1), event("Failed", "Error: InvalidImageName", 5, -1),
		}, "container c cannot start (InvalidImageName): bad", "events"},
	} {
		x := New(Objects{Pods: []*corev1.Pod{tt.pod}, Events: tt.events}, noon).Pod(tt.pod)
		var text strings.Builder
		(&Printer{W: &text, Options: noon}).Pod(&x)
		if !strings.Contains(text.String(), tt.says) || tt.without != "" && strings.Contains(text.String(), tt.without) {
			t.Errorf("%s: want %q, not %q, in\n%s", tt.name, tt.says, tt.without, text.String())
		}
	}
}

// Who may not read Events is not told that there are none.
func TestEventsThatMayNotBeRead(t *testing.T) {
	p := podIn(corev1.RestartPolicyAlways, 0, waiting("ContainerCreating", ""), nil) // for ten minutes
	for hidden, says := range map[bool]string{false: "no Event says what is missing; see", true: "Events would say what is missing, but you may not read them; see"} {
		x := New(Objects{Pods: []*corev1.Pod{p}, EventsHidden: hidden}, noon).Pod(p)
		if !strings.HasPrefix(x.Advice, says) {
			t.Errorf("hidden %v: %q", hidden, x.Advice)
		}
	}
}
