//go:build long

package main

import (
	"encoding/json"
	"fmt"
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

// TestStartsOnANode compares the starts of crashing containers on a real node with the
// ranges printed before. A busy machine makes starts late, so only an early one fails
// the test. The test prints how many are late.
func TestStartsOnANode(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a node for two minutes")
	}
	const pods, enough = 10, 100
	env := testenv.StartForTest(t, testenv.Options{
		Node:         true,
		FeatureGates: map[string]bool{"ReduceDefaultCrashLoopBackOffDecay": true},
		Kubelet:      map[string]any{"syncFrequency": "1s", "crashLoopBackOff": map[string]string{"maxContainerRestartPeriod": "8s"}},
	})
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
	predicted, started := make(map[start]explain.Start), make(map[start]time.Time)
	lateness := time.Duration(0) // largest, of a timer
	for end := time.Now().Add(10 * time.Minute); bothKnown(predicted, started) < enough; {
		if time.Now().After(end) {
			t.Fatalf("only %d starts could be compared in ten minutes", bothKnown(predicted, started))
		}
		look(t, env, namespace, predicted, started)
		begin := time.Now()
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(250 * time.Millisecond):
		}
		lateness = max(lateness, time.Since(begin)-250*time.Millisecond)
	}
	compared, early, late, latest := 0, 0, 0, time.Duration(0)
	for key, p := range predicted {
		at, ok := started[key]
		if !ok {
			continue
		}
		compared++
		switch {
		case at.Before(p.From):
			early++
			t.Errorf("%s, run %d, started at %v, before %v", key.pod, key.run, at, p.From)
		case at.After(p.To):
			late++
			latest = max(latest, at.Sub(p.To))
		}
	}
	t.Logf("%d of %d starts in the printed range, %d early, %d late by up to %v; timers were late by up to %v",
		compared-early-late, compared, early, late, latest, lateness.Round(time.Millisecond))
}

// look records predictions and starts.
func look(t *testing.T, env *testenv.Environment, namespace string, predicted map[start]explain.Start, started map[start]time.Time) {
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
					started[start{pod.Name, e.Run}] = e.Started
				}
			}
			if c.State == "running" {
				started[start{pod.Name, int64(c.Restarts) + 1}] = c.Since
			}
			if c.Reason == "CrashLoopBackOff" && c.Start != nil && c.Start.Known() && last > 0 {
				predicted[start{pod.Name, last + 1}] = *c.Start
			}
		}
	}
}

// bothKnown counts the starts that were predicted and seen.
func bothKnown(predicted map[start]explain.Start, started map[start]time.Time) (n int) {
	for key := range predicted {
		if _, ok := started[key]; ok {
			n++
		}
	}
	return n
}
