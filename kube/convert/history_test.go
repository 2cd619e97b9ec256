package convert

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/backoff"
)

// A history's policy decides as a kubelet does. An init container that has succeeded is
// not repeated under Always, a sidecar is.
func TestHistoriesDecideAsTheKubelet(t *testing.T) {
	always, never := corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever
	rules := []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{7}}}}
	for _, tt := range []struct {
		name    string
		pod     corev1.RestartPolicy
		init    bool
		own     *corev1.ContainerRestartPolicy
		rules   []corev1.ContainerRestartRule
		role    Role
		success backoff.Action
		failure backoff.Action // exit code 1
		ruled   backoff.Action // exit code 7
	}{
		{"main, Always", corev1.RestartPolicyAlways, false, nil, nil, RoleMain, backoff.ActionRestart, backoff.ActionRestart, backoff.ActionRestart},
		{"main, no policy", "", false, nil, nil, RoleMain, backoff.ActionRestart, backoff.ActionRestart, backoff.ActionRestart},
		{"main, OnFailure", corev1.RestartPolicyOnFailure, false, nil, nil, RoleMain, backoff.ActionStop, backoff.ActionRestart, backoff.ActionRestart},
		{"main, Never", corev1.RestartPolicyNever, false, nil, nil, RoleMain, backoff.ActionStop, backoff.ActionStop, backoff.ActionStop},
		{"main, rules", corev1.RestartPolicyAlways, false, &never, rules, RoleMain, backoff.ActionStop, backoff.ActionStop, backoff.ActionRestart},
		{"init, Always", corev1.RestartPolicyAlways, true, nil, nil, RoleInit, backoff.ActionStop, backoff.ActionRestart, backoff.ActionRestart},
		{"init, no policy", "", true, nil, nil, RoleInit, backoff.ActionStop, backoff.ActionRestart, backoff.ActionRestart},
		{"init, Never", corev1.RestartPolicyNever, true, nil, nil, RoleInit, backoff.ActionStop, backoff.ActionStop, backoff.ActionStop},
		{"init, rules", corev1.RestartPolicyAlways, true, &never, rules, RoleInit, backoff.ActionStop, backoff.ActionStop, backoff.ActionRestart},
		{"sidecar", corev1.RestartPolicyNever, true, &always, nil, RoleSidecar, backoff.ActionRestart, backoff.ActionRestart, backoff.ActionRestart},
	} {
		c := corev1.Container{Name: "c", RestartPolicy: tt.own, RestartPolicyRules: tt.rules}
		pod := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: tt.pod}}
		if tt.init {
			pod.Spec.InitContainers = []corev1.Container{c}
		} else {
			pod.Spec.Containers = []corev1.Container{c}
		}
		all := Histories(pod)
		if len(all) != 1 || all[0].Role != tt.role || all[0].Status != nil || all[0].Ended != 0 {
			t.Fatalf("%s: %+v", tt.name, all)
		}
		for code, want := range map[int32]backoff.Action{0: tt.success, 1: tt.failure, 7: tt.ruled} {
			if got, _ := all[0].Policy.DecideExit(backoff.Exit{Code: code}, 1); got != want {
				t.Errorf("%s, exit code %d: %s, want %s", tt.name, code, got, want)
			}
		}
	}
	if Histories(nil) != nil {
		t.Error("a nil pod has histories")
	}
}

// A history counts the ended runs, and those whose exits the status no longer has.
func TestHistoriesCountUnseenExits(t *testing.T) {
	for _, tt := range []struct {
		name          string
		restarts      int32
		state         corev1.ContainerState
		last          *corev1.ContainerStateTerminated
		ended, unseen int64
	}{
		{"not started", 0, waiting("ContainerCreating"), nil, 0, 0},
		{"never pulled", 0, waiting("ImagePullBackOff"), nil, 0, 0},
		{"first run", 0, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, nil, 0, 0},
		{"second run", 1, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, ended(1, 0, 5), 1, 0},
		{"crash loop", 5, waiting("CrashLoopBackOff"), ended(1, 0, 5), 6, 5},
		{"ended", 5, corev1.ContainerState{Terminated: ended(1, 10, 15)}, ended(1, 0, 5), 6, 4},
		{"exits lost", 3, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, nil, 3, 3},
		{"count lost", 0, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, ended(1, 0, 5), 1, 0},
		{"negative count", -3, waiting(""), nil, 0, 0},
	} {
		pod := &corev1.Pod{
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "other"}, {Name: "c"}}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
				Name: "c", RestartCount: tt.restarts, State: tt.state, LastTerminationState: corev1.ContainerState{Terminated: tt.last},
			}}},
		}
		h := Histories(pod)[1]
		if h.Ended != tt.ended || h.Unseen != tt.unseen {
			t.Errorf("%s: %d ended, %d of them unseen, want %d and %d", tt.name, h.Ended, h.Unseen, tt.ended, tt.unseen)
		}
	}
}

