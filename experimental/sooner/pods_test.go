package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/experimental/sooner/internal/decide"
	"github.com/restartkit/restart/kube/restartrules"
)

// rulesOf parses valid rules.
func rulesOf(t testing.TB, text string) *restartrules.Rules {
	t.Helper()
	r, err := restartrules.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// crashed returns a pod whose container has an exit that the API server shows.
func crashed(name, id string, code int32, finished time.Time) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "c",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: code, ContainerID: "fake://" + id, FinishedAt: metav1.NewTime(finished.Truncate(time.Second)),
			}},
		}}},
	}
}

func TestNewPod(t *testing.T) {
	at := time.Date(2026, 11, 24, 1, 2, 3, 0, time.UTC)
	all := rulesOf(t, secondAfter42)
	always := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyAlways}
	plain := func(change func(p *pod)) *pod {
		p := &pod{
			name: "p",
			Pod: decide.Pod{
				UID: "uid-p", Namespace: "ns", Containers: []decide.Container{{Name: "c", Policy: always}},
				Shown: map[string]decide.Shown{"x": {Name: "c", Finished: at}},
			},
		}
		if change != nil {
			change(p)
		}
		return p
	}
	over := &pod{name: "p", Pod: decide.Pod{UID: "uid-p", Namespace: "ns", Ended: true}}
	for _, tt := range []struct {
		name   string
		change func(p *corev1.Pod)
		all    *restartrules.Rules
		want   *pod
	}{
		{"no annotation", nil, nil, plain(nil)},
		{"rules of all pods", nil, all, plain(func(p *pod) { p.Rules = all })},
		{"own rules", func(p *corev1.Pod) { p.Annotations[annotationRules] = `curve: {initial: 1s, max: 5s}` }, all, plain(func(p *pod) {
			p.Rules, p.text = rulesOf(t, `curve: {initial: 1s, max: 5s}`), `curve: {initial: 1s, max: 5s}`
		})},
		{"restart now", func(p *corev1.Pod) { p.Annotations[annotationNow] = "1" }, nil, plain(func(p *pod) { p.Now = "1" })},
		{"restart now, with a long text", func(p *corev1.Pod) { p.Annotations[annotationNow] = strings.Repeat("1", 200_000) }, nil, plain(func(p *pod) {
			p.Now = fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Repeat("1", 200_000))))
		})},
		{"deleted", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: at} }, nil, over},
		{"failed", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, all, over},
		{"succeeded", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, nil, over},
		{"succeeded, with annotations", func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodSucceeded
			p.Annotations[annotationRules], p.Annotations[annotationNow] = "{", "1"
		}, nil, over},
		{"restarts all", func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.AllContainersRestarting, Status: corev1.ConditionTrue}}
		}, nil, plain(func(p *pod) { p.Ended = true })},
		{"restarted all", func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.AllContainersRestarting, Status: corev1.ConditionFalse}}
		}, nil, plain(nil)},
		{"last exit", func(p *corev1.Pod) {
			s := &p.Status.ContainerStatuses[0]
			s.LastTerminationState, s.State = s.State, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		}, nil, plain(nil)},
		{"exit without an id", func(p *corev1.Pod) {
			s := &p.Status.ContainerStatuses[0]
			s.State.Terminated = &corev1.ContainerStateTerminated{}
		}, nil, plain(func(p *pod) { clear(p.Shown) })},
		{"containers", func(p *corev1.Pod) {
			p.Spec.RestartPolicy = corev1.RestartPolicyNever
			sidecar := corev1.ContainerRestartPolicyAlways
			p.Spec.InitContainers = []corev1.Container{{Name: "init"}, {Name: "side", RestartPolicy: &sidecar}, {Name: "slow", RestartPolicy: &sidecar}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "side", Started: new(true)}, {Name: "slow", Started: new(false)}}
			p.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{
				Action:    corev1.ContainerRestartRuleActionRestart,
				ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{3}},
			}}
		}, nil, plain(func(p *pod) {
			never := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyNever}
			rule := never
			rule.Rules = []backoff.Rule{{Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{3}}}}
			p.Containers = []decide.Container{
				{Name: "init", Policy: never, Init: true},
				{Name: "side", Policy: always, Init: true, Sidecar: true, Initialized: true},
				{Name: "slow", Policy: always, Init: true, Sidecar: true},
				{Name: "c", Policy: rule},
			}
		})},
	} {
		p := crashed("p", "x", 42, at)
		if tt.change != nil {
			tt.change(p)
		}
		for _, old := range []*pod{nil, newPod(p, tt.all, nil), {text: "other", Pod: decide.Pod{Rules: &restartrules.Rules{}}}, {note: note{"other", "other"}}} {
			if got := newPod(p, tt.all, old); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s after %+v: %+v, want %+v", tt.name, old, *got, *tt.want)
			}
		}
	}
}

