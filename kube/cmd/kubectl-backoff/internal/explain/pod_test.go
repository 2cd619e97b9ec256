package explain

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// at returns the time some seconds after noon.
func at(seconds int) metav1.Time {
	return metav1.NewTime(noon.Now.Add(time.Duration(seconds) * time.Second))
}

// ended returns the end of a run of 5s, some seconds after noon.
func ended(code int32, seconds int) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", StartedAt: at(seconds - 5), FinishedAt: at(seconds)}
}

// podIn returns a scheduled pod under a restart policy whose container is in a state.
func podIn(policy corev1.RestartPolicy, restarts int32, state corev1.ContainerState, last *corev1.ContainerStateTerminated) *corev1.Pod {
	start := at(-600)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"},
		Spec:       corev1.PodSpec{NodeName: "n", RestartPolicy: policy, Containers: []corev1.Container{{Name: "c"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &start, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "c", RestartCount: restarts, State: state, LastTerminationState: corev1.ContainerState{Terminated: last},
		}}},
	}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

var running = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon.Now.Add(-time.Minute))}}

const backOffMessage = "back-off 20s restarting failed container=c pod=p_default(u)"

// Pods in unusual states, with a part of what is printed about each.
func TestPods(t *testing.T) {
	with := func(p *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod { change(p); return p }
	always := corev1.RestartPolicyAlways
	no := false
	for _, tt := range []struct {
		name    string
		pod     *corev1.Pod
		trouble bool
		says    string
	}{
		{"nothing but a name", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, true, "no scheduler and no kubelet has reported it yet"},
		{"no container status", with(podIn(always, 0, running, nil), func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }), false, "no kubelet has reported it yet"},
		{"scheduling gate", with(podIn(always, 0, running, nil), func(p *corev1.Pod) {
			p.Spec.NodeName, p.Spec.SchedulingGates = "", []corev1.PodSchedulingGate{{Name: "quota"}}
		}), true, "it waits for the scheduling gate quota"},
		{"succeeded", with(podIn(always, 0, running, nil), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), false, "it has succeeded"},
		{"evicted", with(podIn(always, 0, waiting("CrashLoopBackOff", backOffMessage), ended(1, -5)), func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "low on memory"
		}), true, "it has failed (Evicted): low on memory"},
		{"being deleted", with(podIn(always, 0, running, nil), func(p *corev1.Pod) { d := at(20); p.DeletionTimestamp = &d }), false, "with grace until 12:00:20, in 20s"},
		{"ended and deleted before its grace was over", with(podIn(always, 0, running, nil), func(p *corev1.Pod) {
			d, grace := at(25), int64(30)
			p.Status.Phase, p.DeletionTimestamp, p.DeletionGracePeriodSeconds, p.Finalizers = corev1.PodSucceeded, &d, &grace, []string{"example.com/keep"}
		}), false, "it is being deleted, since 11:59:55 (5s ago); finalizers keep it: example.com/keep"},
		{"kept by finalizers", with(podIn(always, 0, running, nil), func(p *corev1.Pod) {
			d := at(-3600)
			p.DeletionTimestamp, p.Finalizers = &d, []string{"example.com/keep"}
		}), true, "the finalizers example.com/keep keep it, too"},
		{"first exit", podIn(always, 0, corev1.ContainerState{Terminated: ended(1, -1)}, nil), true, "at any moment, by 12:00:01 (within 1s)"},
		{"later exit", podIn(always, 3, corev1.ContainerState{Terminated: ended(1, -1)}, ended(1, -90)), true, "estimated: between 12:00:39 and 12:01:01"},
		{"failed for good", podIn(corev1.RestartPolicyNever, 0, corev1.ContainerState{Terminated: ended(1, -1)}, nil), true, "restartPolicy Never of the pod: no restart"},
		{"succeeded beside others", podIn(corev1.RestartPolicyOnFailure, 0, corev1.ContainerState{Terminated: ended(0, -1)}, nil), false, "it succeeded and is not started again"},
		{"overdue", podIn(always, 3, waiting("CrashLoopBackOff", backOffMessage), ended(1, -120)), true, "overdue since 11:58:32 (1m28s)"},
		{"within the range", podIn(always, 3, waiting("CrashLoopBackOff", backOffMessage), ended(1, -25)), true, "at any moment, by 12:00:07 (within 7s)"},
		{"another message", podIn(always, 3, waiting("CrashLoopBackOff", "patience"), ended(1, -25)), true, "estimated: between 12:00:15 and 12:00:37"},
		{"no exit", podIn(always, 3, waiting("CrashLoopBackOff", backOffMessage), nil), true, "which counts from an exit that the status does not have"},
		{"unknown reason", podIn(always, 0, waiting("Teleporting", ""), nil), true, "the kubelet says Teleporting"},
		{"no state", podIn(always, 0, corev1.ContainerState{}, nil), true, "it is being prepared"},
		{"escape sequences", podIn(always, 0, waiting("Odd\x1b[31m", "a\x1b[2J\r\nb"), nil), true, "a\uFFFD[2J b"},
		{"startup probe", with(podIn(always, 0, running, nil), func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Started = &no }), true, "startup probe"},
		{"readiness probe", with(podIn(always, 0, running, nil), func(p *corev1.Pod) { p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{} }), true, "readiness probe does not succeed"},
		{"a readiness probe that has not begun", with(podIn(always, 0, running, nil), func(p *corev1.Pod) {
			p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{InitialDelaySeconds: 90}
		}), true, "is not ready yet, because its readiness probe begins 1m30s after its start (initialDelaySeconds), at 12:00:30, in 30s\n  to do         wait"},
		{"a readiness probe without a delay, by a clock that is late", with(podIn(always, 0, running, nil), func(p *corev1.Pod) {
			p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
			p.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{StartedAt: at(3)}
		}), true, "readiness probe does not succeed"},
		{"a readiness probe that has begun", with(podIn(always, 0, running, nil), func(p *corev1.Pod) {
			p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{InitialDelaySeconds: 60}
		}), true, "readiness probe does not succeed"},
		{"a startup probe", with(podIn(always, 0, running, nil), func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].Started, p.Spec.Containers[0].StartupProbe = &no, &corev1.Probe{}
		}), true, "wait: it has about 30s from its start before the kubelet restarts it\n"},
		{"a startup probe whose failure ends the pod", with(podIn(corev1.RestartPolicyNever, 0, running, nil), func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].Started, p.Spec.Containers[0].StartupProbe = &no, &corev1.Probe{}
		}), true, "wait: it has about 30s from its start before the kubelet ends it for good\n"},
		{"a startup probe beside rules", with(podIn(corev1.RestartPolicyNever, 0, running, nil), func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].Started, p.Spec.Containers[0].StartupProbe = &no, &corev1.Probe{}
			restartsAllOn42(p)
		}), true, "before the kubelet ends it, and its rules decide by the exit code\n"},
		{"no probe", podIn(always, 0, running, nil), false, "nothing is wrong"},
		{"the log of this run", with(podIn(always, 1, running, ended(1, -86400)), func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{StartedAt: at(-80000)}
			p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
		}), true, "see why it is not ready: kubectl logs -n default p -c c\n"},
		{"not ready, since a container is done", with(podIn(corev1.RestartPolicyNever, 0, running, nil), func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "copy"})
			p.Status.ContainerStatuses[0].Ready = true
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "copy", State: corev1.ContainerState{Terminated: ended(0, -1)}})
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"}, {Type: corev1.ContainersReady, Status: corev1.ConditionFalse}}
		}), false, "nothing is wrong: 1 container running"},
		{"an init container that runs again", with(podIn(always, 0, waiting("PodInitializing", ""), nil), func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodPending
			p.Spec.InitContainers = []corev1.Container{{Name: "i"}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "i", RestartCount: 40, State: running, LastTerminationState: corev1.ContainerState{Terminated: ended(1, -65)}}}
		}), true, "init container i has been running again for 1m after it ended with exit code 1"},
		{"a failed pod of another controller", with(podIn(corev1.RestartPolicyNever, 0, corev1.ContainerState{Terminated: ended(1, -5)}, nil), func(p *corev1.Pod) {
			yes := true
			p.Status.Phase, p.OwnerReferences = corev1.PodFailed, []metav1.OwnerReference{{Kind: "TaskRun", Name: "build", Controller: &yes}}
		}), true, ", and TaskRun build decides whether another one is"},
		{"evicted for its own limit", with(podIn(always, 0, corev1.ContainerState{Terminated: ended(137, -5)}, nil), func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", `Usage of EmptyDir volume "tmp" exceeds the limit "1Gi". `
		}), true, "to do         the pod broke a limit of its own"},
		{"an exit that the kubelet has not seen", podIn(always, 3, running, &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}), true,
			"run 3: lost: the kubelet has not seen its end (ContainerStatusUnknown), at an unknown time"},
		{"a tag like an error", podIn(always, 0, waiting("ErrImagePull", `failed to pull "registry.example/app:20260429": not found`), nil), true, "the registry does not have it"},
		{"readiness gate", with(podIn(always, 0, running, nil), func(p *corev1.Pod) {
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/lb"}}
			p.Status.Conditions = []corev1.PodCondition{{Type: "example.com/lb", Status: corev1.ConditionFalse, Reason: "NoTarget"}}
		}), true, "it is not ready and waits for the readiness gate example.com/lb: NoTarget"},
		{"deadline", with(podIn(always, 0, running, nil), func(p *corev1.Pod) { s := int64(900); p.Spec.ActiveDeadlineSeconds = &s }), false, "the pod fails at 12:05:00, in 5m"},
		{"init container", with(podIn(always, 0, waiting("PodInitializing", ""), nil), func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodPending
			p.Spec.InitContainers = []corev1.Container{{Name: "i"}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "i", RestartCount: 1, State: waiting("CrashLoopBackOff", backOffMessage), LastTerminationState: corev1.ContainerState{Terminated: ended(1, -5)}}}
		}), true, "init container i (1 restart) ended with exit code 1 and waits in CrashLoopBackOff"},
		{"a phase that does not exist", with(podIn(always, 0, running, nil), func(p *corev1.Pod) { p.Status.Phase = "Foo" }), true,
			`its phase "Foo" does not exist, since a pod's phase is Pending, Running, Succeeded, Failed or Unknown; apart from that, nothing is wrong`},
		{"a phase in small letters", with(podIn(always, 0, running, nil), func(p *corev1.Pod) { p.Status.Phase = "running" }), true, `its phase "running" does not exist`},
		{"a command that is missing", podIn(always, 1, waiting("RunContainerError", `failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "nope": executable file not found in $PATH: unknown`), ended(128, -5)), true,
			`container c (1 restart) cannot start (RunContainerError): exec: "nope": executable file not found in $PATH; it starts again`},
		{"restarts of a container that is not ready", with(podIn(always, 7, running, ended(0, -90)), func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{StartedAt: at(-86400)}
			p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
		}), true, "container c (7 restarts) is not ready"},
		{"ended, and kept by a finalizer", with(podIn(always, 0, corev1.ContainerState{Terminated: ended(137, -3600)}, nil), func(p *corev1.Pod) {
			d := at(-3600)
			p.DeletionTimestamp, p.Finalizers, p.Status.Phase = &d, []string{"example.com/keep"}, corev1.PodFailed
		}), true, "to do         see why whoever set the finalizer example.com/keep does not remove it"},
		{"ended, and being deleted", with(podIn(always, 0, corev1.ContainerState{Terminated: ended(137, -5)}, nil), func(p *corev1.Pod) {
			d := at(-5)
			p.DeletionTimestamp, p.Status.Phase = &d, corev1.PodFailed
		}), true, "the deletion of the pod has probably ended it"},
		{"a pod's deadline", with(podIn(always, 0, corev1.ContainerState{Terminated: ended(137, -5)}, nil), func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Spec.ActiveDeadlineSeconds = corev1.PodFailed, "DeadlineExceeded", new(int64(10))
		}), true, "to do         raise activeDeadlineSeconds (10), or make it end sooner"},
		{"evicted by node n", with(podIn(always, 0, corev1.ContainerState{Terminated: ended(137, -5)}, nil), func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted"
		}), true, "to do         node n ran short of what the message names"},
		{"a volume claim that is missing", with(podIn(always, 0, running, nil), func(p *corev1.Pod) {
			p.Spec.NodeName = ""
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: `0/1 nodes are available: persistentvolumeclaim "data" not found. not found`}}
		}), true, "to do         create the PersistentVolumeClaim data in namespace default"},
		{"a tainted node", with(podIn(always, 0, running, nil), func(p *corev1.Pod) {
			p.Spec.NodeName = ""
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes are available: 1 node(s) had untolerated taint(s)."}}
		}), true, "the taint of one that is not ready goes when it is ready again"},
		{"removed for a restart of all", with(podIn(corev1.RestartPolicyNever, 39, waiting(restartingAll, "removed"), &corev1.ContainerStateTerminated{ExitCode: 137, Reason: restartingAll, Message: "removed"}), restartsAllOn42), true,
			"a rule restarts all of its containers, by restartPolicyRules[0] of container c (exit code in [42]); 39 restarts so far"},
		{"an exit that the kubelet replaced", with(podIn(corev1.RestartPolicyNever, 39, running, &corev1.ContainerStateTerminated{ExitCode: 137, Reason: restartingAll, Message: "removed"}), restartsAllOn42), true,
			"  last exit     run 39: removed, because a rule restarts all containers of the pod\n  earlier"},
		{"it runs again after a restart of all", with(podIn(corev1.RestartPolicyNever, 39, running, &corev1.ContainerStateTerminated{ExitCode: 137, Reason: restartingAll, Message: "removed"}), restartsAllOn42), true,
			"has been running again for 1m after it was removed, because a rule restarts all containers of the pod, 39 restarts so far; such a restart has no back-off"},
		{"a runtime's message about a start", podIn(always, 1, waiting("CrashLoopBackOff", backOffMessage), &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: "exec: no such file", FinishedAt: at(-5)}), true,
			`could not be started (exit code 128, StartError) and waits in CrashLoopBackOff, with the message "exec: no such file"`},
		{"a start within a second", podIn(always, 0, corev1.ContainerState{Terminated: func() *corev1.ContainerStateTerminated {
			e := ended(1, 0)
			e.FinishedAt.Time = e.FinishedAt.Add(-1500 * time.Millisecond)
			return e
		}()}, nil), true, "(within 1s)"},
		{"late", podIn(always, 1, corev1.ContainerState{Terminated: ended(1, -60)}, ended(1, -90)), true, "it starts again late, since it was due by 11:59:17 (43s ago), as an estimate"},
		{"an owner", with(podIn(always, 0, running, nil), func(p *corev1.Pod) {
			yes := true
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "nightly", Controller: &yes}}
		}), false, "Job/nightly"},
	} {
		x := New(Objects{Pods: []*corev1.Pod{tt.pod}}, noon).Pod(tt.pod)
		var text strings.Builder
		(&Printer{W: &text, Options: noon}).Pod(&x)
		if x.Trouble != tt.trouble || !strings.Contains(text.String(), tt.says) {
			t.Errorf("%s: trouble %v, want %v, and %q in\n%s", tt.name, x.Trouble, tt.trouble, tt.says, text.String())
		}
	}
}