// The restart window starts when the announced delay ends. It is as long as
// backoff.KubeletRestart's, and a second longer because statuses have whole seconds.
func TestRestartWindow(t *testing.T) {
	pod := func(message string, last *corev1.ContainerStateTerminated) *History {
		state := waiting("CrashLoopBackOff")
		state.Waiting.Message = message
		all := Histories(&corev1.Pod{
			Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", RestartCount: 2, State: state, LastTerminationState: corev1.ContainerState{Terminated: last}}}},
		})
		return &all[0]
	}
	const message = "back-off 20s restarting failed container=c pod=p_default(u)"
	from, to, ok := pod(message, ended(1, 0, 5)).RestartWindow(time.Minute)
	if begin := exitsBegin.Add(5 * time.Second); !ok || !from.Equal(begin.Add(20*time.Second)) || !to.Equal(begin.Add(32*time.Second)) {
		t.Errorf("from %v to %v, %v", from, to, ok)
	}
	if _, to, _ := pod(message, ended(1, 0, 5)).RestartWindow(time.Second); !to.Equal(exitsBegin.Add(27*time.Second + time.Second/2)) {
		t.Errorf("with a syncFrequency of 1s up to %v", to)
	}
	unknown := ended(1, 0, 5)
	unknown.FinishedAt = metav1.Time{}
	for name, h := range map[string]*History{
		"no exit": pod(message, nil), "no time": pod(message, unknown), "another message": pod("back-off", ended(1, 0, 5)), "no status": {},
	} {
		if _, _, ok := h.RestartWindow(0); ok {
			t.Errorf("%s: there is a window", name)
		}
	}
}

func TestCrashLoopDelay(t *testing.T) {
	for message, want := range map[string]time.Duration{
		"back-off 10s restarting failed container=c pod=p":  10 * time.Second,
		"Back-off 5m0s restarting failed container=c pod=p": 5 * time.Minute,
		"back-off 40s restarting failed container":          40 * time.Second,
		"back-off -10s restarting failed container=c":       -1,
		"back-off soon restarting failed container=c pod=p": -1,
		"back-off 10s":                           -1,
		`Back-off pulling image "x"`:             -1,
		"10s restarting failed container=c":      -1,
		"":                                       -1,
		"back-off 1s restarting failed containe": -1,
		"back-off 99999999999h restarting failed container=": -1,
	} {
		if d, ok := CrashLoopDelay(message); ok != (want >= 0) || ok && d != want {
			t.Errorf("%q: %v, %v", message, d, ok)
		}
	}
}

// Any pod of the API has histories, with the exits that Exits returns and no more
// unseen than ended runs.
func TestHistoriesOfAnyPod(t *testing.T) {
	checked := 0
	rapid.Check(t, func(t *rapid.T) {
		pod := theirs[corev1.Pod]().Draw(t, "pod")
		if len(pod.Spec.Containers) > 0 && len(pod.Status.ContainerStatuses) > 0 {
			pod.Status.ContainerStatuses[0].Name = pod.Spec.Containers[0].Name
		}
		all := Histories(pod)
		if len(all) != len(pod.Spec.InitContainers)+len(pod.Spec.Containers) {
			t.Fatalf("%d histories", len(all))
		}
		for i := range all {
			h := &all[i]
			if h.Unseen < 0 || h.Ended-h.Unseen != int64(len(h.Exits)) {
				t.Fatalf("%d ended, %d unseen, %d exits", h.Ended, h.Unseen, len(h.Exits))
			}
			checked += len(h.Exits)
			h.RestartWindow(time.Minute)
		}
	})
	if checked == 0 {
		t.Error("no exit was checked")
	}
}