// A static pod has the UID of its sandbox. A sidecar without a startup probe counts as
// started when it runs, because a manifest has no status.
func TestNewStaticPod(t *testing.T) {
	sidecar := corev1.ContainerRestartPolicyAlways
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "of the manifest", Annotations: map[string]string{annotationNow: "1", annotationRules: secondAfter42}},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "init"}, {Name: "side", RestartPolicy: &sidecar}, {Name: "slow", RestartPolicy: &sidecar, StartupProbe: &corev1.Probe{}}},
			Containers:     []corev1.Container{{Name: "c"}},
		},
	}
	n := newStaticPod(p, nil, nil, "of the sandbox")
	if n.UID != "of the sandbox" || n.Namespace != "ns" || !n.Static || n.Now != "" || n.Rules == nil || n.folder() != "ns_p_of the sandbox" {
		t.Errorf("%+v", n)
	}
	for i, want := range []bool{false, true, false, false} {
		if n.Containers[i].Initialized != want {
			t.Errorf("%+v", n.Containers[i])
		}
	}
}

// A mistake in the annotation leaves the pod to the kubelet, whatever else is set, and is
// noted in an Event. The mistakes themselves are those of package restartrules.
func TestMistakesInAnnotation(t *testing.T) {
	for text, want := range map[string]string{
		"{":            "",
		`{"nope": 1}`:  "nope",
		`{"curve": 1}`: "curve",
		`{"restartPolicyRules": [{"action": "Explode"}]}`:                                      "restartPolicyRules[0].action",
		`{"restartPolicyRules": [` + strings.Repeat("{},", 20) + `{}]}`:                        "restartPolicyRules: too many items 21",
		`{"curve": {"initial": "` + strings.Repeat("9", 60_000) + `s"}}`:                       "curve.initial",
		`{"restartPolicyRules": [` + strings.Repeat("{},", 87_000) + `{}]}`:                    "longer than 64 KiB",
		strings.Repeat(" ", restartrules.MaxBytes-1) + "{}":                                    "longer than 64 KiB",
		"a: &a " + strings.Repeat("x", 1000) + "\nb: [" + strings.Repeat("*a, ", 10_000) + "]": "alias",
	} {
		short := text[:min(len(text), 60)]
		p := crashed("p", "x", 42, time.Now())
		p.Annotations[annotationRules], p.Annotations[annotationNow] = text, "1"
		n := newPod(p, rulesOf(t, secondAfter42), nil)
		if again := newPod(p, nil, n); !reflect.DeepEqual(again, n) {
			t.Errorf("%q: %+v in an update, want %+v", short, again, n)
		}
		if n.note.reason != reasonInvalid || !strings.HasPrefix(n.note.text, "annotation "+annotationRules+": ") || !strings.Contains(n.note.text, want) || len(n.note.text) > longestNote {
			t.Errorf("%s: %v, want %q in it", short, n.note, want)
		}
		if n.Rules != nil || !n.Invalid || n.OptedIn() || n.text != bounded(text) {
			t.Errorf("%s: %+v", short, n)
		}
		samePod(t, p, nil)
	}
}

// A rule that decides on no exit is noted too. The other rules hold.
func TestContradictionInAnnotation(t *testing.T) {
	const rules = `{"restartPolicyRules": [
		{"action": "GiveUp", "exitCodes": {"operator": "In", "values": [42, 43]}},
		{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}, "delay": {"initial": "1s", "max": "1s"}}]}`
	p := crashed("p", "x", 42, time.Now())
	p.Annotations[annotationRules] = rules
	n := newPod(p, nil, nil)
	if n.note.reason != reasonUnreachable || !strings.Contains(n.note.text, "restartPolicyRules[1]: ") || !strings.Contains(n.note.text, "restartPolicyRules[0] decides") {
		t.Errorf("%+v", n.note)
	}
	if !n.OptedIn() || len(n.Rules.Rules) != 2 {
		t.Errorf("%+v", n)
	}
	if again := newPod(p, nil, n); !reflect.DeepEqual(again, n) {
		t.Errorf("%+v in an update, want %+v", again, n)
	}
	for _, rules := range []string{
		secondAfter42,
		// The kubelet restarts the first failures, so there is a third.
		`{"restartPolicyRules": [{"action": "Restart", "minFailures": 3, "delay": {"initial": "1s", "max": "1s"}}, {"action": "GiveUp", "minFailures": 1}]}`,
	} {
		p.Annotations[annotationRules] = rules
		if n := newPod(p, nil, nil); n.note != (note{}) || !n.OptedIn() {
			t.Errorf("%s: %+v", rules, n.note)
		}
	}
}

