package jobcontroller

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// passOver returns a pass over Job ns/a, of a Controller whose informer shows the pods as
// of a version, and the queue of its keys.
func passOver(t *testing.T, version string, now time.Time, pods ...*corev1.Pod) (*pass, *recordingQueue) {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{byOwner: ownerIndex})
	objects := make([]any, len(pods))
	for i, pod := range pods {
		pod.Namespace = "ns"
		objects[i] = pod
	}
	if err := indexer.Replace(objects, version); err != nil {
		t.Fatal(err)
	}
	queue := &recordingQueue{}
	c := &Controller{pods: podStore{indexer}, queue: queue, metrics: NewMetrics(MetricsOptions{}), options: Options{Clock: clocktesting.NewFakeClock(now)}}
	return &pass{Controller: c, key: "ns/a", record: &jobRecord{uid: "job"}, job: newJob("a", nil)}, queue
}

// A pass waits for the listed pods with a finalizer that the informer lacks.
func TestPassWaitsForListedPods(t *testing.T) {
	const behind = "[ns/a after 10s]"
	for _, test := range []struct {
		name    string
		store   string // its version
		shown   []*corev1.Pod
		tracked bool // the listed pod a, of version 15
		after   time.Duration
		queued  string
		kept    bool // the list
	}{
		{"not shown", "10", nil, true, 0, behind, true},
		{"shown", "10", []*corev1.Pod{testPod("a", 9)}, true, 0, "[]", true},
		{"without a finalizer", "10", nil, false, 0, "[]", true},
		{"another pod of its name", "10", []*corev1.Pod{func() *corev1.Pod { p := testPod("b", 9); p.Name = "a"; return p }()}, true, 0, behind, true},
		{"come and gone", "15", nil, true, 0, "[]", true},
		{"the informer has reached the list", "20", nil, true, 0, "[]", false},
		{"an informer that does not tell", "", nil, true, 0, behind, true},
		{"nearly too long", "10", nil, true, expectationsEnd - 1, behind, true},
		{"too long", "10", nil, true, expectationsEnd, "[]", false},
	} {
		p, queue := passOver(t, test.store, t0.Add(test.after), test.shown...)
		if p.isBehind(context.Background()) {
			t.Errorf("%s: behind without a list", test.name)
		}
		p.record.live = &liveList{version: "20", at: t0, pods: map[types.UID]livePod{"a": {"a", "15", test.tracked}}}
		got := p.isBehind(context.Background())
		if fmt.Sprint(queue.keys) != test.queued || got != (test.queued == behind) || (p.record.live != nil) != test.kept {
			t.Errorf("%s: behind %v, queued %v, listed %v", test.name, got, queue.keys, p.record.live)
		}
		if n := counted(t, p.metrics)["restart_job_stale_sync_skips_total  pods"]; (n == 1) != got {
			t.Errorf("%s: %v passes are counted", test.name, counted(t, p.metrics))
		}
	}
}

// Pods that the informer shows as before the list, and the list lacks, are hidden.
func TestPodsThatTheListLacksAreHidden(t *testing.T) {
	p, _ := passOver(t, "10", t0)
	pods := []*corev1.Pod{testPod("listed", 9), testPod("gone", 9), testPod("of-the-list", 20), testPod("newer", 21), testPod("hidden", 9)}
	for _, pod := range pods {
		pod.Finalizers = []string{batch.JobTrackingFinalizer}
	}
	if p.record.expectGone(pods); p.record.finalizers != nil {
		t.Errorf("without a list: %v", p.record.finalizers)
	}
	p.record.finalizers.expect("hidden", "hidden", "9")
	p.record.live = &liveList{version: "20", at: t0, pods: map[types.UID]livePod{"listed": {"listed", "9", true}}}
	p.record.expectGone(pods)
	if got := fmt.Sprint(p.record.finalizers.uids()); got != "[gone hidden of-the-list]" || p.record.finalizers["hidden"].version != "9" || p.record.finalizers["gone"] != (removedFinalizer{"gone", "20"}) {
		t.Errorf("hidden: %v", p.record.finalizers)
	}
	if got := p.record.expectations.deleted; len(got) != 2 || got["gone"] != t0 || got["of-the-list"] != t0 {
		t.Errorf("expected to be deleted: %v", got)
	}
}

// An invalid selector, and a list that fails, fail the pass.
func TestPassThatCannotListItsPodsFails(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		r := refusing{"LIST pods", true}
		c := start(t, s, Options{}, r.faults())
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })).DeepCopy()
		after(time.Minute)
		p := &pass{Controller: c.Controller, key: "ns/another", record: &jobRecord{uid: job.UID}, job: job}
		p.record.restore(job, "", klog.Background())
		p.record.overtaken = true
		if err := p.once(context.Background(), job); !apierrors.IsForbidden(err) || !p.record.overtaken {
			t.Errorf("a list that is refused: %v, overtaken %v", err, p.record.overtaken)
		}
		job.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}
		if err := p.catchUp(context.Background()); err == nil || !strings.Contains(err.Error(), "selector") {
			t.Errorf("an invalid selector: %v", err)
		}
		if _, err := c.claim(context.Background(), job, nil); err == nil || !strings.Contains(err.Error(), "selector") {
			t.Errorf("claiming pods with an invalid selector: %v", err)
		}
		p.record.overtaken = false
		if err := p.once(context.Background(), job); err == nil || !strings.Contains(err.Error(), "selector") {
			t.Errorf("a pass with an invalid selector: %v", err)
		}
	})
}
