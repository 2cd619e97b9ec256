//go:build long

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"

	"github.com/restartkit/restart/kube/cmd/kubectl-backoff/internal/explain"
	"github.com/restartkit/restart/kube/jobcontroller"
	"github.com/restartkit/restart/kube/testenv"
)

// asProgram makes the test binary run the program, under any name.
const asProgram = "KUBECTL_BACKOFF"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// call runs the program on a real API server, with the real time.
func call(t testing.TB, env *testenv.Environment, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errs}
	code = run(t.Context(), streams, time.Now, append(args, "--kubeconfig", env.Kubeconfig(), "--request-timeout", "2m")) // the machine may be busy
	return code, out.String(), errs.String()
}

// succeed is call for a call that prints no warning.
func succeed(t testing.TB, env *testenv.Environment, args ...string) string {
	t.Helper()
	code, stdout, stderr := call(t, env, args...)
	if code != exitOK || stderr != "" {
		t.Fatalf("kubectl backoff %s: exit code %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

func clientOf(t testing.TB, env *testenv.Environment) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(env.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// eventually waits until the function reports true, looking now and then.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !done(); {
		if time.Now().After(end) {
			t.Fatalf("%s: not after two minutes", what)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// addCrashing creates a pod in a crash loop, without a node that runs it.
func addCrashing(ctx context.Context, client kubernetes.Interface, namespace, name string, owner *batchv1.Job) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: corev1.PodSpec{
			NodeName: "nowhere", RestartPolicy: corev1.RestartPolicyAlways,
			Containers: []corev1.Container{{Name: "c", Image: "i"}},
		},
	}
	if owner != nil {
		pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		pod.Labels = map[string]string{batchv1.ControllerUidLabel: string(owner.UID)}
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("Job"))}
	}
	if _, err := client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	at := metav1.NewTime(time.Now().Truncate(time.Second))
	status, err := json.Marshal(map[string]any{"status": corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &at,
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "c", RestartCount: 2,
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 20s restarting failed container=c pod=" + name}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", StartedAt: at, FinishedAt: at}},
		}},
	}})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Pods(namespace).Patch(ctx, name, types.MergePatchType, status, metav1.PatchOptions{}, "status")
	return err
}

// The program works with the rights of a viewer, and without rights it says which are
// missing.
func TestRightsOfAViewer(t *testing.T) {
	env := testenv.ForTest(t)
	client, namespace := clientOf(t, env), env.Namespace(t)
	job, err := client.BatchV1().Jobs(namespace).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "job"},
		Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyOnFailure, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := addCrashing(t.Context(), client, namespace, "pod", job); err != nil {
		t.Fatal(err)
	}
	// A controller aggregates this role into the role view.
	if _, err := client.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "viewer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:aggregate-to-view"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "viewer"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"explain pod/pod": "CrashLoopBackOff", "explain job/job": "2 restarts in place", "next": "pod/pod",
		"pods": "CrashLoopBackOff", "explain jobs": "job", "check jobs,pods": "nothing found",
	} {
		words := append(strings.Fields(args), "-n", namespace)
		eventually(t, args, func() bool { // the server may learn of the right a little later
			code, stdout, stderr := call(t, env, append(words, "--as", "viewer")...)
			if strings.Contains(stderr, "you may not read") {
				return false
			}
			if code != exitOK || stderr != "" || !strings.Contains(stdout, want) {
				t.Fatalf("%s: exit code %d\n%s%s", args, code, stdout, stderr)
			}
			return true
		})
		code, stdout, stderr := call(t, env, append(words, "--as", "stranger")...)
		if code != exitCluster || stdout != "" || !strings.Contains(stderr, "you may not read") {
			t.Errorf("%s without rights: exit code %d\n%s%s", args, code, stdout, stderr)
		}
	}
}

