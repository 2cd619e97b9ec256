//go:build long

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/kube/cmd/kubectl-backoff/internal/explain"
	"github.com/restartkit/restart/kube/testenv"
)

// start identifies a start of a pod's container by the number of its run.
type start struct {
	pod string
	run int64
}

// TestStartsOnANode compares the starts of crashing containers on a real node with what was
// printed before: a range, or an estimate until the kubelet tells its delay. Every look at a
// container that has ended must have one of them. A busy machine makes starts late, so only
// an early one fails the test. The test prints how many are late.
func TestStartsOnANode(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a node for minutes")
	}
	t.Run("delays of up to 8s", func(t *testing.T) {
		compareStarts(t, 100, testenv.Options{
			Node:         true,
			FeatureGates: map[string]bool{"ReduceDefaultCrashLoopBackOffDecay": true},
			Kubelet:      map[string]any{"syncFrequency": "1s", "crashLoopBackOff": map[string]string{"maxContainerRestartPeriod": "8s"}},
		}, func(s explain.Start) bool { return !s.Estimated }) // estimates are of a kubelet's defaults
	})
	t.Run("a kubelet's defaults", func(t *testing.T) { // delays of 10s, 20s and so on, told a minute later
		compareStarts(t, 30, testenv.Options{Node: true}, func(explain.Start) bool { return true })
	})
}

// compareStarts compares as many starts with those of the printed ones that must hold.
func compareStarts(t *testing.T, enough int, node testenv.Options, holds func(explain.Start) bool) {
	const pods = 10
	env := testenv.StartForTest(t, node)
	client, namespace := clientOf(t, env), env.Namespace(t)
	for i := range pods {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("crash-%d", i)},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "c", Image: testenv.Busybox, ImagePullPolicy: corev1.PullNever, Command: []string{"false"},
			}}},
		}
		eventually(t, "the pod is created", func() bool { // not before its service account
			_, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
			return err == nil
		})
	}
	seen := looks{predicted: make(map[start][]explain.Start), started: make(map[start]time.Time)}
	lateness := time.Duration(0) // largest, of a timer
	for end := time.Now().Add(15 * time.Minute); seen.compared() < enough; {
		if time.Now().After(end) {
			t.Fatalf("only %d starts could be compared in 15 minutes", seen.compared())
		}
		seen.look(t, env, namespace)
		begin := time.Now()
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(250 * time.Millisecond):
		}
		lateness = max(lateness, time.Since(begin)-250*time.Millisecond)
	}
	inside, early, late, latest := 0, 0, 0, time.Duration(0)
	for key, printed := range seen.predicted {
		at, ok := seen.started[key]
		if !ok {
			continue
		}
		for _, p := range slices.DeleteFunc(printed, func(s explain.Start) bool { return !holds(s) }) {
			switch {
			case at.Before(p.From):
				early++
				t.Errorf("%s, run %d, started at %v, before %v: %s", key.pod, key.run, at, p.From, p.Why)
			case at.After(p.To):
				late++
				latest = max(latest, at.Sub(p.To))
			default:
				inside++
			}
		}
	}
	t.Logf("%d looks at a container that waits, %d of them without a range or an estimate; of what they printed about %d starts, "+
		"%d held; %d starts were earlier, %d later by up to %v; timers were late by up to %v",
		seen.waiting, seen.unknown, seen.compared(), inside, early, late, latest, lateness.Round(time.Millisecond))
}

// looks is what was printed, and what then happened.
type looks struct {
	predicted        map[start][]explain.Start // each that differs from the one before
	started          map[start]time.Time
	waiting, unknown int // looks at a container that has ended, and those that told no start
}

func (l *looks) look(t *testing.T, env *testenv.Environment, namespace string) {
	t.Helper()
	code, stdout, stderr := call(t, env, "explain", "pods", "-n", namespace, "-o", "json")
	if code != exitOK {
		t.Log(stderr) // the machine may be busy
		return
	}
	var list struct{ Items []explain.Pod }
	if err := json.Unmarshal([]byte(stdout), &list); err != nil {
		t.Fatal(err)
	}
	for _, pod := range list.Items {
		for _, c := range pod.Containers {
			last := int64(0)
			for _, e := range c.Exits {
				last = max(last, e.Run)
				if !e.Started.IsZero() {
					l.started[start{pod.Name, e.Run}] = e.Started
				}
			}
			switch {
			case c.State == "running":
				l.started[start{pod.Name, int64(c.Restarts) + 1}] = c.Since
			case last == 0: // it has not run
			case c.Start == nil || !c.Start.Known():
				l.waiting++
				l.unknown++
				t.Errorf("%s: no start is told: %s %s: %s, %+v", pod.Name, c.State, c.Reason, c.Why, c.Start)
			default:
				l.waiting++
				key := start{pod.Name, last + 1}
				if before := l.predicted[key]; len(before) == 0 || before[len(before)-1] != *c.Start {
					l.predicted[key] = append(before, *c.Start)
				}
			}
		}
	}
}

// compared counts the starts that were predicted and seen.
func (l *looks) compared() (n int) {
	for key := range l.predicted {
		if _, ok := l.started[key]; ok {
			n++
		}
	}
	return n
}
