package jobcontroller

import (
	"errors"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
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

// givenInformer is an informer that counts its handlers and may refuse them.
type givenInformer struct {
	cache.SharedIndexInformer
	refuse   string // what it refuses: handlers or indexers
	handlers int
}

func (i *givenInformer) AddIndexers(x cache.Indexers) error {
	if i.refuse == "indexers" {
		return errors.New("the informer has ended")
	}
	return i.SharedIndexInformer.AddIndexers(x)
}

func (i *givenInformer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	if i.refuse == "handlers" {
		return nil, errors.New("the informer has ended")
	}
	i.handlers++
	return i.SharedIndexInformer.AddEventHandler(h)
}

func (i *givenInformer) RemoveEventHandler(h cache.ResourceEventHandlerRegistration) error {
	i.handlers--
	return i.SharedIndexInformer.RemoveEventHandler(h)
}

type givenJobs struct {
	batchinformers.JobInformer
	*givenInformer
}

func (g givenJobs) Informer() cache.SharedIndexInformer { return g.givenInformer }

type givenPods struct {
	coreinformers.PodInformer
	*givenInformer
}

func (g givenPods) Informer() cache.SharedIndexInformer { return g.givenInformer }

// A Controller whose handlers are refused leaves none behind.
func TestRefusedHandlersLeaveNone(t *testing.T) {
	for _, test := range []struct {
		name       string
		jobs, pods string // what they refuse
		want       string // of the error; "": none
	}{
		{"nothing is refused", "", "", ""},
		{"those of Jobs are refused", "handlers", "", "jobcontroller: New: handling Jobs: the informer has ended"},
		{"those of pods are refused", "", "handlers", "jobcontroller: New: handling pods: the informer has ended"},
		{"the index of pods is refused", "", "indexers", "jobcontroller: New: an index of pods: the informer has ended"},
	} {
		informer := func(of runtime.Object, refuse string) *givenInformer {
			return &givenInformer{cache.NewSharedIndexInformer(&cache.ListWatch{}, of, 0, cache.Indexers{}), refuse, 0}
		}
		jobs, pods := givenJobs{nil, informer(&batchv1.Job{}, test.jobs)}, givenPods{nil, informer(&corev1.Pod{}, test.pods)}
		c, err := New(nil, Options{Jobs: jobs, Pods: pods})
		if text := fmt.Sprint(err); (c != nil) != (test.want == "") || err != nil && text != test.want {
			t.Errorf("%s: %v", test.name, err)
		}
		if n := jobs.handlers + pods.handlers; c == nil && n != 0 || c != nil && n != 2 {
			t.Errorf("%s: %d handlers", test.name, n)
		}
		if c == nil {
			continue
		}
		if c.informers.start(t.Context())(); jobs.handlers+pods.handlers != 0 {
			t.Errorf("%s: %d handlers after the end", test.name, jobs.handlers+pods.handlers)
		}
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
