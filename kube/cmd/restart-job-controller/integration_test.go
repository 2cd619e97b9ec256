package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/restartkit/restart/kube/jobcontroller"
	"github.com/restartkit/restart/kube/testenv"
)

// asProgram makes the test binary run the program.
const asProgram = "RESTART_JOB_CONTROLLER"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// applier applies manifests like kubectl apply --server-side.
type applier struct {
	client dynamic.Interface
	mapper meta.RESTMapper
}

func newApplier(t testing.TB, config *rest.Config) *applier {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	discovery, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &applier{client, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discovery.Discovery()))}
}

func (a *applier) apply(t testing.TB, d document, dryRun ...string) {
	t.Helper()
	text, err := yaml.ToJSON(d.text)
	if err != nil {
		t.Fatal(err)
	}
	var object unstructured.Unstructured
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	kind := object.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		t.Fatal(err)
	}
	var resource dynamic.ResourceInterface = a.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		resource = a.client.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	if _, err := resource.Apply(t.Context(), object.GetName(), &object, metav1.ApplyOptions{FieldManager: "test", DryRun: dryRun}); err != nil {
		t.Errorf("%s: %s %s: %v", d.file, kind.Kind, object.GetName(), err)
	}
}

// clusterWithRights returns an API server with all manifests except the Deployment.
func clusterWithRights(t *testing.T) (env *testenv.Environment, client kubernetes.Interface) {
	t.Helper()
	env = testenv.StartForTest(t, testenv.Options{Flags: []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"}})
	apply := newApplier(t, env.Config())
	for _, d := range manifests(t, "manifests/*.yaml") {
		switch d.object.(type) {
		case *corev1.Namespace, *corev1.ServiceAccount, *rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding, *rbacv1.Role, *rbacv1.RoleBinding, *flowcontrolv1.FlowSchema:
			apply.apply(t, d)
		}
	}
	client, err := kubernetes.NewForConfig(env.Config())
	if err != nil {
		t.Fatal(err)
	}
	return env, client
}

// The API server accepts every object of the manifests, and the example.
func TestServerTakesTheManifests(t *testing.T) {
	env := testenv.ForTest(t)
	apply := newApplier(t, env.Config())
	for _, d := range append(manifests(t, "manifests/*.yaml"), manifests(t, "example-job.yaml")...) {
		apply.apply(t, d, metav1.DryRunAll)
		if _, ok := d.object.(*corev1.Namespace); ok {
			apply.apply(t, d) // the others are in it
		}
	}
}

// program is a replica in its own process, with the service account of the manifests.
type program struct {
	command *exec.Cmd
	address string // of the probes
	metrics string // of the metrics
	mu      sync.Mutex
	log     bytes.Buffer
	ended   chan error
}

func (p *program) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(text)
}

func (p *program) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func start(t *testing.T, env *testenv.Environment, args ...string) *program {
	t.Helper()
	config, err := clientcmd.LoadFromFile(env.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:restart-system:restart-job-controller"
		user.ImpersonateGroups = []string{"system:serviceaccounts", "system:serviceaccounts:restart-system", "system:authenticated"}
	}
	for _, c := range config.Contexts {
		c.Namespace = "restart-system"
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return startProgram(t, append([]string{
		"-kubeconfig", file, "-log-format", "json", "-metrics-auth=false",
		"-leader-elect-lease-duration", "15s", "-leader-elect-renew-deadline", "10s", "-leader-elect-retry-period", "1s",
	}, args...)...)
}

func startProgram(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{address: freeAddress(t), metrics: freeAddress(t), ended: make(chan error, 1)}
	p.command = exec.Command(os.Args[0], append([]string{"-listen", p.address, "-metrics-listen", p.metrics}, args...)...)
	p.command.Env = append(os.Environ(), asProgram+"=1")
	p.command.Stdout, p.command.Stderr = p, p
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.command.Wait() }()
	t.Cleanup(func() {
		p.command.Process.Kill()
		if t.Failed() {
			t.Logf("log of %v:\n%s", p.command.Args[1:], p)
		}
	})
	return p
}

// exits waits for the end and returns the exit code.
func (p *program) exits() int {
	err := <-p.ended
	p.ended <- err
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return 0
}

// get requests a path of the program. It returns 0 without an answer.
func (p *program) get(path string) (int, string) {
	address := p.address
	if path == "/metrics" {
		address = p.metrics
	}
	return answerOf(http.Get("http://" + address + path))
}

func answerOf(r *http.Response, err error) (int, string) {
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err.Error()
	}
	return r.StatusCode, string(text)
}

func (p *program) leads() bool {
	_, text := p.get("/metrics")
	return strings.Contains(text, "leader_election_master_status{name=\"restart-job-controller\"} 1\n")
}