// Finished pods, and annotations that are too long, take no memory, however many there are.
func TestLargeAnnotationsAreNotKept(t *testing.T) {
	rules := `{"restartPolicyRules": [` + strings.Repeat("{},", 87_000) + `{}]}`
	for i := range 5 {
		p := crashed("p", "x", 0, time.Now())
		p.Annotations[annotationRules], p.Annotations[annotationNow] = rules, strings.Repeat("x", 10_000)
		if i > 0 {
			p.Status.Phase = corev1.PodSucceeded
		}
		object, err := slim(p)
		if err != nil {
			t.Fatal(err)
		}
		s := object.(*corev1.Pod)
		n := newPod(s, nil, nil)
		if i > 0 {
			if len(s.Annotations) > 0 || n.text != "" || n.note != (note{}) || n.OptedIn() {
				t.Errorf("of a finished pod: %+v, %+v", s.Annotations, n)
			}
			continue
		}
		if kept := s.Annotations[annotationRules]; unsafe.StringData(kept) != unsafe.StringData(tooLong) || len(s.Annotations[annotationNow]) > 64 {
			t.Errorf("annotations of %d and %d bytes are kept", len(kept), len(s.Annotations[annotationNow]))
		}
		if want := newNote(reasonInvalid, "longer than 64 KiB"); n.note != want {
			t.Errorf("note %+v, want %+v", n.note, want)
		}
	}
}

// samePod fails the test unless the slim pod gives the same decisions.
func samePod(t interface {
	Helper()
	Fatalf(string, ...any)
}, p *corev1.Pod, all *restartrules.Rules) {
	t.Helper()
	before := p.DeepCopy()
	object, err := slim(p)
	if err != nil {
		t.Fatalf("slim: %v", err)
	}
	s := object.(*corev1.Pod)
	again, _ := slim(s)
	if !reflect.DeepEqual(again, object) || !reflect.DeepEqual(p, before) {
		t.Fatalf("slim changes %+v", p)
	}
	if got, want := newPod(s, all, nil), newPod(p, all, nil); !reflect.DeepEqual(got, want) {
		t.Fatalf("slim %+v, whole %+v", *got, *want)
	}
	if got, want := newStaticPod(s, all, nil, "u"), newStaticPod(p, all, nil, "u"); !reflect.DeepEqual(got, want) {
		t.Fatalf("slim %+v, whole %+v", *got, *want)
	}
	if s.Namespace != p.Namespace || s.Name != p.Name || s.UID != p.UID || s.ResourceVersion != p.ResourceVersion {
		t.Fatalf("slim is of %s/%s", s.Namespace, s.Name)
	}
	if _, mirror := p.Annotations[annotationMirror]; mirror {
		if _, ok := s.Annotations[annotationMirror]; !ok {
			t.Fatalf("slim is of no mirror pod")
		}
	}
}