// Nobody is said to be late before some time has passed, or if the objects may be older
// than the time.
func TestLatenessNeedsTime(t *testing.T) {
	const scheduler, kubelet = "see whether the scheduler default-scheduler runs", "and the kubelet's log on node"
	unscheduled := func(seconds int) *corev1.Pod {
		p := podIn(corev1.RestartPolicyAlways, 0, waiting("ContainerCreating", ""), nil)
		p.Spec.NodeName, p.Status.ContainerStatuses, p.CreationTimestamp = "", nil, at(seconds)
		p.Status.Phase = corev1.PodPending
		return p
	}
	undatedPod := unscheduled(-3600)
	undatedPod.CreationTimestamp = metav1.Time{}
	preparing := podIn(corev1.RestartPolicyAlways, 0, waiting("ContainerCreating", ""), nil)
	since := at(-3600)
	preparing.Status.Phase, preparing.Status.StartTime = corev1.PodPending, &since
	for _, tt := range []struct {
		name    string
		pod     *corev1.Pod
		undated bool
		blames  string // "" if nobody
	}{
		{"no scheduler for 5s", unscheduled(-5), false, ""},
		{"no scheduler for 30s", unscheduled(-30), false, ""},
		{"no scheduler for 31s", unscheduled(-31), false, scheduler},
		{"no scheduler for an hour, perhaps", unscheduled(-3600), true, ""},
		{"a pod without a time", undatedPod, false, ""},
		{"preparing for an hour", preparing, false, kubelet},
		{"preparing for an hour, perhaps", preparing, true, ""},
	} {
		o := noon
		o.Undated = tt.undated
		var text strings.Builder
		x := New(Objects{Pods: []*corev1.Pod{tt.pod}}, o).Pod(tt.pod)
		(&Printer{W: &text, Options: o}).Pod(&x)
		for _, blame := range []string{scheduler, kubelet} {
			if strings.Contains(text.String(), blame) != (blame == tt.blames) {
				t.Errorf("%s: blames %q, want %q:\n%s", tt.name, blame, tt.blames, text.String())
			}
		}
	}
}

