package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/kube/testenv"
)

var (
	exits   = flag.Int("exits", 40, "exempt exits to measure on a real node")
	release = flag.String("kubernetes", "", "version of Kubernetes on the real node")
)

// asProgram makes the test binary run as the program, so a test can kill it.
const asProgram = "SOONER_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// startNode starts a whole cluster of one node, unless the test is short.
func startNode(t *testing.T) (*testenv.Environment, kubernetes.Interface) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a node")
	}
	env := testenv.StartForTest(t, testenv.Options{Node: true, Version: *release})
	return env, kubernetes.NewForConfigOrDie(env.Config())
}

// program is a running sooner.
type program struct {
	cmd *exec.Cmd
	out *output
}

// output collects what a program writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func startProgram(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(os.Args[0], args...), out: &output{}}
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("sooner: %s", p.out)
		}
	})
	return p
}

func (p *program) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

func withCluster(env *testenv.Environment, more ...string) []string {
	return append([]string{"-kubeconfig", env.Kubeconfig(), "-node-name", env.Node().Name(), "-runtime-endpoint", env.Node().CRISocket(), "-v"}, more...)
}

// crasher returns a pod whose container runs a script. Each run adds a line to a file in
// the pod, and ends with the code that the script says.
func crasher(name, script string) *corev1.Pod {
	mounts := []corev1.VolumeMount{{Name: "runs", MountPath: "/runs"}}
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, Annotations: map[string]string{}},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken:  new(false),
			TerminationGracePeriodSeconds: new(int64(0)),
			Volumes:                       []corev1.Volume{{Name: "runs", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			InitContainers: []corev1.Container{{
				Name: "init", Image: testenv.Busybox, ImagePullPolicy: corev1.PullNever, VolumeMounts: mounts,
				Command: []string{"sh", "-c", "echo init >>/runs/init"},
			}},
			Containers: []corev1.Container{{
				Name: "c", Image: testenv.Busybox, ImagePullPolicy: corev1.PullNever, VolumeMounts: mounts,
				Command: []string{"sh", "-c", "echo run >>/runs/c; n=$(wc -l </runs/c); " + script},
			}},
		},
	}
}

// exempt restarts a container at once after code 42.
const exempt = `{"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]},
	"delay": {"initial": "1s", "max": "1s", "free": 1000000}}]}`

func create(t *testing.T, client kubernetes.Interface, p *corev1.Pod) {
	t.Helper()
	await(t, func() error { // the service account appears later
		_, err := client.CoreV1().Pods(p.Namespace).Create(t.Context(), p, metav1.CreateOptions{})
		return err
	})
}

// await repeats a try until it succeeds or the test has little time left.
func await(t *testing.T, try func() error) {
	t.Helper()
	give, ok := t.Deadline()
	if !ok {
		give = time.Now().Add(time.Hour)
	}
	give = give.Add(-20 * time.Second)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(give) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// run is a run of a container as the runtime shows it.
type containerRun struct {
	id, count                  string
	created, started, finished time.Time
	code                       int32
}

// observer records the runs of all containers.
type observer struct {
	node *node
	mu   sync.Mutex
	runs map[string]map[string]*containerRun // by pod/container and id
	stop context.CancelFunc
	done sync.WaitGroup
}

func observe(t *testing.T, socket string) *observer {
	t.Helper()
	n, err := dial(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	o := &observer{node: n, runs: map[string]map[string]*containerRun{}, stop: stop}
	o.done.Go(func() {
		for ctx.Err() == nil {
			o.look(ctx)
			sleep(ctx, 100*time.Millisecond)
		}
	})
	t.Cleanup(func() { stop(); o.done.Wait(); n.close() })
	return o
}

func (o *observer) look(ctx context.Context) {
	all, err := o.node.containers(ctx, nil)
	if err != nil {
		return
	}
	for _, c := range all {
		name := c.Labels[labelPodName] + "/" + c.Labels[labelContainer]
		o.mu.Lock()
		if o.runs[name] == nil {
			o.runs[name] = map[string]*containerRun{}
		}
		r := o.runs[name][c.Id]
		if r == nil {
			r = &containerRun{id: c.Id, count: c.Annotations[annotationCount], created: time.Unix(0, c.CreatedAt)}
			o.runs[name][c.Id] = r
		}
		known := r.finished
		o.mu.Unlock()
		if !known.IsZero() || c.State == cri.ContainerState_CONTAINER_CREATED {
			continue
		}
		s, err := o.node.status(ctx, c.Id)
		if err != nil || s == nil {
			continue
		}
		o.mu.Lock()
		r.started = time.Unix(0, s.StartedAt)
		if s.State == cri.ContainerState_CONTAINER_EXITED {
			r.finished, r.code = time.Unix(0, s.FinishedAt), s.ExitCode
		}
		o.mu.Unlock()
	}
}

// of returns the runs of a container, oldest first.
func (o *observer) of(name string) []containerRun {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []containerRun
	for _, r := range o.runs[name] {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b containerRun) int { return a.created.Compare(b.created) })
	return all
}

// gaps returns the times from each exit with a code to the next start.
func gaps(runs []containerRun, code int32) []time.Duration {
	var all []time.Duration
	for i, r := range runs[:max(len(runs)-1, 0)] {
		if next := runs[i+1]; !r.finished.IsZero() && r.code == code && !next.started.IsZero() {
			all = append(all, next.started.Sub(r.finished))
		}
	}
	return all
}

// countsWithoutGap fails the test unless the restart counts are 0, 1, 2, ...
func countsWithoutGap(t *testing.T, name string, runs []containerRun) {
	t.Helper()
	for i, r := range runs {
		if r.count != fmt.Sprint(i) {
			t.Errorf("%s: run %d has restart count %s", name, i, r.count)
		}
	}
}

func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[min(int(q*float64(len(all))), len(all)-1)].Round(10 * time.Millisecond)
}

