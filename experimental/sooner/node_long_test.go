//go:build long

package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/restartkit/restart/kube/testenv"
)

// TestExemptExitsRestartSooner measures the times from exit to start of pods with rules,
// and compares these pods with twins without rules. It also tells what a mistake in an
// annotation does, and the annotation restart-now. Times fail the test only if a container
// starts before the kubelet's own delay though its exit is the kubelet's.
func TestExemptExitsRestartSooner(t *testing.T) {
	folder := t.TempDir() // before the node, whose pods write to it until it ends
	env, client := startNode(t)
	seen := observe(t, env.Node().CRISocket())
	sooner := startProgram(t, withCluster(env, noLimits...)...)
	const pods = 4
	for i := range pods {
		p := crasher(folder, fmt.Sprint("exempt-", i), "exit 42")
		p.Annotations[annotationRules] = exempt
		create(t, client, p)
	}
	// Every fourth exit is not exempt.
	mixed := crasher(folder, "mixed", "[ $((n % 4)) = 0 ] && exit 1; exit 42")
	mixed.Annotations[annotationRules] = exempt
	create(t, client, mixed)
	create(t, client, crasher(folder, "twin", "exit 42"))
	wrong := crasher(folder, "wrong", "exit 42")
	wrong.Annotations[annotationRules] = `{"restartPolicyRules": 1}`
	create(t, client, wrong)

	measured := func() (all []time.Duration) {
		for i := range pods {
			all = append(all, gaps(seen.of(fmt.Sprintf("exempt-%d/c", i)), 42)...)
		}
		return append(all, gaps(seen.of("mixed/c"), 42)...)
	}
	await(t, func() error {
		all, others, plain := measured(), gaps(seen.of("mixed/c"), 1), gaps(seen.of("twin/c"), 42)
		if len(all) < *exits || len(others) < 2 || len(plain) < 3 {
			return fmt.Errorf("%d exempt exits of %d, %d others of 2, %d without rules of 3", len(all), *exits, len(others), len(plain))
		}
		return nil
	})
	all := measured()
	t.Logf("%d exempt exits: median %v, p95 %v, longest %v from exit to start", len(all), quantile(all, 0.5), quantile(all, 0.95), quantile(all, 1))
	t.Logf("other exits of the same container: %v; pod without rules: %v", gaps(seen.of("mixed/c"), 1), gaps(seen.of("twin/c"), 42))
	if *picture != "" {
		draw(t, *picture, []row{{"With sooner, by a rule with a delay of 1s", seen.of("exempt-0/c")}, {"Without", seen.of("twin/c")}})
	}
	keepsKubeletsTimes(t, "other exits", gaps(seen.of("mixed/c"), 1))
	for _, name := range []string{"twin", "wrong"} {
		keepsKubeletsTimes(t, name, gaps(seen.of(name+"/c"), 42))
		if seen.wasWithoutRecord(name + "/c") {
			t.Errorf("%s has lost its record", name)
		}
	}
	for _, name := range []string{"exempt-0", "exempt-1", "exempt-2", "exempt-3", "mixed", "twin"} {
		countsWithoutGap(t, name, seen.of(name+"/c"))
		logs, err := filepath.Glob(filepath.Join(filepath.Dir(env.Node().Manifests()), "pod-logs", "default_"+name+"_*", "c", "*.log"))
		most := 2
		if name == "mixed" {
			most = 3 // the kubelet removes no log at the exits that are not exempt
		}
		if err != nil || len(logs) == 0 || len(logs) > most {
			t.Errorf("%s: logs %v, %v", name, logs, err)
		}
	}
	twins(t, client, folder, []string{"exempt-0", "exempt-1", "exempt-2", "exempt-3"}, "twin")
	if n := len(events(t, client, "wrong")[reasonInvalid]); n != 1 {
		t.Errorf("%d Events tell of the mistake", n)
	}
	restartNow(t, client, sooner)
	if strings.Contains(sooner.out.String(), "level=ERROR") {
		t.Errorf("sooner: %s", sooner.out)
	}
}

