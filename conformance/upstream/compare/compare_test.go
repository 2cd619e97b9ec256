package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/restartkit/restart/kube/testenv"
)

// jobs are the Jobs that both controllers run. A pod exits with code 1 unless its
// Job's annotation says otherwise: "codes" has the codes of the attempts of index 0,
// or of all pods in the order of their creation where there are no indexes.
func jobs() map[string]*batchv1.Job {
	job := func(codes string, spec batchv1.JobSpec) *batchv1.Job {
		spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		if len(spec.Template.Spec.Containers) == 0 {
			spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.com/main"}}
		}
		if spec.Template.Annotations == nil {
			spec.Template.Annotations = map[string]string{}
		}
		spec.Template.Annotations["codes"] = codes
		return &batchv1.Job{Spec: spec}
	}
	indexed := batchv1.IndexedCompletion
	failed := batchv1.Failed
	failIndex := batchv1.PodFailurePolicyActionFailIndex
	main := "main"
	policy := func(action batchv1.PodFailurePolicyAction, code int32) *batchv1.PodFailurePolicy {
		return &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action:      action,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{ContainerName: &main, Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{code}},
		}}}
	}
	return map[string]*batchv1.Job{
		"plain":    job("0", batchv1.JobSpec{Completions: new(int32(3)), Parallelism: new(int32(2))}),
		"retried":  job("1,1,0", batchv1.JobSpec{}),
		"exceeded": job("1", batchv1.JobSpec{BackoffLimit: new(int32(1))}),
		"indexed":  job("0", batchv1.JobSpec{Completions: new(int32(3)), Parallelism: new(int32(3)), CompletionMode: &indexed}),
		"template": job("0", batchv1.JobSpec{
			Completions: new(int32(2)), Parallelism: new(int32(2)), CompletionMode: &indexed,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      map[string]string{"app": "x"},
					Annotations: map[string]string{"note": "y"},
					Finalizers:  []string{"example.com/mine"},
				},
				Spec: corev1.PodSpec{
					Subdomain:                     "sub",
					TerminationGracePeriodSeconds: new(int64(7)),
					InitContainers:                []corev1.Container{{Name: "init", Image: "example.com/init"}},
					Containers: []corev1.Container{
						{Name: "main", Image: "example.com/main", Env: []corev1.EnvVar{{Name: "A", Value: "b"}}},
						{Name: "own", Image: "example.com/own", Env: []corev1.EnvVar{{Name: "JOB_COMPLETION_INDEX", Value: "mine"}}},
					},
				},
			},
		}),
		strings.Repeat("long", 15): job("0", batchv1.JobSpec{ // no room for a whole suffix
			Completions: new(int32(2)), CompletionMode: &indexed,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Hostname: "mine"}},
		}),
		"perindex": job("1,1,0", batchv1.JobSpec{
			Completions: new(int32(2)), Parallelism: new(int32(2)), CompletionMode: &indexed, BackoffLimitPerIndex: new(int32(2)),
		}),
		"perindexfails": job("1", batchv1.JobSpec{
			Completions: new(int32(2)), Parallelism: new(int32(2)), CompletionMode: &indexed, BackoffLimitPerIndex: new(int32(1)),
		}),
		"failindex": job("3", batchv1.JobSpec{
			Completions: new(int32(2)), Parallelism: new(int32(2)), CompletionMode: &indexed, BackoffLimitPerIndex: new(int32(3)),
			PodFailurePolicy: policy(failIndex, 3),
		}),
		"failjob":  job("42", batchv1.JobSpec{PodFailurePolicy: policy(batchv1.PodFailurePolicyActionFailJob, 42)}),
		"ignored":  job("7,7,0", batchv1.JobSpec{BackoffLimit: new(int32(0)), PodFailurePolicy: policy(batchv1.PodFailurePolicyActionIgnore, 7)}),
		"replaced": job("1,0", batchv1.JobSpec{PodReplacementPolicy: &failed}),
		"success": job("0", batchv1.JobSpec{
			Completions: new(int32(3)), Parallelism: new(int32(3)), CompletionMode: &indexed,
			SuccessPolicy: &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(3))}}},
		}),
	}
}

// script gives a pod the code of its attempt. Pods of index 1 and up exit with 0.
type script struct{ seen chan map[string]int }

func (s script) outcome(pod *corev1.Pod) testenv.Outcome {
	index := pod.Annotations["batch.kubernetes.io/job-completion-index"]
	codes := strings.Split(pod.Annotations["codes"], ",")
	if index != "" && index != "0" {
		return testenv.Outcome{}
	}
	seen := <-s.seen
	key := pod.Namespace + "/" + pod.Labels["job-name"]
	attempt := min(seen[key], len(codes)-1)
	seen[key]++
	s.seen <- seen
	code, err := strconv.Atoi(codes[attempt])
	if err != nil {
		panic(err)
	}
	return testenv.Outcome{ExitCodes: []int32{int32(code)}}
}