// Files may be from much later than their latest time, when the probe had begun.
func TestProbeInFilesMayHaveBegun(t *testing.T) {
	p := podIn(corev1.RestartPolicyAlways, 0, running, nil)
	p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{InitialDelaySeconds: 90}
	for undated, want := range map[bool]string{false: "its readiness probe begins 1m30s after its start", true: "its readiness probe does not succeed"} {
		o := noon
		o.Undated = undated
		if x := New(Objects{}, o).Pod(p); !strings.Contains(x.Summary, want) {
			t.Errorf("%q, want %q", x.Summary, want)
		}
	}
}

// A kubelet acknowledges a pod within seconds. One that has not is reported, with what is
// known about its node.
func TestUnacknowledgedPods(t *testing.T) {
	pending := func(created int, conditions ...corev1.PodCondition) *corev1.Pod {
		p := podIn(corev1.RestartPolicyAlways, 0, running, nil)
		p.CreationTimestamp, p.Status = at(created), corev1.PodStatus{Phase: corev1.PodPending, Conditions: conditions}
		return p
	}
	bound := func(seconds int) *corev1.Pod {
		return pending(-7200, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at(seconds)})
	}
	node := func(ready corev1.ConditionStatus) *corev1.Node {
		n := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastTransitionTime: at(-3600)}}}}
		n.Name = "n"
		return n
	}
	const silent = "node n has not reported for more than 1h, since before 11:00:00"
	for _, tt := range []struct {
		name    string
		pod     *corev1.Pod
		node    *corev1.Node
		undated bool
		asks    string // the node to read
		says    string
		next    string
	}{
		{"bound 30s ago", bound(-30), nil, false, "", "it is starting; c no kubelet has reported it yet", "nothing waits"},
		{"bound 31s ago", bound(-31), nil, false, "n", "node n has not acknowledged it, 31s after it was bound to the node\n  to do         see whether node n reports", "Unacknowledged   0          node n has not acknowledged it"},
		{"bound by its creator", pending(-60), nil, false, "n", "node n has not acknowledged it, 1m after", "Unacknowledged"},
		{"bound by its creator just now", pending(0), nil, false, "", "it is starting", "nothing waits"},
		{"on a node that reports", bound(-1800), node(corev1.ConditionTrue), false, "n", "node n has not acknowledged it, 30m after it was bound to the node\n  to do         node n itself reports: see its kubelet's log", "Unacknowledged"},
		{"on a dead node", bound(-1800), node(corev1.ConditionUnknown), false, "n", silent + "; it has not acknowledged the pod\n  to do         bring node n back", "NodeSilent   0          " + silent},
		{"in files", bound(-1800), nil, true, "n", "it is starting", "nothing waits"},
	} {
		o := noon
		o.Undated = tt.undated
		if got := NodeOf(tt.pod, o.Now); got != tt.asks {
			t.Errorf("%s: reads node %q, want %q", tt.name, got, tt.asks)
		}
		objects := Objects{Pods: []*corev1.Pod{tt.pod}}
		if tt.node != nil {
			objects.Nodes = []*corev1.Node{tt.node}
		}
		var text strings.Builder
		x := New(objects, o)
		pod, w := x.Pod(tt.pod), Printer{W: &text, Options: o}
		w.Pod(&pod)
		w.Next(x.Next())
		if trouble := tt.next != "nothing waits"; pod.Trouble != trouble || !strings.Contains(text.String(), tt.says) || !strings.Contains(text.String(), tt.next) {
			t.Errorf("%s: trouble %v, and want %q and %q in\n%s", tt.name, pod.Trouble, tt.says, tt.next, text.String())
		}
	}
}