// anyPod draws pods of all kinds that matter here.
func anyPod(t *rapid.T) *corev1.Pod {
	name := rapid.SampledFrom([]string{"", "a", "b", "c"})
	policy := rapid.SampledFrom([]*corev1.ContainerRestartPolicy{
		nil, new(corev1.ContainerRestartPolicyAlways), new(corev1.ContainerRestartPolicyNever), new(corev1.ContainerRestartPolicyOnFailure),
	})
	container := rapid.Custom(func(t *rapid.T) corev1.Container {
		c := corev1.Container{Name: name.Draw(t, "name"), Image: "i", RestartPolicy: policy.Draw(t, "policy"), Command: []string{"x"}}
		for range rapid.IntRange(0, 2).Draw(t, "rules") {
			rule := corev1.ContainerRestartRule{Action: corev1.ContainerRestartRuleAction(rapid.SampledFrom([]string{"Restart", "RestartAllContainers", ""}).Draw(t, "action"))}
			if rapid.Bool().Draw(t, "codes") {
				rule.ExitCodes = &corev1.ContainerRestartRuleOnExitCodes{
					Operator: corev1.ContainerRestartRuleOnExitCodesOperator(rapid.SampledFrom([]string{"In", "NotIn", ""}).Draw(t, "operator")),
					Values:   rapid.SliceOfN(rapid.Int32(), 0, 3).Draw(t, "values"),
				}
			}
			c.RestartPolicyRules = append(c.RestartPolicyRules, rule)
		}
		if rapid.Bool().Draw(t, "probe") {
			c.StartupProbe = &corev1.Probe{PeriodSeconds: 1}
		}
		return c
	})
	terminated := rapid.Custom(func(t *rapid.T) *corev1.ContainerStateTerminated {
		if rapid.Bool().Draw(t, "none") {
			return nil
		}
		return &corev1.ContainerStateTerminated{
			ExitCode: rapid.Int32().Draw(t, "code"), ContainerID: rapid.SampledFrom([]string{"", "x", "fake://", "fake://x", "fake://y", "a://b://c"}).Draw(t, "id"),
			FinishedAt: metav1.Unix(rapid.Int64Range(0, 1e10).Draw(t, "finished"), 0),
		}
	})
	containerStatus := rapid.Custom(func(t *rapid.T) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name: name.Draw(t, "name"), Started: rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(t, "started"),
			State:                corev1.ContainerState{Terminated: terminated.Draw(t, "state")},
			LastTerminationState: corev1.ContainerState{Terminated: terminated.Draw(t, "last")},
			RestartCount:         rapid.Int32().Draw(t, "restarts"),
		}
	})
	condition := rapid.Custom(func(t *rapid.T) corev1.PodCondition {
		return corev1.PodCondition{
			Type:   rapid.SampledFrom([]corev1.PodConditionType{corev1.PodReady, corev1.AllContainersRestarting}).Draw(t, "type"),
			Status: rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, ""}).Draw(t, "status"),
		}
	})
	values := map[string][]string{
		annotationRules: {secondAfter42, "", "{", `{"nope": 1}`, strings.Repeat("{", restartrules.MaxBytes+2)}, annotationNow: {"", "1", strings.Repeat("1", 100)}, annotationMirror: {""}, annotationPoked: {"x"}, "other": {"x"},
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u", ResourceVersion: "7", Labels: map[string]string{"l": "v"}},
		Spec: corev1.PodSpec{
			RestartPolicy:  corev1.RestartPolicy(rapid.SampledFrom([]string{"", "Always", "OnFailure", "Never"}).Draw(t, "restartPolicy")),
			InitContainers: rapid.SliceOfN(container, 0, 3).Draw(t, "init"), Containers: rapid.SliceOfN(container, 0, 3).Draw(t, "containers"),
		},
		Status: corev1.PodStatus{
			Phase:                 corev1.PodPhase(rapid.SampledFrom([]string{"", "Pending", "Running", "Succeeded", "Failed"}).Draw(t, "phase")),
			Conditions:            rapid.SliceOfN(condition, 0, 3).Draw(t, "conditions"),
			InitContainerStatuses: rapid.SliceOfN(containerStatus, 0, 3).Draw(t, "initStatuses"), ContainerStatuses: rapid.SliceOfN(containerStatus, 0, 3).Draw(t, "statuses"),
		},
	}
	for key, of := range values {
		if rapid.Bool().Draw(t, key) {
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, key, rapid.SampledFrom(of).Draw(t, key+"'s value"))
		}
	}
	if rapid.Bool().Draw(t, "deleted") {
		p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	return p
}

// The informer keeps slim pods only. Nothing that matters is lost.
func TestSlimPodsAreTheSame(t *testing.T) {
	all := rulesOf(t, secondAfter42)
	rapid.Check(t, func(t *rapid.T) {
		samePod(t, anyPod(t), rapid.SampledFrom([]*restartrules.Rules{nil, all}).Draw(t, "all"))
	})
}

// No pod makes the program fail.
func FuzzPod(f *testing.F) {
	for _, p := range []*corev1.Pod{{}, crashed("p", "x", 42, time.Unix(1, 0)), {Spec: corev1.PodSpec{InitContainers: make([]corev1.Container, 2)}}} {
		text, err := json.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"metadata":{"annotations":{"restartkit.dev/restart-rules":"{\"curve\":{\"initial\":\"1s\",\"max\":\"1s\"}}"}},"status":{"conditions":[{}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var p corev1.Pod
		if json.Unmarshal(text, &p) == nil {
			samePod(t, &p, nil)
		}
	})
}

// An object of another type, such as one that tells of a deletion, stays.
func TestSlimOfAnotherObject(t *testing.T) {
	object := &corev1.Node{}
	if got, err := slim(object); got != any(object) || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
