//go:build long

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
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/restartkit/restart/kube/testenv"
)

// site is an API server with the manifests, and a runtime that runs nothing. Its node
// exists only in name.
type site struct {
	t          *testing.T
	env        *testenv.Environment
	client     kubernetes.Interface
	runtime    *fakeRuntime
	namespace  string
	node       string // as the program is told
	folder     string
	socket     string
	kubeconfig string // of the manifests' service account
	metrics    string // address
	probes     string // address
}

func newSite(t *testing.T) *site {
	t.Helper()
	env := testenv.StartForTest(t, testenv.Options{})
	s := &site{
		t: t, env: env, client: kubernetes.NewForConfigOrDie(env.Config()),
		runtime: newFakeRuntime(t), node: "node1", socket: newSocket(t), folder: t.TempDir(),
	}
	s.runtime.listen(s.socket)
	for _, d := range documents(t) {
		s.apply(d)
	}
	s.namespace = env.Namespace(t)
	s.login()
	for _, address := range []*string{&s.metrics, &s.probes} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		*address = l.Addr().String()
		l.Close()
	}
	return s
}

// apply applies an object like kubectl apply --server-side.
func (s *site) apply(d document) {
	s.t.Helper()
	text, err := utilyaml.ToJSON(d.text)
	if err != nil {
		s.t.Fatal(err)
	}
	var object unstructured.Unstructured
	if err := json.Unmarshal(text, &object); err != nil {
		s.t.Fatal(err)
	}
	kind := object.GroupVersionKind()
	mapping, err := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(s.client.Discovery())).RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		s.t.Fatal(err)
	}
	all := dynamic.NewForConfigOrDie(s.env.Config()).Resource(mapping.Resource)
	resource := dynamic.ResourceInterface(all)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		resource = all.Namespace(object.GetNamespace())
	}
	if _, err := resource.Apply(s.t.Context(), object.GetName(), &object, metav1.ApplyOptions{FieldManager: "test"}); err != nil {
		s.t.Fatalf("%s: %s %s: %v", d.file, kind.Kind, object.GetName(), err)
	}
}

// login writes a kubeconfig with the token of the DaemonSet's pod on the node.
func (s *site) login() {
	s.t.Helper()
	daemons := only[*appsv1.DaemonSet](s.t, documents(s.t))
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "sooner-1", Namespace: daemons.Namespace}, Spec: *daemons.Spec.Template.Spec.DeepCopy()}
	p.Spec.NodeName, p.Spec.PriorityClassName = "node1", ""
	p, err := s.client.CoreV1().Pods(p.Namespace).Create(s.t.Context(), p, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID},
	}}
	token, err := s.client.CoreV1().ServiceAccounts(p.Namespace).CreateToken(s.t.Context(), p.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	c := api.NewConfig()
	c.Clusters["c"] = &api.Cluster{Server: s.env.Config().Host, CertificateAuthorityData: s.env.Config().CAData}
	c.AuthInfos["u"] = &api.AuthInfo{Token: token.Status.Token}
	c.Contexts["x"] = &api.Context{Cluster: "c", AuthInfo: "u"}
	c.CurrentContext = "x"
	s.kubeconfig = filepath.Join(s.folder, "kubeconfig")
	if err := clientcmd.WriteToFile(*c, s.kubeconfig); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) args(more ...string) []string {
	return append([]string{"--kubeconfig", s.kubeconfig, "--node-name", s.node, "--runtime-endpoint", "unix://" + s.socket}, more...)
}

// start runs the program until the test ends.
func (s *site) start(more ...string) *output {
	s.t.Helper()
	out := &output{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int)
	go func() {
		done <- run(ctx, s.args(append(more, "--metrics-bind-address", s.metrics, "--health-probe-bind-address", s.probes, "-v")...), out, out)
	}()
	s.t.Cleanup(func() {
		cancel()
		if code := <-done; code != exitOK {
			s.t.Errorf("exits with %d", code)
		}
		if s.t.Failed() {
			s.t.Logf("log: %s", out)
		}
	})
	return out
}

