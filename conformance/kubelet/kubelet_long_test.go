//go:build long

package kubelet

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/kube/testenv"
)

var (
	version = flag.String("kubelet.version", "", "version of Kubernetes, such as 1.36 (default: testenv's)")
	pods    = flag.Int("kubelet.pods", 20, "crashing pods of each node")
	long    = flag.Bool("kubelet.long", false, "watch each curve for six minutes instead of two")
	strict  = flag.Bool("kubelet.strict", false, "fail for late restarts, too; needs an idle machine")
)

// apart is the time between the pods' first starts. Containers that start together wait
// for each other, and pods on one curve would do so at each restart.
const apart = 400 * time.Millisecond

// starting is the time that an idle machine may take to create and start a container.
const starting = 500 * time.Millisecond

// A curve is a kubelet's configuration with the restarts to watch, in all and with -kubelet.long.
type curve struct {
	name       string
	gates      map[string]bool
	max        time.Duration // crashLoopBackOff.maxContainerRestartPeriod; 0 means unset
	predicted  backoff.CrashLoopConfig
	want, more int
}

// curves are the configurations of Kubernetes' test/e2e_node/container_restart_test.go,
// and the reduced curve of KEP-4603. A kubelet with the gate KubeletCrashLoopBackOffMax,
// which is on by default, takes an unset maximum for 300s.
func curves() []curve {
	second, half, most := time.Second, 30*time.Second, 300*time.Second
	reduce := map[string]bool{"ReduceDefaultCrashLoopBackOffDecay": true}
	return []curve{
		{"default", nil, 0, backoff.CrashLoopConfig{}, 4, 6},
		{"maximum of 30s", nil, half, backoff.CrashLoopConfig{AllowMax: true, Max: &half}, 5, 12},
		{"reduced", reduce, 0, backoff.CrashLoopConfig{ReduceDefault: true, AllowMax: true, Max: &most}, 8, 9},
		{"reduced, gate of the maximum off", map[string]bool{"ReduceDefaultCrashLoopBackOffDecay": true, "KubeletCrashLoopBackOffMax": false}, 0,
			backoff.CrashLoopConfig{ReduceDefault: true}, 8, 11},
		{"reduced, maximum of 1s", reduce, second, backoff.CrashLoopConfig{ReduceDefault: true, AllowMax: true, Max: &second}, 15, 100},
	}
}

// policy returns the predicted curve. A kubelet's first restart has no delay.
func (c curve) policy(t *testing.T) backoff.Policy {
	t.Helper()
	resolved, err := c.predicted.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	resolved.Policy.FreeFailures = 1
	return resolved.Policy
}

// start starts a node with crashing pods. An empty syncFrequency means the default.
func (c curve) start(t *testing.T, syncFrequency string, pods int) *watched {
	t.Helper()
	config := map[string]any{}
	if syncFrequency != "" {
		config["syncFrequency"] = syncFrequency
	}
	if c.max > 0 {
		config["crashLoopBackOff"] = map[string]string{"maxContainerRestartPeriod": c.max.String()}
	}
	w := startNode(t, testenv.Options{Version: *version, FeatureGates: c.gates, Kubelet: config})
	for i := range pods {
		w.run(t, fmt.Sprintf("crash-%d", i), corev1.Container{Command: []string{"false"}})
		time.Sleep(apart)
		if err := w.look(t.Context()); err != nil {
			t.Log(err) // the machine may be busy
		}
	}
	return w
}

// TestCurves compares the restarts of a kubelet with a syncFrequency of 1s with those
// predicted.
//
// A busy machine makes restarts late, so lateness fails the test only with
// -kubelet.strict, for a table measured on an idle machine. No load explains these:
//
//   - a restart before its delay is over, because the kubelet, like this test, counts
//     from the runtime's time of the exit, and starts the container only afterwards;
//   - a message of the kubelet with another delay than the predicted one, because the
//     message shows the step of the curve however late the restart is;
//   - more restarts than a Timeline with the same runs.
//
// Each table comes with the largest lateness of a timer in the test meanwhile. The nodes
// run in parallel, as many as -parallel allows.
func TestCurves(t *testing.T) {
	for _, c := range curves() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // most of the time is waiting
			restarts := c.want
			if *long {
				restarts = c.more
			}
			w := c.start(t, "1s", *pods)
			w.watch(t, *pods, restarts)
			check(t, w, c.policy(t), time.Second)
		})
	}
}

// TestDefaultSyncFrequency compares the restarts of a kubelet with the default
// syncFrequency with the predicted range. As for TestCurves, late restarts fail only
// with -kubelet.strict. Restarts in the range of a syncFrequency of 1s alone fail
// always, because load never makes a restart early.
func TestDefaultSyncFrequency(t *testing.T) {
	c, pods := curves()[0], min(*pods, 8)
	w := c.start(t, "", pods)
	w.watch(t, pods, 4)
	rows := check(t, w, c.policy(t), 0)
	for _, r := range rows {
		if quick := backoff.KubeletRestart(r.Delay, time.Second); r.Delay > 0 && r.Latest <= quick.To {
			t.Errorf("all restarts after %v came within %v; the kubelet adds no jitter", r.Delay, quick.To)
		}
	}
}

