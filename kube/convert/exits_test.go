package convert

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/restartkit/restart/backoff"
)

var exitsBegin = time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)

// ended returns the state of a container that ran from one second to another.
func ended(code int32, from, to int) *corev1.ContainerStateTerminated {
	at := func(s int) metav1.Time { return metav1.NewTime(exitsBegin.Add(time.Duration(s) * time.Second)) }
	return &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", StartedAt: at(from), FinishedAt: at(to)}
}

func waiting(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

// The states of a container as the kubelet reports them, with the runs that end in
// each.
func TestRunsOfExitsAreCountedFromOne(t *testing.T) {
	first, second := ended(1, 0, 5), ended(2, 15, 20)
	lost := &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	over := func(t *corev1.ContainerStateTerminated) corev1.ContainerState {
		return corev1.ContainerState{Terminated: t}
	}
	named := second.DeepCopy()
	named.ContainerID = "containerd://2"
	for _, tt := range []struct {
		name     string
		restarts int32
		state    corev1.ContainerState
		last     *corev1.ContainerStateTerminated
		runs     []int64
	}{
		{"it is not there yet", 0, waiting("ContainerCreating"), nil, nil},
		{"it runs", 0, running, nil, nil},
		{"it has ended", 0, over(first), nil, []int64{1}},
		{"its restart is delayed", 0, waiting("CrashLoopBackOff"), first, []int64{1}},
		{"its image cannot be pulled again", 0, waiting("ImagePullBackOff"), first, []int64{1}},
		{"the second is created", 1, waiting(""), first, []int64{1}},
		{"the second runs", 1, running, first, []int64{1}},
		{"the second has ended", 1, over(second), first, []int64{1, 2}},
		{"the second's restart is delayed", 1, waiting("CrashLoopBackOff"), second, []int64{2}},
		{"the pod was ended during the delay", 1, over(named), named, []int64{2}},
		{"the third runs", 2, running, second, []int64{2}},
		{"the first was lost with its pod", 1, over(lost), nil, []int64{1}},
		{"the first was lost and is made anew", 1, waiting("ContainerCreating"), lost, []int64{1}},
		{"all containers are restarted", 1, waiting("RestartingAllContainers"), first, []int64{1}},
		{"the count is gone", 0, running, first, []int64{0}},
	} {
		s := &corev1.ContainerStatus{RestartCount: tt.restarts, State: tt.state, LastTerminationState: corev1.ContainerState{Terminated: tt.last}}
		var runs []int64
		for _, e := range Exits(s) {
			runs = append(runs, e.Run)
		}
		if !slices.Equal(runs, tt.runs) {
			t.Errorf("%s: runs %v, want %v", tt.name, runs, tt.runs)
		}
	}
	if Exits(nil) != nil {
		t.Error("no status has exits")
	}
}

// An exit has all facts of the state. The year 1970 means an unknown time, so a
// container that never started has not run for half a century.
func TestExitHasWhatTheStateSays(t *testing.T) {
	never := &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", StartedAt: metav1.Unix(0, 0), FinishedAt: ended(0, 0, 7).FinishedAt}
	for name, tt := range map[string]struct {
		state *corev1.ContainerStateTerminated
		want  backoff.Exit
	}{
		"a run":       {ended(3, 1, 4), backoff.Exit{Run: 1, Code: 3, Reason: "Error", Started: exitsBegin.Add(time.Second), Finished: exitsBegin.Add(4 * time.Second)}},
		"no start":    {never, backoff.Exit{Run: 1, Code: 128, Reason: "StartError", Finished: exitsBegin.Add(7 * time.Second)}},
		"not a thing": {&corev1.ContainerStateTerminated{}, backoff.Exit{Run: 1}},
	} {
		got := Exits(&corev1.ContainerStatus{State: corev1.ContainerState{Terminated: tt.state}})
		if diff := unequal([]backoff.Exit{tt.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// PodExits yields the exits of init containers, then those of containers, and the loop
// may end early.
func TestPodExitsNameTheirContainer(t *testing.T) {
	status := func(name string, code int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: ended(code, 0, 1)}}
	}
	pod := &corev1.Pod{Status: corev1.PodStatus{
		InitContainerStatuses: []corev1.ContainerStatus{status("init", 0)},
		ContainerStatuses:     []corev1.ContainerStatus{status("main", 1), {Name: "runs"}, status("side", 2)},
	}}
	var names []string
	var codes []int32
	for name, e := range PodExits(pod) {
		names, codes = append(names, name), append(codes, e.Code)
	}
	if !slices.Equal(names, []string{"init", "main", "side"}) || !slices.Equal(codes, []int32{0, 1, 2}) {
		t.Errorf("containers %v, codes %v", names, codes)
	}
	for name := range PodExits(pod) {
		if name == "main" {
			break
		}
	}
	for range PodExits(nil) {
		t.Error("no pod has exits")
	}
}

// Reporting all exits of any observed statuses, each several times, decides once on
// each run visible in one of them.
func TestEveryExitIsDecidedOnOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		restarter, err := backoff.NewRestarter(backoff.ExitPolicy{}, backoff.RestarterOptions[string]{
			Clock: clocktesting.NewFakeClock(exitsBegin.Add(24 * time.Hour)),
		})
		if err != nil {
			t.Fatal(err)
		}
		looks := rapid.IntRange(0, 2)
		seen := map[int64]bool{}
		look := func(s corev1.ContainerStatus, state string) {
			for range looks.Draw(t, "looks at "+state) {
				for _, e := range Exits(&s) {
					seen[e.Run] = true
					if want := int64(e.Code); e.Run != want {
						t.Fatalf("the end of run %d is taken for that of run %d", want, e.Run)
					}
					restarter.Exited("main", backoff.ExitPolicy{}, e)
				}
			}
		}
		var s corev1.ContainerStatus
		for run := range rapid.IntRange(1, 6).Draw(t, "runs") {
			s.RestartCount = int32(run)
			s.State = waiting("")
			look(s, "created")
			s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
			look(s, "running")
			// Runs that fail at once may end in the same second.
			s.State = corev1.ContainerState{Terminated: ended(int32(run+1), 0, run/3)}
			look(s, "ended")
			s.LastTerminationState, s.State = s.State, waiting("CrashLoopBackOff")
			look(s, "delayed")
			s.State = waiting("ErrImagePull")
			look(s, "pulling")
		}
		if state, _ := restarter.State("main"); state.Failures != len(seen) {
			t.Fatalf("%d failures were counted, %d different ones seen", state.Failures, len(seen))
		}
	})
}