// counted returns the value of a counter that the program serves.
func (s *site) counted(name string) float64 {
	r, err := http.Get("http://" + s.metrics + "/metrics")
	if err != nil {
		return 0
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				s.t.Error(err)
			}
			return n
		}
	}
	return 0
}

// ready returns what the readiness probe says.
func (s *site) ready() string {
	r, err := http.Get("http://" + s.probes + "/readyz")
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// check returns the exit code and the output of --check.
func (s *site) check() (int, string) {
	var out bytes.Buffer
	return run(s.t.Context(), s.args("--check"), &out, &out), out.String()
}

// eventually waits for a condition, limited only by the test's own timeout.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	await(t, func() error {
		if holds() {
			return nil
		}
		return errors.New("not yet: " + what)
	})
}

// create creates a pod of the node with an annotation.
func (s *site) create(name, rules string) *corev1.Pod {
	s.t.Helper()
	return s.createOn("node1", name, rules)
}

func (s *site) createOn(node, name, rules string) *corev1.Pod {
	s.t.Helper()
	p := crashed(name, "", 0, time.Now())
	p.Namespace, p.UID, p.Status = s.namespace, "", corev1.PodStatus{}
	p.Spec.NodeName = node
	p.Annotations[annotationRules] = rules
	p, err := s.client.CoreV1().Pods(s.namespace).Create(s.t.Context(), p, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.runtime.box(s.namespace, name, string(p.UID))
	return p
}

// log returns the path of a log of a pod's container, which exists.
func (s *site) log(p *corev1.Pod, restarts int) string {
	h := host{t: s.t, folder: s.folder}
	return h.logIn(s.namespace+"_"+p.Name+"_"+string(p.UID), fmt.Sprint(restarts, ".log"))
}

// exit ends a run of a pod's container with code 42, as the kubelet shows it.
func (s *site) exit(p *corev1.Pod, id string, restarts int) {
	s.t.Helper()
	s.runtime.record(string(p.UID), exitedStatus(id, 42, restarts, s.log(p, restarts)))
	s.runtime.mu.Lock()
	finished := time.Unix(0, s.runtime.records[id].status.FinishedAt)
	s.runtime.mu.Unlock()
	patch, err := json.Marshal(map[string]any{"status": crashed(p.Name, id, 42, finished).Status})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.client.CoreV1().Pods(s.namespace).Patch(s.t.Context(), p.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		s.t.Fatal(err)
	}
}

// poked returns the annotation by which the pod was poked.
func (s *site) poked(p *corev1.Pod) string {
	got, err := s.client.CoreV1().Pods(s.namespace).Get(s.t.Context(), p.Name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return got.Annotations[annotationPoked]
}

func (s *site) removed(id string) func() bool {
	return func() bool { return len(s.runtime.of("RemoveContainer "+id)) > 0 }
}

// events returns the Events of a pod.
func (s *site) events(p *corev1.Pod) []corev1.Event {
	s.t.Helper()
	list, err := s.client.CoreV1().Events(s.namespace).List(s.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + p.Name})
	if err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

// With the rights of the manifests alone, the program restarts pods and tells mistakes.
// Without them it goes on, and continues when they are back.
func TestRightsOfTheManifestsSuffice(t *testing.T) {
	s := newSite(t)
	code, text := s.check()
	if code != exitOK || strings.Contains(text, "WRONG") {
		t.Errorf("--check exits with %d: %s", code, text)
	}
	for _, r := range rights {
		if want := fmt.Sprintf("ok      API server at %s: %s\n", s.env.Config().Host, r); !strings.Contains(text, want) {
			t.Errorf("--check does not say %q: %s", want, text)
		}
	}

	log := s.start()
	eventually(t, "it is ready", func() bool { return s.ready() == "ok\n" })
	p, bad := s.create("p", secondAfter42), s.create("bad", `{"nope": 1}`)
	s.exit(p, "p0", 0)
	eventually(t, "p0 is removed", s.removed("p0"))
	eventually(t, "p is poked", func() bool { return s.poked(p) != "" })
	s.runtime.record(string(p.UID), runningStatus("p1", 1, s.log(p, 1)))
	eventually(t, "an Event tells the mistake", func() bool { return len(s.events(bad)) > 0 })
	if strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("log: %s", log)
	}

	// Without the role.
	role := only[*rbacv1.ClusterRole](t, documents(t)).Name
	if err := s.client.RbacV1().ClusterRoles().Delete(t.Context(), role, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "--check misses all rights", func() bool {
		code, text = s.check()
		return code == exitFailed && strings.Count(text, "WRONG") == len(rights) && strings.Contains(text, "ok      node node1")
	})
	for _, r := range rights {
		if want := fmt.Sprintf("%s: no right to %s\n", r, r); !strings.Contains(text, want) {
			t.Errorf("--check does not say %q: %s", want, text)
		}
	}
	before := s.poked(p)
	late := s.create("late", "{")
	s.exit(p, "p1", 1)
	eventually(t, "p1 is removed", s.removed("p1"))
	for _, call := range []string{"poke", "event"} {
		eventually(t, "a failed "+call+" is counted", func() bool { return s.counted(`sooner_errors_total{call="`+call+`"}`) > 0 })
		eventually(t, "a failed "+call+" is logged", func() bool { return strings.Contains(log.String(), call+" failed") })
	}
	if s.poked(p) != before {
		t.Error("the pod was poked without the right to")
	}

	// And with it again.
	for _, d := range documents(t) {
		if _, ok := d.object.(*rbacv1.ClusterRole); ok {
			s.apply(d)
		}
	}
	eventually(t, "p is poked again", func() bool { return s.poked(p) != before })
	eventually(t, "an Event tells the other mistake", func() bool { return len(s.events(late)) > 0 })

	// All turns so far have told the first mistake once.
	events := s.events(bad)
	if len(events) != 1 {
		t.Fatalf("%d Events", len(events))
	}
	e := events[0]
	if e.InvolvedObject.UID != bad.UID || e.Type != corev1.EventTypeWarning || e.Reason != "InvalidRestartRules" || !strings.Contains(e.Message, "annotation "+annotationRules+": ") || !strings.Contains(e.Message, "nope") || e.Source.Host != "node1" {
		t.Errorf("Event %+v", e)
	}
	for _, id := range []string{"p0", "p1"} {
		if n := len(s.runtime.of("RemoveContainer " + id)); n != 1 {
			t.Errorf("%d removals of %s", n, id)
		}
	}
}

// The name of another node than the one of the token is told by --check, the log and the
// readiness probe.
func TestWrongNode(t *testing.T) {
	s := newSite(t)
	s.node = "nope"
	code, text := s.check()
	const want = "WRONG   node nope: --node-name is wrong: the program's token is of a pod on the node node1\n"
	if code != exitFailed || !strings.Contains(text, want) {
		t.Errorf("--check exits with %d, prints %s", code, text)
	}
	// Whoever may read nodes learns that there is none.
	s.kubeconfig = s.env.Kubeconfig()
	code, text = s.check()
	if code != exitFailed || !strings.Contains(text, "WRONG   node nope: --node-name is wrong: no node nope exists\n") {
		t.Errorf("--check exits with %d, prints %s", code, text)
	}
	log := s.start()
	eventually(t, "the log tells it", func() bool {
		return strings.Contains(log.String(), "restarts no pods of the API server") && strings.Contains(log.String(), "no node nope exists")
	})
	eventually(t, "the readiness probe tells it", func() bool { return strings.Contains(s.ready(), "no node nope exists") })
}

// The token changes the annotation of pods on its node, and nothing else.
func TestPolicyBoundsTheToken(t *testing.T) {
	s := newSite(t)
	config, err := restConfig(s.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	token := kubernetes.NewForConfigOrDie(config)
	own, other := s.create("own", secondAfter42), s.createOn("node2", "other", secondAfter42)
	s.exit(own, "own0", 0)
	patch := func(p *corev1.Pod, body string, subresources ...string) error {
		_, err := token.CoreV1().Pods(p.Namespace).Patch(t.Context(), p.Name, types.MergePatchType, []byte(body), metav1.PatchOptions{}, subresources...)
		return err
	}
	const poke = `{"metadata": {"annotations": {"restartkit.dev/poked": "1"}}}`
	eventually(t, "the policy is in force", func() bool { return patch(other, poke, "status") != nil })
	if err := patch(own, poke, "status"); err != nil {
		t.Error(err)
	}
	if got := s.poked(own); got != "1" {
		t.Errorf("poked is %q", got)
	}
	if err := patch(own, `{"metadata": {"annotations": {"restartkit.dev/poked": null}}}`, "status"); err != nil {
		t.Error(err)
	}
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		body string
		want string
	}{
		"another node's pod": {other, poke, "only change pods of the node of its token, node1"},
		"the rules":          {own, `{"metadata": {"annotations": {"restartkit.dev/restart-rules": "{}"}}}`, "only change the annotation"},
		"no rules":           {own, `{"metadata": {"annotations": {"restartkit.dev/restart-rules": null}}}`, "only change the annotation"},
		"another annotation": {own, `{"metadata": {"annotations": {"other": "1"}}}`, "only change the annotation"},
		"a label":            {own, `{"metadata": {"labels": {"app": "1"}}}`, "neither the spec, the status nor other metadata"},
		"a finalizer":        {own, `{"metadata": {"finalizers": ["example.com/a"]}}`, "neither the spec, the status nor other metadata"},
		"the phase":          {own, `{"status": {"phase": "Succeeded"}}`, "neither the spec, the status nor other metadata"},
		"a condition":        {own, `{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`, "neither the spec, the status nor other metadata"},
		"an exit code":       {own, `{"status": {"containerStatuses": []}}`, "neither the spec, the status nor other metadata"},
	} {
		if err := patch(tt.pod, tt.body, "status"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if err := patch(own, poke); !apierrors.IsForbidden(err) {
		t.Errorf("patching the pod itself: %v", err)
	}

	// A token that is not of a pod names no node.
	account := only[*corev1.ServiceAccount](t, documents(t))
	answer, err := s.client.CoreV1().ServiceAccounts(account.Namespace).CreateToken(t.Context(), account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config = rest.CopyConfig(config)
	config.BearerToken = answer.Status.Token
	token = kubernetes.NewForConfigOrDie(config)
	if err := patch(own, poke, "status"); err == nil || !strings.Contains(err.Error(), "which names none") {
		t.Errorf("with a token of no pod: %v", err)
	}

	// Others are not bound.
	if _, err := s.client.CoreV1().Pods(own.Namespace).Patch(t.Context(), own.Name, types.MergePatchType, []byte(`{"metadata": {"labels": {"app": "1"}}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Error(err)
	}
}

// While the API server is gone, static pods restart, and the others are left alone.
func TestServerIsGone(t *testing.T) {
	s := newSite(t)
	h := host{t: t, folder: s.folder, runtime: s.runtime}
	h.newStaticFolder()
	log := s.start("--manifests", h.staticPods())
	h.static("web", secondAfter42)
	p, q := s.create("p", secondAfter42), s.create("q", secondAfter42)
	s.exit(p, "p0", 0)
	s.exit(q, "q0", 0)
	eventually(t, "p0 is removed", s.removed("p0"))
	eventually(t, "q0 is removed", s.removed("q0"))
	s.runtime.record(string(p.UID), runningStatus("p1", 1, s.log(p, 1)))
	if err := s.env.Stop(); err != nil {
		t.Fatal(err)
	}
	s.runtime.record(string(p.UID), exitedStatus("p1", 42, 1, s.log(p, 1)))
	h.exit("web", "web0", 42, 0)
	eventually(t, "web0 is removed", s.removed("web0"))
	eventually(t, "web is poked", func() bool { return len(s.runtime.of("CreateContainer")) > 0 })
	h.runs("web", "web1", 1)
	eventually(t, "the poke is removed", s.removed("created-0"))
	h.exit("web", "web1", 42, 1)
	eventually(t, "web1 is removed", s.removed("web1"))
	eventually(t, "the failed pokes of q are counted", func() bool { return s.counted(`sooner_errors_total{call="poke"}`) > 0 })
	if !strings.Contains(log.String(), "poke failed") {
		t.Errorf("log: %s", log)
	}
	if s.removed("p1")() {
		t.Error("p1 was removed, although nothing showed its exit")
	}
}
