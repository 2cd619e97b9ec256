package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// A conversion returns the same as decoding the object's JSON, and does not modify the
// object. Job converts its parts with JobSpec, JobStatus, PodFailurePolicy and
// SuccessPolicy.
func TestConversionAgreesWithJSON(t *testing.T) {
	t.Run("Job", rapid.MakeCheck(agreesWithJSON(Job)))
	t.Run("Pod", rapid.MakeCheck(agreesWithJSON(Pod)))
}

func agreesWithJSON[Theirs, Ours any](conversion func(*Theirs) *Ours) func(*rapid.T) {
	return func(t *rapid.T) {
		object := theirs[Theirs]().Draw(t, "object")
		text := encode(t, object)
		var decoded Ours
		if err := json.Unmarshal([]byte(text), &decoded); err != nil {
			t.Fatalf("our type does not decode theirs: %v", err)
		}
		if diff := unequal(&decoded, conversion(object)); diff != "" {
			t.Fatalf("the conversion differs from the decoded JSON (-decoded +converted):\n%s", diff)
		}
		if after := encode(t, object); after != text {
			t.Fatalf("the object was written to:\n%s\n%s", text, after)
		}
	}
}

// Every field of our types has a counterpart in Kubernetes' type, and survives the way
// there and back.
func TestNoFieldOfAJobIsLost(t *testing.T) { rapid.Check(t, comesBack(Job)) }

func TestNoFieldOfAPodIsLost(t *testing.T) { rapid.Check(t, comesBack(Pod)) }

func comesBack[Theirs, Ours any](conversion func(*Theirs) *Ours) func(*rapid.T) {
	objects := ours[Ours]()
	return func(t *rapid.T) {
		drawn := objects.Draw(t, "object")
		var object Theirs
		decoder := json.NewDecoder(bytes.NewReader([]byte(encode(t, drawn))))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&object); err != nil {
			t.Fatalf("Kubernetes' type does not decode ours: %v", err)
		}
		if diff := unequal(drawn, conversion(&object)); diff != "" {
			t.Fatalf("a field was lost on the way through Kubernetes' type (-drawn +converted):\n%s", diff)
		}
	}
}

// Fields that jobpolicy does not know stay with the Job, and lint sees them.
func TestUnknownFieldsOfAJobSurvive(t *testing.T) {
	const text = `{"selector":{"matchLabels":{"a":"b"}},"manualSelector":false,"scheduling":{"schedulingPolicy":{"gang":{"minCount":2}}},"template":{"metadata":{},"spec":{"containers":null}}}`
	var spec batchv1.JobSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	var decoded batch.JobSpec
	if err := json.Unmarshal([]byte(encode(t, spec)), &decoded); err != nil {
		t.Fatal(err)
	}
	got := JobSpec(&spec)
	if diff := unequal(decoded.Unknown, got.Unknown); diff != "" {
		t.Errorf("(-decoded +converted):\n%s", diff)
	}
	names := slices.Sorted(maps.Keys(got.Unknown))
	want := []string{"manualSelector", "scheduling", "selector"}
	if _, known := reflect.TypeFor[batchv1.JobSpec]().FieldByName("Scheduling"); !known { // up to 1.36
		want = []string{"manualSelector", "selector"}
	}
	if !slices.Equal(names, want) {
		t.Errorf("unknown fields %q, want %q", names, want)
	}
}

// Empty objects and nil pointers are converted.
func TestNothingBecomesNothing(t *testing.T) {
	for name, diff := range map[string]string{
		"Job":                 unequal(&batch.Job{}, Job(&batchv1.Job{})),
		"Pod":                 unequal(&batch.Pod{}, Pod(&corev1.Pod{})),
		"no Job":              unequal((*batch.Job)(nil), Job(nil)),
		"no JobSpec":          unequal((*batch.JobSpec)(nil), JobSpec(nil)),
		"no JobStatus":        unequal((*batch.JobStatus)(nil), JobStatus(nil)),
		"no Pod":              unequal((*batch.Pod)(nil), Pod(nil)),
		"no Pods":             unequal([]*batch.Pod(nil), Pods(nil)),
		"no PodFailurePolicy": unequal((*batch.PodFailurePolicy)(nil), PodFailurePolicy(nil)),
		"no SuccessPolicy":    unequal((*batch.SuccessPolicy)(nil), SuccessPolicy(nil)),
	} {
		if diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Results share large parts with the argument: labels, annotations, finalizers,
// commands and codes.
func TestConversionSharesWhatItCan(t *testing.T) {
	pod := finishedPod(0)
	job := &batchv1.Job{Spec: batchv1.JobSpec{PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Values: []int32{1}}},
	}}}}
	if ours := Pod(pod); !shares(ours.Labels, pod.Labels) || !shares(ours.Finalizers, pod.Finalizers) ||
		!shares(ours.Spec.Containers[0].Command, pod.Spec.Containers[0].Command) {
		t.Error("a pod's labels, finalizers and commands are copies")
	}
	if !shares(Job(job).Spec.PodFailurePolicy, job.Spec.PodFailurePolicy) {
		t.Error("a rule's exit codes are copies")
	}
}

// finishedPod returns a finished pod of a Job as an informer's cache holds it.
func finishedPod(index int) *corev1.Pod {
	at := metav1.NewTime(time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC))
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: at}
	}
	text := fmt.Sprint(index)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:              "job-" + text + "-abcde",
			GenerateName:      "job-" + text + "-",
			Namespace:         "default",
			UID:               "00000000-0000-0000-0000-000000000000",
			CreationTimestamp: at,
			Labels:            map[string]string{"batch.kubernetes.io/job-name": "job", batch.JobCompletionIndexAnnotation: text},
			Annotations:       map[string]string{batch.JobCompletionIndexAnnotation: text},
			Finalizers:        []string{batch.JobTrackingFinalizer},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			NodeName:      "node-1",
			Containers: []corev1.Container{{
				Name: "main", Image: "worker", Command: []string{"work"},
				Env: []corev1.EnvVar{{Name: batch.JobCompletionIndexEnv, ValueFrom: &corev1.EnvVarSource{}}},
			}},
		},
		Status: corev1.PodStatus{
			Phase:     corev1.PodFailed,
			StartTime: &at,
			Conditions: []corev1.PodCondition{
				condition(corev1.PodReadyToStartContainers, corev1.ConditionFalse),
				condition(corev1.PodInitialized, corev1.ConditionTrue),
				condition(corev1.PodReady, corev1.ConditionFalse),
				condition(corev1.ContainersReady, corev1.ConditionFalse),
				condition(corev1.PodScheduled, corev1.ConditionTrue),
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name:  "main",
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", StartedAt: at, FinishedAt: at}},
			}},
		},
	}
}

// Pods are converted in blocks, without loss or confusion at their ends.
func TestManyPodsAreConvertedAsEachOne(t *testing.T) {
	for _, n := range []int{1, blockOfPods - 1, blockOfPods, blockOfPods + 1, 3*blockOfPods + 7} {
		pods, want := make([]*corev1.Pod, n), make([]*batch.Pod, n)
		for i := range pods {
			if i%5 != 4 {
				pods[i] = finishedPod(i)
				want[i] = Pod(pods[i])
			}
		}
		if diff := cmp.Diff(want, Pods(pods)); diff != "" {
			t.Errorf("%d pods (- one by one, + together): %s", n, diff)
		}
	}
}

func BenchmarkPods(b *testing.B) {
	pods := make([]*corev1.Pod, 10_000)
	for i := range pods {
		pods[i] = finishedPod(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		Pods(pods)
	}
}