// linesOf returns the lines of a file in the pod's volume, which is in the node's folder.
func linesOf(t *testing.T, n *testenv.Node, uid, file string) int {
	t.Helper()
	path := filepath.Join(filepath.Dir(n.Manifests()), "var", "lib", "kubelet", "pods", uid, "volumes", "kubernetes.io~empty-dir", "runs", file)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

func get(t *testing.T, client kubernetes.Interface, name string) *corev1.Pod {
	t.Helper()
	var p *corev1.Pod
	await(t, func() (err error) {
		p, err = client.CoreV1().Pods(metav1.NamespaceDefault).Get(t.Context(), name, metav1.GetOptions{})
		return err
	})
	return p
}

func TestExemptExitsRestartSooner(t *testing.T) {
	env, client := startNode(t)
	seen := observe(t, env.Node().CRISocket())
	sooner := startProgram(t, withCluster(env)...)
	const pods = 4
	for i := range pods {
		p := crasher(fmt.Sprint("exempt-", i), "exit 42")
		p.Annotations[annotationRules] = exempt
		create(t, client, p)
	}
	// Every fourth exit is not exempt.
	mixed := crasher("mixed", "[ $((n % 4)) = 0 ] && exit 1; exit 42")
	mixed.Annotations[annotationRules] = exempt
	create(t, client, mixed)
	create(t, client, crasher("plain", "exit 42"))

	var all []time.Duration
	await(t, func() error {
		all = nil
		for i := range pods {
			all = append(all, gaps(seen.of(fmt.Sprintf("exempt-%d/c", i)), 42)...)
		}
		all = append(all, gaps(seen.of("mixed/c"), 42)...)
		if others := len(gaps(seen.of("mixed/c"), 1)); len(all) < *exits || others < 2 {
			return fmt.Errorf("%d exempt exits of %d, %d others of 2", len(all), *exits, others)
		}
		return nil
	})
	t.Logf("%d exempt exits: median %v, p95 %v, longest %v from exit to start", len(all), quantile(all, 0.5), quantile(all, 0.95), quantile(all, 1))
	// The first restart of a container is the kubelet's, which may be at once.
	others := gaps(seen.of("mixed/c"), 1)
	t.Logf("other exits of the same container: %v; pod without rules: %v", others, gaps(seen.of("plain/c"), 42))
	for i, gap := range others[1:] {
		if least := 10 * time.Second << min(i, 4); gap < least-100*time.Millisecond {
			t.Errorf("exit %d with code 1 was followed by a start after %v, before the kubelet's %v", i+2, gap, least)
		}
	}
	for i, gap := range gaps(seen.of("plain/c"), 42)[1:] {
		if least := 10 * time.Second << min(i, 4); gap < least-100*time.Millisecond {
			t.Errorf("without rules: start after %v, before the kubelet's %v", gap, least)
		}
	}
	for i := range pods {
		name := fmt.Sprint("exempt-", i)
		countsWithoutGap(t, name, seen.of(name+"/c"))
		p := get(t, client, name)
		if n := linesOf(t, env.Node(), string(p.UID), "init"); n != 1 {
			t.Errorf("%s: its init container ran %d times", name, n)
		}
		s := p.Status.ContainerStatuses[0]
		if last := s.LastTerminationState.Terminated; p.Status.Phase != corev1.PodRunning || last == nil || last.ExitCode != 42 {
			t.Errorf("%s: phase %s, status %+v", name, p.Status.Phase, s)
		}
		logs, err := filepath.Glob(filepath.Join(filepath.Dir(env.Node().Manifests()), "pod-logs", "default_"+name+"_*", "c", "*.log"))
		if err != nil || len(logs) > 2 {
			t.Errorf("%s: logs %v, %v", name, logs, err)
		}
	}
	countsWithoutGap(t, "mixed", seen.of("mixed/c"))
	if strings.Contains(sooner.out.String(), "level=ERROR") {
		t.Errorf("sooner: %s", sooner.out)
	}
}

// addStaticPod gives a pod to the kubelet as a file.
func addStaticPod(t *testing.T, n *testenv.Node, p *corev1.Pod) {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	temporary := filepath.Join(t.TempDir(), "pod.json")
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, filepath.Join(n.Manifests(), p.Name+".json")); err != nil {
		t.Fatal(err)
	}
}
