package explain

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// replay is under, step by step.
func replay(c *Comparison, k curve) (restarts int64, down time.Duration, gaveUp bool) {
	run, now, up := c.Run.Duration, time.Duration(0), time.Duration(0)
	window, starts := time.Duration(0), 1 // systemd's, of starts
	for failures := 1; ; failures++ {
		up += min(run, c.Elapsed.Duration-now)
		if run > k.policy.ResetThreshold() {
			failures = 1
		}
		next := now + run + k.policy.Delay(failures)
		if next > c.Elapsed.Duration {
			return restarts, c.Elapsed.Duration - up, false
		}
		if k.starts > 0 {
			if next-window > k.within {
				window, starts = next, 0
			}
			if starts++; starts > k.starts {
				return restarts, c.Elapsed.Duration - up, true
			}
		}
		now = next
		restarts++
	}
}

// Restarts and downtime under every curve are those of a replay.
func TestComparisonsAreReplays(t *testing.T) {
	gaveUp := 0
	rapid.Check(t, func(t *rapid.T) {
		c := &Comparison{
			Elapsed: metav1.Duration{Duration: time.Duration(rapid.Int64Range(0, 4_000_000).Draw(t, "elapsed")) * time.Millisecond},
			Run:     metav1.Duration{Duration: time.Duration(rapid.SampledFrom([]int64{0, 1, 500, 1900, 2000, 9999, 10_000, 60_000, 601_000}).Draw(t, "run")) * time.Millisecond},
		}
		for _, k := range curves() {
			got := c.under(k)
			restarts, down, up := replay(c, k)
			if got.Restarts != restarts || got.Down.Duration != down || got.GaveUp != up {
				t.Fatalf("%s in %v, runs of %v: %+v, want %d restarts, %v down, gave up %v", k.name, c.Elapsed.Duration, c.Run.Duration, got, restarts, down, up)
			}
			if up {
				gaveUp++
			}
		}
	})
	if gaveUp == 0 {
		t.Error("no curve gave up")
	}
}

// Comparisons say why they are impossible, and count what is assumed.
func TestComparisons(t *testing.T) {
	always := corev1.RestartPolicyAlways
	noStart := podIn(always, 3, running, ended(1, -90))
	noStart.Status.StartTime = nil
	neverStarted := ended(128, -90)
	neverStarted.StartedAt = metav1.Unix(0, 0)
	for _, tt := range []struct {
		name string
		pod  *corev1.Pod
		says string
	}{
		{"no exit", podIn(always, 0, running, nil), "it has not ended yet"},
		{"no start", noStart, "the pod's status has no start time"},
		{"never started", podIn(always, 1, running, neverStarted), "the cluster has no start and end of any run"},
		{"all known", podIn(always, 1, running, ended(1, -90)), "the mean of the 1 run that the cluster still has\n"},
		{"two known", podIn(always, 2, corev1.ContainerState{Terminated: ended(1, -20)}, ended(1, -90)), "the 2 runs that the cluster still has; 1 earlier run unknown"},
	} {
		var text strings.Builder
		(&Printer{W: &text, Options: noon}).Compare("default", "p", Compare(tt.pod, noon))
		if !strings.Contains(text.String(), tt.says) {
			t.Errorf("%s: want %q in\n%s", tt.name, tt.says, text.String())
		}
	}
	// The first run began 95s before noon and lasted 5s; the second began 60s before noon.
	c := Compare(podIn(always, 1, running, ended(1, -90)), noon)[0]
	if fact := c.Curves[0]; c.Elapsed.Duration != 35*time.Second || fact.Restarts != 1 || fact.Down.Duration != 30*time.Second || !fact.Exact {
		t.Errorf("%+v", c)
	}
}
