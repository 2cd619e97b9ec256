package jobcontroller

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// The last state of a deleted object may be all that the informer knows.
func TestLastStateOfADeletedObject(t *testing.T) {
	var got []string
	last := func(pod *corev1.Pod) { got = append(got, pod.Name) }
	pod := func(name string) *corev1.Pod { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	withLast(pod("a"), last)
	withLast(cache.DeletedFinalStateUnknown{Key: "ns/b", Obj: pod("b")}, last)
	withLast(newJob("c", nil), last)
	withLast(cache.DeletedFinalStateUnknown{Key: "ns/d"}, last)
	if fmt.Sprint(got) != "[a b]" {
		t.Errorf("%v", got)
	}
}

// The informers keep no managed fields.
func TestManagedFieldsAreDropped(t *testing.T) {
	pod := testPod("a", 1)
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	if got, err := withoutManagedFields(pod); err != nil || got != pod || pod.ManagedFields != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := withoutManagedFields("no object"); err != nil || got != "no object" {
		t.Errorf("%v, %v", got, err)
	}
}

// The informer of pods lists them from storage, and all of them unless it is told to
// list only those with the label.
func TestPodsAreListedFromStorage(t *testing.T) {
	for labelled, want := range map[bool]string{false: "", true: PodLabel} {
		list := metav1.ListOptions{ResourceVersion: "0"}
		Options{OnlyLabelledPods: labelled}.selectPods(&list)
		if list.ResourceVersion != "" || list.LabelSelector != want {
			t.Errorf("only labelled pods %v: %+v", labelled, list)
		}
	}
}