// keepsKubeletsTimes fails the test if a container has started before the kubelet's delay
// was over. The kubelet's first restart has none.
func keepsKubeletsTimes(t *testing.T, name string, gaps []time.Duration) {
	t.Helper()
	for i, gap := range gaps[1:] {
		if least := 10 * time.Second << min(i, 4); gap < least {
			t.Errorf("%s: start %v after the exit, before the kubelet's delay of %v is over", name, gap, least)
		}
	}
}

// restartNow ends the wait of the twin, which has no rules.
func restartNow(t *testing.T, client kubernetes.Interface, sooner *program) {
	t.Helper()
	annotate(t, client, "twin", annotationNow, "now")
	await(t, func() error {
		if !strings.Contains(sooner.out.String(), "msg=removed pod=default/twin") {
			return errors.New("the wait of the twin has not ended")
		}
		return nil
	})
}

func annotate(t *testing.T, client kubernetes.Interface, pod, name, value string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata": {"annotations": {%q: %q}}}`, name, value)
	if _, err := client.CoreV1().Pods(metav1.NamespaceDefault).Patch(t.Context(), pod, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// twins compares what pods with and without rules show, and prints it as a table.
func twins(t *testing.T, client kubernetes.Interface, folder string, with []string, without string) {
	t.Helper()
	t.Log("| pod | phase | restartCount | runs | last exit code | runs of init | runs of sidecar | reasons of Events |")
	show := func(name string) string {
		var row string
		await(t, func() error { // between two restarts, when the status is of the last one
			p, before := get(t, client, name), runsOf(t, folder, name, "c")
			s := p.Status.ContainerStatuses[0]
			last := cmp.Or(s.State.Terminated, s.LastTerminationState.Terminated)
			if last == nil || int(s.RestartCount)+1 != before {
				return fmt.Errorf("%s: restartCount is %d after %d runs", name, s.RestartCount, before)
			}
			reasons := slices.Sorted(maps.Keys(events(t, client, name)))
			row = fmt.Sprintf("%s, %d, %d, %d, %s", p.Status.Phase, last.ExitCode, runsOf(t, folder, name, "init"), runsOf(t, folder, name, "sidecar"), strings.Join(reasons, " "))
			t.Logf("| %s | %s | %d | %d | %d | %d | %d | %s |", name, p.Status.Phase, s.RestartCount, before, last.ExitCode,
				runsOf(t, folder, name, "init"), runsOf(t, folder, name, "sidecar"), strings.Join(reasons, " "))
			return nil
		})
		return row
	}
	want := show(without)
	for _, name := range with {
		if got := show(name); got != want {
			t.Errorf("%s shows %s; without rules, it is %s", name, got, want)
		}
	}
}

// TestKillsLeaveNoPodBehind kills sooner 20 times, the kubelet 5 times and containerd 3
// times while pods crash.
func TestKillsLeaveNoPodBehind(t *testing.T) {
	folder := t.TempDir() // before the node, whose pods write to it until it ends
	env, client := startNode(t)
	names := []string{"exempt-0", "exempt-1", "exempt-2", "mixed"}
	for _, name := range names {
		script := "exit 42"
		if name == "mixed" {
			script = "[ $((n % 4)) = 0 ] && exit 1; exit 42"
		}
		p := crasher(folder, name, script)
		p.Annotations[annotationRules] = exempt
		create(t, client, p)
	}
	create(t, client, crasher(folder, "twin", "exit 42"))
	seen := observe(t, env.Node().CRISocket())
	started := func() (n int) {
		for _, name := range names[:3] {
			n += runsOf(t, folder, name, "c")
		}
		return n
	}
	until := func(n int) {
		t.Helper()
		await(t, func() error {
			if now := started(); now < n {
				return fmt.Errorf("%d runs of %d", now, n)
			}
			return nil
		})
	}
	for _, name := range append(names, "twin") {
		await(t, func() error { _, err := os.Stat(filepath.Join(folder, name, "c")); return err })
	}
	var logs strings.Builder
	for kill := 1; kill <= 20; kill++ {
		sooner := startProgram(t, withCluster(env, noLimits...)...)
		until(started() + 3)
		switch {
		case kill%4 == 0:
			if err := env.Node().RestartKubelet(t.Context()); err != nil {
				t.Fatal(err)
			}
		case kill%6 == 1 && kill > 1:
			if err := env.Node().RestartContainerd(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		sooner.kill()
		logs.WriteString(sooner.out.String())
	}
	startProgram(t, withCluster(env, noLimits...)...)
	goOn := map[string]int{}
	for _, name := range append(names, "twin") {
		goOn[name] = runsOf(t, folder, name, "c") + 2
	}
	await(t, func() error {
		for name, n := range goOn {
			if now := runsOf(t, folder, name, "c"); now < n {
				return fmt.Errorf("%s: %d runs of %d", name, now, n)
			}
		}
		return nil
	})
	removedOnce(t, logs.String())
	for _, name := range append(names, "twin") {
		p, runs := get(t, client, name), runsOf(t, folder, name, "c")
		s := p.Status.ContainerStatuses[0]
		t.Logf("%s: %s, restartCount %d, %d runs, init %d, sidecar %d", name, p.Status.Phase, s.RestartCount, runs, runsOf(t, folder, name, "init"), runsOf(t, folder, name, "sidecar"))
		if p.Status.Phase != corev1.PodRunning || runsOf(t, folder, name, "init") != 1 || runs > int(s.RestartCount)+2 {
			t.Errorf("%s: %s, restartCount %d after %d runs, init container ran %d times", name, p.Status.Phase, s.RestartCount, runs, runsOf(t, folder, name, "init"))
		}
		counts := map[string]bool{}
		for _, r := range seen.of(name + "/c") {
			if counts[r.count] {
				t.Errorf("%s: two runs have restart count %s", name, r.count)
			}
			counts[r.count] = true
		}
	}
	if seen.wasWithoutRecord("twin/c") {
		t.Error("the pod without rules has lost its record")
	}
}

var removal = regexp.MustCompile(`msg=removed pod=default/(\S+) container=c code=(\d+) restart=(\d+)`)

// removedOnce fails the test if the logs of sooner tell of a wrong removal.
func removedOnce(t *testing.T, logs string) {
	t.Helper()
	done := map[string]bool{}
	for _, m := range removal.FindAllStringSubmatch(logs, -1) {
		if done[m[0]] || m[2] != "42" || m[1] == "twin" {
			t.Errorf("wrong, or twice: %s", m[0])
		}
		done[m[0]] = true
	}
	t.Logf("%d removals", len(done))
	if len(done) == 0 {
		t.Error("no removals")
	}
}

// TestKilledContainersRestartSooner has containers that the kernel ends for lack of
// memory, or that the kubelet kills for a failed probe.
func TestKilledContainersRestartSooner(t *testing.T) {
	folder := t.TempDir() // before the node, whose pods write to it until it ends
	env, client := startNode(t)
	seen := observe(t, env.Node().CRISocket())
	startProgram(t, withCluster(env)...)
	const rules = `{"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [137]},
		"delay": {"initial": "1s", "max": "1s"}}]}`
	memory := crasher(folder, "memory", "tail /dev/zero; exit 137")
	memory.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("16Mi")}
	memory.Spec.Containers[0].Command = []string{"sh", "-c", "echo run >>/runs/c; exec tail /dev/zero"}
	probed := crasher(folder, "probed", "exec sleep 100000")
	probed.Spec.Containers[0].LivenessProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"false"}}},
		PeriodSeconds: 1, FailureThreshold: 1,
	}
	for _, p := range []*corev1.Pod{memory, probed} {
		p.Annotations[annotationRules] = rules
		create(t, client, p)
	}
	const restarts = 6 // the kubelet alone takes more than five minutes for them
	await(t, func() error {
		for _, name := range []string{"memory", "probed"} {
			if n := len(gaps(seen.of(name+"/c"), 137)); n < restarts {
				return fmt.Errorf("%s: %d restarts", name, n)
			}
		}
		return nil
	})
	for name, reason := range map[string]string{"memory": "OOMKilled", "probed": "Error"} {
		all := gaps(seen.of(name+"/c"), 137)
		t.Logf("%s: %d restarts, median %v from exit to start", name, len(all), quantile(all, 0.5))
		if quantile(all, 0.5) >= 40*time.Second {
			t.Errorf("%s: the starts are the kubelet's: %v", name, all)
		}
		countsWithoutGap(t, name, seen.of(name+"/c"))
		last := get(t, client, name).Status.ContainerStatuses[0].LastTerminationState.Terminated
		if last == nil || last.ExitCode != 137 || last.Reason != reason {
			t.Errorf("%s: last state %+v", name, last)
		}
	}
}