// restartsAllOn42 makes exit code 42 of a pod's container restart all containers.
func restartsAllOn42(p *corev1.Pod) {
	p.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}}}}
}

// A headline is not repeated below it.
func TestHeadlinesAreSaidOnce(t *testing.T) {
	unscheduled := podIn(corev1.RestartPolicyAlways, 0, running, nil)
	unscheduled.Spec.NodeName, unscheduled.Status.ContainerStatuses = "", nil
	unscheduled.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes fit"}}
	for once, pod := range map[string]*corev1.Pod{
		"has been running again for 1m":     podIn(corev1.RestartPolicyAlways, 3, running, ended(1, -90)),
		"could not be pulled: denied":       podIn(corev1.RestartPolicyAlways, 0, waiting("ErrImagePull", "could not be pulled: denied"), nil),
		"exit code 1 and is not started":    podIn(corev1.RestartPolicyNever, 0, corev1.ContainerState{Terminated: ended(1, -1)}, nil),
		"0/3 nodes fit":                     unscheduled,
		"which lasted too long for a probe": podIn(corev1.RestartPolicyAlways, 0, waiting("RunContainerError", "which lasted too long for a probe"), ended(128, -5)),
	} {
		var text strings.Builder
		x := New(Objects{Pods: []*corev1.Pod{pod}}, noon).Pod(pod)
		(&Printer{W: &text, Options: noon}).Pod(&x)
		if n := strings.Count(text.String(), once); n != 1 {
			t.Errorf("%q is said %d times:\n%s", once, n, text.String())
		}
	}
}