func TestPodsAndStatusesAreThoseOfKubernetes(t *testing.T) {
	env := testenv.ForTest(t)
	client := kubernetes.NewForConfigOrDie(env.Config())
	ctx, cancel := context.WithCancel(t.Context())
	s := script{make(chan map[string]int, 1)}
	s.seen <- map[string]int{}
	kubelet, err := testenv.NewKubelet(testenv.KubeletOptions{Config: env.Config(), Script: s.outcome})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 3)
	go func() { ended <- kubelet.Run(ctx) }()
	namespaces := map[Side]string{}
	for _, side := range Sides {
		ready := make(chan struct{})
		go func() {
			ended <- side.Run(ctx, Options{Config: env.Config(), BaseDelay: 200 * time.Millisecond}, func() { close(ready) })
		}()
		<-ready
		namespaces[side] = env.Namespace(t)
		for name, job := range jobs() {
			job.Name = name
			side.Claim(job)
			if _, err := client.BatchV1().Jobs(namespaces[side]).Create(ctx, job, metav1.CreateOptions{}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	shown := map[Side]map[string]any{}
	for side, namespace := range namespaces {
		if err := Await(ctx, client, namespace); err != nil {
			t.Fatal(err)
		}
		shown[side] = show(t, client, namespace)
		if writers := writersOf(t, client, namespace); !writers[string(side)] || len(writers) != 1 {
			t.Errorf("the Jobs of %s and their pods were written by %v", side, writers)
		}
	}
	cancel()
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	pods := 0
	for _, name := range slices.Sorted(maps.Keys(jobs())) {
		if d := cmp.Diff(shown[Upstream][name], shown[Ours][name]); d != "" {
			t.Errorf("%s: -Kubernetes +ours\n%s", name, d)
		}
		pods += len(shown[Ours][name].(map[string]any)["pods"].([]any))
	}
	t.Logf("%d Jobs, %d pods alike", len(jobs()), pods)
	if pods < len(jobs()) {
		t.Error("fewer pods than Jobs were compared")
	}
}

// writersOf returns which of the two controllers have written Jobs or pods of a
// namespace.
func writersOf(t *testing.T, client kubernetes.Interface, namespace string) map[string]bool {
	t.Helper()
	jobs, err := client.BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var fields []metav1.ManagedFieldsEntry
	for _, job := range jobs.Items {
		fields = append(fields, job.ManagedFields...)
	}
	for _, pod := range pods.Items {
		fields = append(fields, pod.ManagedFields...)
	}
	writers := map[string]bool{}
	for _, f := range fields {
		if slices.Contains(Sides, Side(f.Manager)) {
			writers[f.Manager] = true
		}
	}
	return writers
}

// show returns the Jobs of a namespace by name: their status and their pods, without
// what differs from run to run.
func show(t *testing.T, client kubernetes.Interface, namespace string) map[string]any {
	t.Helper()
	jobs, err := client.BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]any{}
	for _, job := range jobs.Items {
		pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "job-name=" + job.Name})
		if err != nil {
			t.Fatal(err)
		}
		var list []any
		for _, pod := range pods.Items {
			list = append(list, plain(t, pod, namespace, string(job.UID)))
		}
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		shown[job.Name] = map[string]any{"status": plain(t, job.Status, namespace, string(job.UID)), "pods": list}
	}
	return shown
}

// plain is the JSON of an object without times, and without names and UIDs that the
// server made.
func plain(t *testing.T, object any, namespace, uid string) any {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.NewReplacer(uid, "JOB-UID", namespace, "NAMESPACE").Replace(string(text)))
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return strip(value)
}

// made are the fields that the server or the clock makes. A Message may name a pod.
var made = []string{
	"creationTimestamp", "managedFields", "resourceVersion", "lastTransitionTime", "lastProbeTime", "startTime", "completionTime",
	"startedAt", "finishedAt", "deletionTimestamp",
}

func strip(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for _, field := range made {
			delete(v, field)
		}
		if prefix, ok := v["generateName"].(string); ok { // a pod's metadata
			v["name"] = strings.HasPrefix(fmt.Sprint(v["name"]), prefix)
			delete(v, "uid")
		}
		for key, inner := range v {
			v[key] = strip(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = strip(inner)
		}
	case string:
		return podName.ReplaceAllString(v, "-POD ")
	}
	return value
}

// podName is the end of a pod's name in a message.
var podName = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5} `)