// check compares what was watched with the prediction, and prints it.
func check(t *testing.T, w *watched, p backoff.Policy, syncFrequency time.Duration) []Row {
	t.Helper()
	histories := w.histories()
	rows, err := Compare(p, syncFrequency, histories)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, r := range rows {
		fmt.Fprintln(&table, r)
		if r.TooEarly > 0 {
			t.Errorf("%d restarts came before their delay of %v was over", r.TooEarly, r.Delay)
		}
		if *strict && r.Latest > r.Window.To+starting {
			t.Errorf("a restart after %v came %v after the exit, want at most %v", r.Delay, r.Latest, r.Window.To+starting)
		}
	}
	checkCounts(t, histories, p)
	for a := range w.announced {
		if want := p.Delay(int(a.restarts) + 1); a.delay != want {
			t.Errorf("%s waits %v after %d restarts according to the kubelet, want %v", a.pod, a.delay, a.restarts, want)
		}
	}
	if len(rows) == 0 || len(w.announced) == 0 {
		t.Error("nothing was compared")
	}
	t.Logf("%d containers, %d delays named by the kubelet; timers were late by up to %v\n%s\n%s",
		len(histories), len(w.announced), w.lateness.Round(time.Millisecond), header, table.String())
	return rows
}

// checkCounts compares the number of restarts by the last start of each container.
func checkCounts(t *testing.T, histories []History, p backoff.Policy) {
	t.Helper()
	late := 0
	for _, h := range histories {
		if len(h) == 0 {
			continue
		}
		restarts := len(h) - 1
		fewest, most := Counts(p, 3*time.Second/2+starting, h, h[restarts].Started)
		if restarts > most {
			t.Errorf("%d restarts, but at most %d are predicted", restarts, most)
		}
		if restarts < fewest-1 {
			late++
		}
	}
	if *strict && late > 0 {
		t.Errorf("%d containers restarted less often than predicted", late)
	}
}

// TestRestartAllContainersDoesNotBackOff counts restarts by RestartAllContainers.
// KEP-5532 (Unintended Pod Restart Loops) promises that they follow the curve, as those
// of a Restarter do, but Kubernetes 1.36 and 1.37 restart at once. A kubelet that backs
// off takes more than half an hour for these restarts.
func TestRestartAllContainersDoesNotBackOff(t *testing.T) {
	const restarts = 10
	c := curves()[0]
	p := c.policy(t)
	if d := secondExit(t, p); d.Action != backoff.ActionRestartAll || d.Delay != 10*time.Second {
		t.Errorf("a Restarter decides on %s after %v, want %s after 10s", d.Action, d.Delay, backoff.ActionRestartAll)
	}
	w := c.start(t, "", 0)
	always := corev1.ContainerRestartPolicyAlways
	w.run(t, "loop", corev1.Container{
		Command:       []string{"sh", "-c", "exit 88"},
		RestartPolicy: &always,
		RestartPolicyRules: []corev1.ContainerRestartRule{{
			Action: corev1.ContainerRestartRuleActionRestartAllContainers,
			ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{
				Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{88},
			},
		}},
	})
	begin := time.Now() // before the first start, so that too many are predicted
	for {
		count, err := w.restarts(t.Context())
		if err != nil {
			t.Log(err) // the machine may be busy
		}
		after := time.Since(begin)
		predicted := p.Restarts(0, backoff.Window{From: -1, To: after})
		if count >= restarts {
			t.Logf("%d restarts in %v; the curve has %d", count, after.Round(time.Second), predicted)
			return
		}
		if predicted >= restarts {
			t.Fatalf("only %d restarts in %v: the kubelet backs off", count, after)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(time.Second):
		}
	}
}

// secondExit returns a Restarter's decision about the second of two exits with code 88.
func secondExit(t *testing.T, p backoff.Policy) (d backoff.Decision) {
	t.Helper()
	restarter, err := backoff.NewRestarter(backoff.ExitPolicy{Delay: &p}, backoff.RestarterOptions[string]{})
	if err != nil {
		t.Fatal(err)
	}
	rules := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyAlways, Rules: []backoff.Rule{{
		Action: backoff.ActionRestartAll, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{88}},
	}}}
	for run := int64(1); run <= 2; run++ {
		d = restarter.Exited("loop", rules, backoff.Exit{Run: run, Code: 88})
	}
	return d
}

// header names the columns of a Row's text. Times are in seconds.
const header = "| delay | predicted | restarts | earliest | median | latest | too late |\n|---|---|---|---|---|---|---|"
