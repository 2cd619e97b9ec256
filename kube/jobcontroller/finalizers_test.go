package jobcontroller

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// A pod stays hidden until the informer shows its true state.
func TestHiddenPodsAreSettled(t *testing.T) {
	of := func(p *corev1.Pod, job string, tracked bool) *corev1.Pod {
		p.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(job), Controller: new(true)}}
		if tracked {
			p.Finalizers = []string{batch.JobTrackingFinalizer}
		}
		return p
	}
	for _, test := range []struct {
		name    string
		pod     *corev1.Pod
		version string // of the pod without its finalizer; "" if it was gone
		store   string
		hidden  bool
	}{
		{"still shown with the finalizer", of(testPod("a", 9), "job", true), "10", "9", true},
		{"shown without it", of(testPod("a", 9), "job", false), "10", "9", false},
		{"shown as another Job's", of(testPod("a", 9), "another", false), "10", "9", true},
		{"shown as nobody's", testPod("a", 9), "10", "9", true},
		{"shown in its version", of(testPod("a", 10), "job", true), "10", "9", false},
		{"shown in a later one, with the finalizer put back", of(testPod("a", 11), "job", true), "10", "9", false},
		{"the store is past it", of(testPod("a", 9), "job", true), "10", "10", false},
		{"not shown yet", nil, "10", "9", true},
		{"no longer shown", nil, "10", "10", false},
		{"not shown, by a store that does not tell", nil, "10", "", false},
		{"gone, and no longer shown", nil, "", "9", false},
		{"gone, and still shown", of(testPod("a", 9), "job", true), "", "9", true},
		{"another pod of that name", testPod("b", 9), "10", "9", true},
		{"another pod of that name, and the store is past it", testPod("b", 11), "10", "11", false},
	} {
		var h finalizerExpectations
		if h.has("a") || h.uids() != nil {
			t.Fatal("hidden at first")
		}
		h.expect("a", "pod", test.version)
		if !h.has("a") || len(h.uids()) != 1 {
			t.Fatal("not hidden")
		}
		h.settle("job", test.store, func(string) *corev1.Pod { return test.pod })
		if h.has("a") != test.hidden {
			t.Errorf("%s: hidden %v", test.name, h.has("a"))
		}
	}
	h := finalizerExpectations{"c": {}, "a": {}, "b": {}}
	if got := fmt.Sprint(h.uids()); got != "[a b c]" {
		t.Errorf("the names: %s", got)
	}
}