// A run of more than ten minutes starts the delays over: the restart after it comes at
// once, and the one after the next run waits 10s, whatever the times between the runs
// look like.
func TestLongRunsStartTheDelaysOver(t *testing.T) {
	long := ended(1, -105)
	long.StartedAt = at(-105 - 22*3600)
	goesOn := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(-74)}} // 31s later, as after a delay of 20s
	short := ended(1, -69)
	short.StartedAt = at(-74)
	for _, tt := range []struct {
		name string
		pod  *corev1.Pod
		says string
	}{
		{"the run after it goes on", podIn(corev1.RestartPolicyAlways, 12, goesOn, long), "the next restart waits 10s (estimate)"},
		{"the run after it has ended", podIn(corev1.RestartPolicyAlways, 12, corev1.ContainerState{Terminated: short}, long), "from the exit at 11:58:51: the run before lasted more than 10m, which started the delays over"},
		{"it has just ended", podIn(corev1.RestartPolicyAlways, 12, waiting("CrashLoopBackOff", ""), long), "a run of more than 10m starts the delays over"},
	} {
		var text strings.Builder
		x := New(Objects{Pods: []*corev1.Pod{tt.pod}}, noon).Pod(tt.pod)
		(&Printer{W: &text, Options: noon}).Pod(&x)
		if !strings.Contains(text.String(), tt.says) {
			t.Errorf("%s: want %q in\n%s", tt.name, tt.says, text.String())
		}
	}
}