// A Job that a controller runs on an API server, with a node that fails its pods: the
// next pod comes within the printed range, or later on a busy machine.
func TestJobBesideItsController(t *testing.T) {
	env := testenv.ForTest(t)
	client, namespace := clientOf(t, env), env.Namespace(t)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	kubelet, err := testenv.NewKubelet(testenv.KubeletOptions{Config: env.Config(), Namespace: namespace,
		Script: func(*corev1.Pod) testenv.Outcome { return testenv.Outcome{ExitCodes: []int32{3}} }})
	if err != nil {
		t.Fatal(err)
	}
	controller, err := jobcontroller.New(client, jobcontroller.Options{Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []func(context.Context) error{kubelet.Run, controller.Run} {
		running.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	managedBy, limit, deadline := jobcontroller.DefaultManagedBy, int32(2), int64(3600)
	if _, err := client.BatchV1().Jobs(namespace).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "job", Annotations: map[string]string{jobcontroller.AnnotationBaseDelay: "6s"}},
		Spec: batchv1.JobSpec{
			ManagedBy: &managedBy, BackoffLimit: &limit, ActiveDeadlineSeconds: &deadline,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	look := func() explain.Job {
		var list struct{ Items []explain.Job }
		if err := json.Unmarshal([]byte(succeed(t, env, "explain", "job/job", "-n", namespace, "-o", "json")), &list); err != nil || len(list.Items) != 1 {
			t.Fatal(err, len(list.Items))
		}
		return list.Items[0]
	}
	var predicted *explain.Start
	var counted int64
	eventually(t, "the Job fails", func() bool {
		job := look()
		for _, l := range job.Limits {
			if l.Name == "backoffLimit" {
				if l.Used < counted || l.Used > 3 {
					t.Fatalf("%d failures after %d", l.Used, counted)
				}
				counted = l.Used
			}
		}
		if job.Start != nil && len(job.Failures) == 1 && strings.Contains(job.Start.Why, "delay") {
			predicted = job.Start
		}
		return strings.Contains(job.Summary, "it has failed (BackoffLimitExceeded)")
	})
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 3 || predicted == nil {
		t.Fatal(err, len(pods.Items), predicted)
	}
	slices.SortFunc(pods.Items, func(p, q corev1.Pod) int { return p.CreationTimestamp.Compare(q.CreationTimestamp.Time) })
	second := pods.Items[1].CreationTimestamp
	t.Logf("the second pod was predicted from %v to %v and created at %v", predicted.From.UTC(), predicted.To.UTC(), second.UTC())
	if second.Add(time.Second).Before(predicted.From) {
		t.Error("the second pod was created earlier than predicted")
	}
}

// Calls with a thousand pods print how long they took.
func TestThousandPods(t *testing.T) {
	env := testenv.ForTest(t)
	client, namespace := clientOf(t, env), env.Namespace(t)
	parallelism := int32(1000)
	job, err := client.BatchV1().Jobs(namespace).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "job"},
		Spec: batchv1.JobSpec{Parallelism: &parallelism, Completions: &parallelism,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyOnFailure, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const pods, workers = 1000, 16
	var creating sync.WaitGroup
	for w := range workers {
		creating.Go(func() {
			for i := w; i < pods; i += workers {
				if err := addCrashing(t.Context(), client, namespace, fmt.Sprintf("pod-%04d", i), job); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	creating.Wait()
	if t.Failed() {
		return
	}
	for _, args := range []string{"next", "explain pod/pod-0500", "explain job/job", "explain pods", "check"} {
		least := time.Hour
		for range 5 {
			begin := time.Now()
			out := succeed(t, env, append(strings.Fields(args), "-n", namespace)...)
			least = min(least, time.Since(begin))
			if args == "next" && strings.Count(out, "\n") != pods+1 {
				t.Fatalf("%d lines", strings.Count(out, "\n"))
			}
		}
		t.Logf("kubectl backoff %-22s %v", args, least.Round(time.Millisecond))
	}
}

// With -w, a line is printed when a container or Job starts or stops waiting.
func TestWatch(t *testing.T) {
	env := testenv.ForTest(t)
	client, namespace := clientOf(t, env), env.Namespace(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs lockedBuffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errs}
	ended := make(chan int)
	go func() {
		ended <- run(ctx, streams, time.Now, []string{"next", "-w", "-n", namespace, "--kubeconfig", env.Kubeconfig()})
	}()
	if err := addCrashing(t.Context(), client, namespace, "pod", nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod waits", func() bool {
		return strings.Contains(out.String(), namespace+"/pod/pod/c CrashLoopBackOff, starts between ")
	})
	grace := int64(0)
	if err := client.CoreV1().Pods(namespace).Delete(t.Context(), "pod", metav1.DeleteOptions{GracePeriodSeconds: &grace}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod waits no longer", func() bool { return strings.Contains(out.String(), "/pod/pod/c waits no longer\n") })
	cancel()
	if code := <-ended; code != exitOK || errs.String() != "" {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	for line := range strings.Lines(out.String()) {
		if !strings.Contains(line, namespace+"/pod/pod") {
			t.Errorf("unexpected: %s", line)
		}
	}
}

// lockedBuffer is a buffer for concurrent use.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// kubectl finds the program and, through a link with another name, its completions.
func TestUnderKubectl(t *testing.T) {
	env := testenv.ForTest(t)
	client, namespace := clientOf(t, env), env.Namespace(t)
	if err := addCrashing(t.Context(), client, namespace, "web-0", nil); err != nil {
		t.Fatal(err)
	}
	kubectl, err := testenv.BuildKubectl(t.Context(), testenv.Options{Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range []string{"kubectl-backoff", "kubectl_complete-backoff"} {
		if err := os.Symlink(self, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ args, want string }{
		{"backoff pod/web-0 -n " + namespace, "CrashLoopBackOff"},
		{"backoff -h", "Exit codes:"},
		{"__complete backoff explain -n " + namespace + " pod/w", "pod/web-0"},
		{"__complete backoff exp", "explain"},
	} {
		cmd := exec.CommandContext(t.Context(), kubectl, strings.Fields(tt.args)...)
		cmd.Env = append(os.Environ(), asProgram+"=1", "KUBECONFIG="+env.Kubeconfig(), "PATH="+folder+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("kubectl %s: %v\n%s", tt.args, err, out)
		}
	}
}
