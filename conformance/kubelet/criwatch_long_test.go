//go:build long

package kubelet

import (
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/restartkit/restart/kube/testenv"
)

// criwatch watches a containerd on which a kubelet restarts crashing containers. The
// test kills containerd three times meanwhile. Then it compares the exits that criwatch
// has reported with the statuses in the API and with the containers' own diaries.
func TestCriwatchBesideAKubelet(t *testing.T) {
	const pods, runs, kills = 10, 20, 3
	env := testenv.StartForTest(t, testenv.Options{
		Version: *version, Node: true, Log: os.Stderr,
		FeatureGates: map[string]bool{"KubeletCrashLoopBackOffMax": true},
		Kubelet: map[string]any{
			"syncFrequency":    "1s",
			"crashLoopBackOff": map[string]any{"maxContainerRestartPeriod": "2s"},
		},
	})
	namespace, folder := env.Namespace(t), t.TempDir()
	client := kubernetes.NewForConfigOrDie(env.Config()).CoreV1().Pods(namespace)
	api := startStatuses(t, client)
	c := startCriwatch(t, namespace, buildCriwatch(t), "--endpoint", env.Node().CRISocket())
	for i := range pods {
		createPod(t, client, crashingPod(t, folder, i, runs))
	}
	for kill := range kills {
		until(t, "enough containers have crashed", func() bool {
			return lines(readDiaries(t, folder)) >= (kill+1)*pods*runs/(kills+1)
		})
		if err := env.Node().RestartContainerd(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "all containers sleep, and criwatch has its stream", func() bool {
		for _, diary := range readDiaries(t, folder) {
			if !slices.Contains(diary, asleep) {
				return false
			}
		}
		return c.streaming()
	})
	if err := client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the pods are deleted", func() bool { return api.deleted() == pods })
	until(t, "criwatch has reported the removal of all sandboxes", c.sawAllRemoved)
	c.stop(t)
	v := judge(t, c, api, readDiaries(t, folder))
	if v.exits < 200 {
		t.Errorf("only %d exits", v.exits)
	}
	t.Logf("%d containers, %d kills of containerd", len(api.restarts), kills)
	t.Logf("%d exits reported, %d of them in the API, %d missed by containerd", v.exits, v.shown, v.missed)
	t.Logf("%d attempts never started, %d of them by containerd's account only", v.neverStarted, v.unrecorded)
	t.Logf("%d containers of which the kubelet has guessed an end", len(api.guessed))
	t.Logf("%d differences; the latest report came %v after its exit", len(v.differences), c.latest.Round(time.Millisecond))
}

// judge compares all histories.
func judge(t *testing.T, c *criwatch, api *statuses, diaries map[string][]string) (all verdict) {
	t.Helper()
	for name := range c.exits {
		if diaries[name] == nil {
			t.Errorf("criwatch reports exits of %s, which does not exist", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(diaries)) {
		v := history{reported: c.exits[name], shown: api.shown[name], restarts: api.restarts[name], diary: diaries[name]}.compare()
		for _, difference := range v.differences {
			t.Errorf("%s: %s", name, difference)
		}
		all.add(v)
	}
	return all
}

// until waits for a condition, long enough for a busy machine.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for give := time.Now().Add(15 * time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(give) {
			t.Fatalf("after 15 minutes this still fails: %s", what)
		}
	}
}

func createPod(t *testing.T, pods typedcorev1.PodInterface, pod *corev1.Pod) {
	t.Helper()
	until(t, "the namespace has a service account", func() bool {
		_, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
		if err != nil && !apierrors.IsForbidden(err) {
			t.Fatal(err)
		}
		return err == nil
	})
}

func (v *verdict) add(w verdict) {
	v.exits += w.exits
	v.shown += w.shown
	v.missed += w.missed
	v.neverStarted += w.neverStarted
	v.unrecorded += w.unrecorded
	v.differences = append(v.differences, w.differences...)
}
