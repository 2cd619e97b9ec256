package testenv

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestKubeletsNextStep(t *testing.T) {
	t0 := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	pod := func(phase corev1.PodPhase, node string, grace int64) *corev1.Pod {
		p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: phase}}
		if grace >= 0 {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: t0}, &grace
		}
		return p
	}
	const s = time.Second
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		run  podRun
		at   time.Duration
		step step
		wait time.Duration
	}{
		"a new pod is bound":                        {pod: pod(corev1.PodPending, "", -1), step: stepBind},
		"no node takes it":                          {pod: pod(corev1.PodPending, "", -1), run: podRun{outcome: Outcome{Pending: true}}},
		"it does not run yet":                       {pod: pod(corev1.PodPending, "n", -1), run: podRun{seen: t0, outcome: Outcome{Start: 5 * s}}, at: 2 * s, wait: 3 * s},
		"it runs from its start on":                 {pod: pod(corev1.PodPending, "n", -1), run: podRun{seen: t0, outcome: Outcome{Start: 5 * s}}, at: 5 * s, step: stepRun},
		"it is running":                             {pod: pod(corev1.PodRunning, "n", -1), run: podRun{running: t0, outcome: Outcome{Run: 5 * s}}, at: 4 * s, wait: s},
		"it has run":                                {pod: pod(corev1.PodRunning, "n", -1), run: podRun{running: t0, outcome: Outcome{Run: 5 * s}}, at: 6 * s, step: stepEnd},
		"it runs for ever":                          {pod: pod(corev1.PodRunning, "n", -1), run: podRun{running: t0, outcome: Outcome{Forever: true}}, at: 6 * s},
		"one write is enough":                       {pod: pod(corev1.PodPending, "", -1), run: podRun{seen: t0, outcome: Outcome{Direct: true, Run: s}}, at: s, step: stepEnd},
		"one write, not yet":                        {pod: pod(corev1.PodPending, "", -1), run: podRun{seen: t0, outcome: Outcome{Direct: true, Run: s}}, wait: s},
		"one write, never":                          {pod: pod(corev1.PodPending, "", -1), run: podRun{seen: t0, outcome: Outcome{Direct: true, Forever: true}}, at: s},
		"an ended pod is left alone":                {pod: pod(corev1.PodFailed, "n", -1), run: podRun{running: t0}, at: s},
		"a deleted pod stops at once":               {pod: pod(corev1.PodRunning, "n", 30), run: podRun{running: t0}, step: stepStop},
		"a deleted pod stops in its time":           {pod: pod(corev1.PodRunning, "n", 30), run: podRun{running: t0, deleted: t0, outcome: Outcome{Stop: 9 * s}}, at: 8 * s, wait: s},
		"a deleted pod is killed":                   {pod: pod(corev1.PodRunning, "n", 3), run: podRun{running: t0, deleted: t0, outcome: Outcome{Stop: 9 * s}}, at: 3 * s, step: stepStop},
		"a stopped pod is removed":                  {pod: pod(corev1.PodFailed, "n", 30), run: podRun{}, step: stepRemove},
		"a removed pod waits for its finalizers":    {pod: pod(corev1.PodFailed, "n", 0), run: podRun{}},
		"a pod removed by force is told to be over": {pod: pod(corev1.PodRunning, "n", 0), run: podRun{}, step: stepStop},
		"a deleted pod without a node is not ours":  {pod: pod(corev1.PodPending, "", 0), run: podRun{}},
	} {
		t.Run(name, func(t *testing.T) {
			step, wait := c.run.next(c.pod, t0.Add(c.at))
			if step != c.step || wait != c.wait {
				t.Errorf("next = %v, %v, want %v, %v", step, wait, c.step, c.wait)
			}
		})
	}
}

func TestKilledContainersSayHow(t *testing.T) {
	grace := int64(3)
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}}}}
	pod.DeletionGracePeriodSeconds = &grace
	for stop, want := range map[time.Duration]int32{0: 143, 2 * time.Second: 143, 3 * time.Second: 137, time.Hour: 137} {
		r := podRun{outcome: Outcome{Stop: stop}}
		status := r.endedStatus(pod, stepStop, time.Now())
		if got := status.ContainerStatuses[0].State.Terminated.ExitCode; got != want || status.Phase != corev1.PodFailed {
			t.Errorf("stopped in %v of 3s: %s with code %d, want Failed with %d", stop, status.Phase, got, want)
		}
	}
}