// A container's policy is that of its JSON, or the pod's if the container has none.
func TestContainerPolicyAgreesWithJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := theirs[corev1.Container]().Draw(t, "container")
		pod := &corev1.PodSpec{RestartPolicy: corev1.RestartPolicyOnFailure}
		var want backoff.ExitPolicy
		if err := json.Unmarshal([]byte(encode(t, c)), &want); err != nil {
			t.Fatal(err)
		}
		if c.RestartPolicy == nil {
			want.RestartPolicy = backoff.RestartPolicyOnFailure
		}
		got := ExitPolicy(pod, c)
		if diff := unequal(want, got); diff != "" {
			t.Fatalf("(-JSON +got):\n%s", diff)
		}
		if shares(c, &got) {
			t.Fatal("the policy shares memory with the container")
		}
	})
}

// A sidecar restarts under any policy of its pod.
func TestContainerPolicyOfASidecarIsItsOwn(t *testing.T) {
	pod := &corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever}
	sidecar := &corev1.Container{RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}
	if got := ExitPolicy(pod, sidecar).RestartPolicy; got != backoff.RestartPolicyAlways {
		t.Errorf("a sidecar's policy is %s", got)
	}
	if got := ExitPolicy(pod, &corev1.Container{}).RestartPolicy; got != backoff.RestartPolicyNever {
		t.Errorf("another container's policy is %s", got)
	}
}

// In a pod that restarts always, an init container runs until it has succeeded once. Its
// own policy and that of another pod stay.
func TestContainerPolicyOfAnInitContainer(t *testing.T) {
	for _, tt := range []struct {
		pod  corev1.RestartPolicy
		own  *corev1.ContainerRestartPolicy
		want backoff.RestartPolicy
	}{
		{corev1.RestartPolicyAlways, nil, backoff.RestartPolicyOnFailure},
		{"", nil, backoff.RestartPolicyOnFailure}, // a manifest's; the API server's default is Always
		{corev1.RestartPolicyOnFailure, nil, backoff.RestartPolicyOnFailure},
		{corev1.RestartPolicyNever, nil, backoff.RestartPolicyNever},
		{corev1.RestartPolicyAlways, new(corev1.ContainerRestartPolicyNever), backoff.RestartPolicyNever},
		{corev1.RestartPolicyAlways, new(corev1.ContainerRestartPolicyAlways), backoff.RestartPolicyAlways}, // a sidecar
	} {
		init := corev1.Container{Name: "setup", RestartPolicy: tt.own}
		pod := &corev1.PodSpec{
			RestartPolicy:  tt.pod,
			InitContainers: []corev1.Container{init},
			Containers:     []corev1.Container{{Name: "main"}},
		}
		if got := ExitPolicy(pod, &init).RestartPolicy; got != tt.want {
			t.Errorf("pod %q, own %v: %s, want %s", tt.pod, tt.own, got, tt.want)
		}
		if got := ExitPolicy(pod, &pod.Containers[0]).RestartPolicy; got != backoff.RestartPolicy(tt.pod) {
			t.Errorf("pod %q: the main container's policy is %q", tt.pod, got)
		}
	}
}

// A plain decoder of YAML refuses a misspelled field of a rule, as a strict one does.
func TestMisspelledRulesInYAMLAreRefused(t *testing.T) {
	const text = "restartPolicyRules:\n- action: Restart\n  exitCodes: {operator: In, values: [1]}\n  limt: 5\n"
	for name, decode := range map[string]func([]byte, any, ...yaml.JSONOpt) error{"plain": yaml.Unmarshal, "strict": yaml.UnmarshalStrict} {
		var policy backoff.ExitPolicy
		err := decode([]byte(text), &policy)
		const want = "restartPolicyRules[0].limt: unknown field: did you mean limit?"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