// noLimits lets pods restart as often as they ask for.
var noLimits = []string{"--min-delay=0", "--node-restarts-per-minute=0", "--namespace-restarts-per-minute=0"}

// TestCost measures the program's memory and CPU time on a node with 100 pods that sleep
// and 10 that crash, every seven seconds and then every half minute or so. The figures
// fail the test only if they are far off.
func TestCost(t *testing.T) {
	if !*cost {
		t.Skip("runs with -cost")
	}
	folder := t.TempDir() // before the node, whose pods write to it until it ends
	env, client := startNode(t)
	sooner := startBinary(t, build(t), withCluster(env, noLimits...)...)
	for i := range 110 {
		p := crasher(folder, fmt.Sprint("sleeps-", i), "exec sleep 100000")
		if i >= 100 {
			p = crasher(folder, fmt.Sprint("crashes-", i-100), "sleep 5; exit 42")
		}
		p.Spec.InitContainers = nil
		p.Annotations[annotationRules] = exempt
		create(t, client, p)
	}
	runs := func(name string) int {
		if _, err := os.Stat(filepath.Join(folder, name, "c")); err != nil {
			return 0
		}
		return runsOf(t, folder, name, "c")
	}
	crashes := func(more int) {
		want := make(map[string]int)
		for i := range 10 {
			name := fmt.Sprint("crashes-", i)
			want[name] = runs(name) + more
		}
		await(t, func() error {
			for name, n := range want {
				if now := runs(name); now < n {
					return fmt.Errorf("%s: %d runs of %d", name, now, n)
				}
			}
			return nil
		})
	}
	for i := range 100 {
		await(t, func() error {
			if runs(fmt.Sprint("sleeps-", i)) == 0 {
				return fmt.Errorf("sleeps-%d has not started", i)
			}
			return nil
		})
	}
	measure := func(restarts int) {
		crashes(2)
		began, before := time.Now(), sooner.use(t)
		crashes(restarts)
		passed, after := time.Since(began), sooner.use(t)
		cpu := 100 * float64(after.cpu-before.cpu) / float64(passed)
		every := (passed / time.Duration(restarts)).Round(time.Second)
		t.Logf("110 pods, 10 of them crashing every %v: %.2f %% of a core in %v, %.1f MB now, at most %.1f MB", every, cpu, passed.Round(time.Second), after.memory, after.most)
		if cpu > 10 || after.most > 100 {
			t.Errorf("%.1f %% of a core and %.1f MB", cpu, after.most)
		}
	}
	measure(10)
	for i := range 10 {
		annotate(t, client, fmt.Sprint("crashes-", i), annotationRules, `{"curve": {"initial": "25s", "max": "25s"}}`)
	}
	measure(6)
}