// Colours surround only what a person should see first, and end.
func TestColours(t *testing.T) {
	p := podIn(corev1.RestartPolicyAlways, 3, waiting("CrashLoopBackOff", backOffMessage), ended(1, -5))
	var plain, coloured strings.Builder
	x := New(Objects{}, noon).Pod(p)
	(&Printer{W: &plain, Options: noon}).Pod(&x)
	(&Printer{W: &coloured, Options: noon, Colour: true}).Pod(&x)
	if strings.Contains(plain.String(), "\x1b") {
		t.Error("the plain text has colours")
	}
	text := coloured.String()
	starts := strings.Count(text, bold) + strings.Count(text, red) + strings.Count(text, yellow) + strings.Count(text, green)
	if ends := strings.Count(text, "\x1b[0m"); starts == 0 || starts != ends || strings.Count(text, "\x1b") != starts+ends {
		t.Errorf("%d colours start and %d end", starts, ends)
	}
}

func TestShortDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 5 * time.Millisecond: "5ms", 999 * time.Microsecond: "1ms", time.Second: "1s", 90 * time.Second: "1m30s", time.Minute: "1m",
		59*time.Minute + 59*time.Second: "59m59s", time.Hour: "1h", 25*time.Hour + 30*time.Minute: "25h30m", 48 * time.Hour: "2d", 51 * time.Hour: "2d3h",
		-time.Minute: "-1m", 1<<63 - 1: "106751d23h", -1 << 63: "-106751d23h",
	} {
		if got := short(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}
