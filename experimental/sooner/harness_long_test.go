//go:build long

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

	"github.com/restartkit/restart/experimental/sooner/internal/decide"
	"github.com/restartkit/restart/kube/testenv"
)

var (
	exits   = flag.Int("exits", 40, "exempt exits to measure on a real node")
	release = flag.String("kubernetes", "", "version of Kubernetes on the real node")
	picture = flag.String("picture", "", "file for a picture of the starts with and without rules")
	cost    = flag.Bool("cost", false, "measure the program on a node of 110 pods")
	greedy  = flag.Int("greedy", 10, "pods without a delay on a real node, beside a neighbour")
	evented = flag.Bool("evented", false, "turn on the kubelet's gate EventedPLEG")
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
	env := testenv.StartForTest(t, testenv.Options{Node: true, Version: *release, FeatureGates: gates()})
	return env, kubernetes.NewForConfigOrDie(env.Config())
}

// gates returns the feature gates of the node.
func gates() map[string]bool {
	if *evented {
		return map[string]bool{"EventedPLEG": true}
	}
	return nil
}

// program is a running sooner.
type program struct {
	cmd *exec.Cmd
	out *output
}

// output collects a program's output.
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

// startProgram starts this test's binary as the program.
func startProgram(t *testing.T, args ...string) *program {
	t.Helper()
	return startBinary(t, os.Args[0], args...)
}

func startBinary(t *testing.T, path string, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(path, args...), out: &output{}}
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

// use is a program's consumption.
type use struct {
	cpu          time.Duration
	memory, most float64 // MB of resident memory, now and at most
}

// use reads the kernel's counters of the program.
func (p *program) use(t *testing.T) (u use) {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.cmd.Process.Pid, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, stat, _ := strings.Cut(read("stat"), ") ")
	var user, system int64
	if fields := strings.Fields(stat); len(fields) > 12 {
		fmt.Sscan(fields[11], &user)
		fmt.Sscan(fields[12], &system)
	}
	u.cpu = time.Duration(user+system) * (time.Second / 100) // Linux counts in hundredths
	for line := range strings.Lines(read("status")) {
		switch name, value, _ := strings.Cut(line, ":"); name {
		case "VmRSS":
			fmt.Sscan(value, &u.memory)
		case "VmHWM":
			fmt.Sscan(value, &u.most)
		}
	}
	u.memory, u.most = u.memory/1024, u.most/1024 // from kB
	return u
}

func withCluster(env *testenv.Environment, more ...string) []string {
	return append([]string{"--kubeconfig", env.Kubeconfig(), "--node-name", env.Node().Name(), "--runtime-endpoint", env.Node().CRISocket(), "-v"}, more...)
}

// crasher returns a pod with an init container, a sidecar, and a container named c that
// runs a script. Each run of a container first adds a line to a file named after it, in
// the pod's folder. The script can use n, the number of its run.
func crasher(folder, name, script string) *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	container := func(name, script string) corev1.Container {
		return corev1.Container{
			Name: name, Image: testenv.Busybox, ImagePullPolicy: corev1.PullNever,
			VolumeMounts: []corev1.VolumeMount{{Name: "runs", MountPath: "/runs"}},
			Command:      []string{"sh", "-c", "echo run >>/runs/" + name + "; " + script},
		}
	}
	sidecar := container("sidecar", "exec sleep 100000")
	sidecar.RestartPolicy = &always
	create := corev1.HostPathDirectoryOrCreate
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, Annotations: map[string]string{}},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken:  new(false),
			TerminationGracePeriodSeconds: new(int64(0)),
			Volumes: []corev1.Volume{{Name: "runs", VolumeSource: corev1.VolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: filepath.Join(folder, name), Type: &create},
			}}},
			InitContainers: []corev1.Container{container("init", "true"), sidecar},
			Containers:     []corev1.Container{container("c", "n=$(wc -l </runs/c); "+script)},
		},
	}
}

// exempt restarts a container at once after code 42.
const exempt = `{"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]},
	"delay": {"initial": "1s", "max": "1s", "freeFailures": 1000000}}]}`

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
	lost map[string]bool                     // containers that were seen without any record after their first
	last []*cri.Container                    // of the last look
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
	o := &observer{node: n, runs: map[string]map[string]*containerRun{}, lost: map[string]bool{}, stop: stop}
	o.done.Go(func() {
		for ctx.Err() == nil {
			o.look(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
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
	o.note(all)
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

// note notes which containers have no record left. A kubelet keeps the last one of each
// container of a pod not being deleted.
func (o *observer) note(all []*cri.Container) {
	present := make(map[string]bool)
	for _, c := range all {
		present[c.Labels[labelPodName]+"/"+c.Labels[labelContainer]] = true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = all
	for name := range o.runs {
		if !present[name] {
			o.lost[name] = true
		}
	}
}

// pokes returns the number of records that only make the kubelet look.
func (o *observer) pokes() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.last {
		if c.Labels[labelContainer] == decide.PokeName {
			n++
		}
	}
	return n
}

// wasWithoutRecord reports whether a container has lost its last record.
func (o *observer) wasWithoutRecord(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost[name]
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

// runsOf returns how often the process of a crasher's container has started.
func runsOf(t *testing.T, folder, pod, container string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, pod, container))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// events returns the Events of a pod by reason.
func events(t *testing.T, client kubernetes.Interface, pod string) map[string][]corev1.Event {
	t.Helper()
	list, err := client.CoreV1().Events(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod})
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]corev1.Event)
	for _, e := range list.Items {
		all[e.Reason] = append(all[e.Reason], e)
	}
	return all
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