// build builds the program, without the types of the tests, which take memory.
func build(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "sooner")
	if text, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return path
}

// TestGreedyPodsHarmNoNeighbour runs the program with its default limits beside finished pods
// whose annotations are as large as the API server allows and wrong in 87,000 places, pods that
// exit at once and ask for no delay, and a neighbour in another namespace.
func TestGreedyPodsHarmNoNeighbour(t *testing.T) {
	folder := t.TempDir() // before the node, whose pods write to it until it ends
	env, client := startNode(t)
	seen := observe(t, env.Node().CRISocket())
	sooner := startBinary(t, build(t), withCluster(env)...)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "neighbours"}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	neighbour := crasher(folder, "neighbour", "sleep 5; exit 42")
	neighbour.Namespace, neighbour.Annotations[annotationRules] = namespace.Name, exempt
	create(t, client, neighbour)
	restarts := func() []time.Duration { return gaps(seen.of("neighbour/c"), 42) }
	more := func(n int) []time.Duration {
		t.Helper()
		before := len(restarts())
		await(t, func() error {
			if now := len(restarts()); now < before+n {
				return fmt.Errorf("%d restarts of the neighbour", now)
			}
			return nil
		})
		return restarts()[before:]
	}
	alone := more(10)
	calm := sooner.use(t)

	for i := range 5 {
		p := crasher(folder, fmt.Sprint("finished-", i), "true")
		p.Spec.InitContainers, p.Spec.RestartPolicy = nil, corev1.RestartPolicyNever
		p.Annotations[annotationRules] = `{"restartPolicyRules": [` + strings.Repeat("{},", 87_000) + `{}]}`
		create(t, client, p)
	}
	for i := range *greedy {
		p := crasher(folder, fmt.Sprint("greedy-", i), "exit 42")
		p.Spec.InitContainers = nil
		p.Annotations[annotationRules] = `{"curve": {"initial": "1ns", "max": "1ns"}}`
		create(t, client, p)
	}
	removals := func() int { return strings.Count(sooner.out.String(), "msg=removed pod=default/greedy-") }
	await(t, func() error {
		if removals() < *greedy {
			return fmt.Errorf("%d restarts of %d pods", removals(), *greedy)
		}
		return nil
	})
	began, before := time.Now(), removals()
	beside := more(20)
	passed, greedyRestarts := time.Since(began), removals()-before
	busy := sooner.use(t)
	perMinute := float64(greedyRestarts) / passed.Minutes()
	t.Logf("neighbour, from exit to start: alone median %v, longest %v; beside %d greedy pods median %v, longest %v",
		quantile(alone, 0.5), quantile(alone, 1), *greedy, quantile(beside, 0.5), quantile(beside, 1))
	t.Logf("greedy pods: %.1f restarts a minute; memory %.1f MB before, then at most %.1f MB", perMinute, calm.most, busy.most)
	if most := float64(30+5) + 1; perMinute > most {
		t.Errorf("%.1f restarts a minute of one namespace", perMinute)
	}
	if slow := quantile(beside, 0.5); slow > 2*quantile(alone, 0.5)+time.Second {
		t.Errorf("the neighbour's median grows to %v", slow)
	}
	if busy.most > 100 {
		t.Errorf("%.1f MB", busy.most)
	}
	for i := range 5 {
		if n := len(events(t, client, fmt.Sprint("finished-", i))[reasonInvalid]); n > 1 {
			t.Errorf("%d Events about the annotation", n)
		}
	}
}

