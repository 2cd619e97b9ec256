package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
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
	return withRights(t, testenv.Options{})
}

// withRights starts a cluster, and applies all manifests except the Deployment.
func withRights(t *testing.T, o testenv.Options) (env *testenv.Environment, client kubernetes.Interface) {
	t.Helper()
	o.Flags = append(o.Flags, "--enable-admission-plugins=OwnerReferencesPermissionEnforcement")
	env = testenv.StartForTest(t, o)
	apply := newApplier(t, env.Config())
	for _, d := range manifests(t) {
		switch d.object.(type) {
		case *corev1.Namespace, *corev1.ServiceAccount, *rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding, *rbacv1.Role, *rbacv1.RoleBinding,
			*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
			apply.apply(t, d)
		}
	}
	client, err := kubernetes.NewForConfig(env.Config())
	if err != nil {
		t.Fatal(err)
	}
	return env, client
}

// program is the program in its own process.
type program struct {
	command *exec.Cmd
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

// accountKubeconfig writes a kubeconfig with which the program has the service account
// of the manifests, and returns its name.
func accountKubeconfig(t *testing.T, env *testenv.Environment) string {
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
	return file
}

func startProgram(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{ended: make(chan error, 1)}
	p.command = exec.Command(os.Args[0], args...)
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

// A second replica cannot listen on the address of the first.
func TestOccupiedAddressIsAnError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	address := listener.Addr().String()
	for _, flag := range []string{"--health-probe-bind-address", "--pprof-bind-address", "--metrics-bind-address"} {
		args := []string{"--kubeconfig", unreachable(t), "--health-probe-bind-address=0", "--metrics-secure=false"}
		p := startProgram(t, append(args, flag, address)...)
		if code := p.exits(); code != exitFailed || !strings.Contains(p.String(), address) {
			t.Errorf("%s: exits with %d: %s", flag, code, p)
		}
	}
}

// On a signal the program ends, also without an answer of the API server.
func TestSignalEndsTheProgram(t *testing.T) {
	p := startProgram(t, "--kubeconfig", unreachable(t), "--health-probe-bind-address=0")
	eventually(t, "it runs", func() bool { return strings.Contains(p.String(), "waiting for Jobs and pods") })
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.exits(); code != exitOK {
		t.Errorf("exits with %d", code)
	}
	for line := range strings.Lines(p.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}