// eventually waits for a condition, limited only by the test's own timeout.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for since := time.Now(); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Since(since) > 4*time.Minute {
			t.Fatalf("%s: not yet", what)
		}
	}
}

// runPods runs the pods of a namespace by the script until the test ends.
func runPods(t *testing.T, env *testenv.Environment, namespace string, script func(*corev1.Pod) testenv.Outcome) {
	t.Helper()
	kubelet, err := testenv.NewKubelet(testenv.KubeletOptions{Config: env.Config(), Namespace: namespace, Script: script})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := kubelet.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
}

// With only the permissions of the manifests, one of two replicas runs a Job to its
// end. The other continues when the first ends or is killed.
func TestReplicasTakeTurns(t *testing.T) {
	env, client := clusterWithRights(t)
	namespace := env.Namespace(t)
	runPods(t, env, namespace, func(pod *corev1.Pod) testenv.Outcome {
		if pod.Annotations[batchv1.JobCompletionIndexAnnotation] == "3" && pod.Annotations[batchv1.JobIndexFailureCountAnnotation] == "0" {
			return testenv.Outcome{ExitCodes: []int32{7}}
		}
		return testenv.Outcome{}
	})

	example := only[*batchv1.Job](t, manifests(t, "example-job.yaml"))
	runs := func(name string) {
		t.Helper()
		job := example.DeepCopy()
		job.Name, job.Namespace = name, namespace
		job.Annotations[jobcontroller.AnnotationBaseDelay] = "100ms"
		if _, err := client.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, name+" completes", func() bool {
			job, err := client.BatchV1().Jobs(namespace).Get(t.Context(), name, metav1.GetOptions{})
			return err == nil && job.Status.CompletionTime != nil && job.Status.Succeeded == 8 && job.Status.Failed == 1
		})
	}
	leader, standby := start(t, env), (*program)(nil)
	eventually(t, "the first replica leads", leader.leads)
	eventually(t, "it is ready", func() bool { code, _ := leader.get("/readyz"); return code == 200 })
	runs("first")
	eventually(t, "the Job is counted", func() bool {
		_, text := leader.get("/metrics")
		return strings.Contains(text, `job_controller_jobs_finished_total{completion_mode="Indexed",reason="CompletionsReached",result="succeeded"} 1`)
	})

	standby = start(t, env)
	eventually(t, "the second stands by", func() bool { code, _ := standby.get("/readyz"); return code == 200 })
	if standby.leads() {
		t.Error("both lead")
	}
	if err := leader.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := leader.exits(); code != exitOK || !strings.Contains(leader.String(), "gave up the Lease") {
		t.Errorf("the first exits with %d", code)
	}
	eventually(t, "the second leads", standby.leads)
	runs("second")

	third := start(t, env)
	eventually(t, "the third stands by", func() bool { code, _ := third.get("/readyz"); return code == 200 })
	if err := standby.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	standby.exits()
	eventually(t, "the third leads", third.leads)
	runs("third")

	// Another client takes the Lease away.
	leases := client.CoordinationV1().Leases("restart-system")
	eventually(t, "the Lease is taken away", func() bool {
		lease, err := leases.Get(t.Context(), "restart-job-controller", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		lease.Spec.HolderIdentity = new("somebody")
		lease.Spec.LeaseDurationSeconds = new(int32(3600))
		_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
		return err == nil
	})
	if code := third.exits(); code != exitLost {
		t.Errorf("without the Lease it exits with %d, want %d", code, exitLost)
	}

	// No request was forbidden, and each line of the logs is an object.
	for _, p := range []*program{leader, standby, third} {
		if strings.Contains(p.String(), "forbidden") {
			t.Errorf("a permission is missing:\n%s", p)
		}
		for line := range strings.Lines(p.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("not JSON: %s", line)
			}
		}
	}
	events, err := client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(events.Items) == 0 {
		t.Errorf("%d Events: %v", len(events.Items), err)
	}
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if len(pod.Finalizers) > 0 {
			t.Errorf("pod %s has the finalizers %v", pod.Name, pod.Finalizers)
		}
	}
	t.Log(fmt.Sprint(len(pods.Items), " pods, ", len(events.Items), " Events"))
}

// A second replica cannot listen on the address of the first.
func TestOccupiedAddressIsAnError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(config, []byte("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	if code := run(context.Background(), []string{"-kubeconfig", config, "-metrics-listen=", "-listen", listener.Addr().String()}, io.Discard, &errs); code != exitFailed || !strings.Contains(errs.String(), "-listen") {
		t.Errorf("exits with %d: %s", code, errs.String())
	}
	errs.Reset()
	if code := run(context.Background(), []string{"-kubeconfig", config, "-listen=", "-metrics-listen", listener.Addr().String()}, io.Discard, &errs); code != exitFailed || !strings.Contains(errs.String(), "-metrics-listen") {
		t.Errorf("exits with %d: %s", code, errs.String())
	}
}