// TestStaticPodsRestartSooner runs a kubelet without an API server.
func TestStaticPodsRestartSooner(t *testing.T) {
	folder := t.TempDir() // before the node, whose pods write to it until it ends
	node := testenv.StartNodeForTest(t, testenv.Options{Version: *release, FeatureGates: gates()})
	seen := observe(t, node.CRISocket())
	p := crasher(folder, "exempt", "exit 42")
	p.Annotations[annotationRules] = exempt
	addStaticPod(t, node, p)
	addStaticPod(t, node, crasher(folder, "twin", "exit 42"))
	startProgram(t, "--manifests", node.Manifests(), "--node-name", node.Name(), "--runtime-endpoint", node.CRISocket(), "-v")
	name := "exempt-" + node.Name() + "/c"
	const restarts = 8 // the kubelet alone takes half an hour for them
	await(t, func() error {
		if n := len(gaps(seen.of(name), 42)); n < restarts {
			return fmt.Errorf("%d restarts", n)
		}
		return nil
	})
	all := gaps(seen.of(name), 42)
	t.Logf("%d exits: median %v, longest %v from exit to start", len(all), quantile(all, 0.5), quantile(all, 1))
	countsWithoutGap(t, name, seen.of(name))
	if n := runsOf(t, folder, "exempt", "init"); n != 1 {
		t.Errorf("the init container ran %d times", n)
	}
	if seen.wasWithoutRecord("twin-" + node.Name() + "/c") {
		t.Error("the pod without rules has lost its record")
	}
	pods, err := node.Pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		last := p.Status.ContainerStatuses[0].LastTerminationState.Terminated
		if strings.HasPrefix(p.Name, "exempt") && (last == nil || last.ExitCode != 42) {
			t.Errorf("the kubelet tells of %+v", last)
		}
	}
	await(t, func() error { // no poke remains
		if seen.pokes() > 0 {
			return errors.New("a poke remains")
		}
		return nil
	})
}
