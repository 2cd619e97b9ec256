package jobcontroller

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// jobStore is an informer's store of Jobs.
type jobStore struct{ cache.Indexer }

// get returns the Job with this key, or nil.
func (s jobStore) get(key string) *batchv1.Job {
	object, there, err := s.GetByKey(key)
	if err != nil || !there {
		return nil
	}
	return object.(*batchv1.Job)
}

// owner returns the Job that a pod's reference names, or nil if it is not shown or
// another Job has its name.
func (s jobStore) owner(namespace string, ref *metav1.OwnerReference) *batchv1.Job {
	job := s.get(keyOf(namespace, ref.Name))
	if job == nil || job.UID != ref.UID {
		return nil
	}
	return job
}

// selecting returns the Jobs whose selector matches the pod.
func (s jobStore) selecting(pod *corev1.Pod) (jobs []*batchv1.Job) {
	objects, _ := s.ByIndex(cache.NamespaceIndex, pod.Namespace) // fails only without this index
	for _, object := range objects {
		job := object.(*batchv1.Job)
		if selector, err := selectorOf(job); err == nil && selector.Matches(labels.Set(pod.Labels)) {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// selectorOf returns the selector of a Job. A Job without one selects nothing.
func selectorOf(job *batchv1.Job) (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("the Job's selector: %w", err)
	}
	return selector, nil
}

// podStore is an informer's store of pods.
type podStore struct{ cache.Indexer }

// byOwner is the index of pods by the UID of their controller. Pods without one are
// indexed by namespace, with a prefix that no UID has.
const byOwner = "restartkit.dev/owner"

func newPodStore(informer cache.SharedIndexInformer) (podStore, error) {
	if _, there := informer.GetIndexer().GetIndexers()[byOwner]; !there {
		if err := informer.AddIndexers(cache.Indexers{byOwner: ownerIndex}); err != nil {
			return podStore{}, fmt.Errorf("an index of pods: %w", err)
		}
	}
	return podStore{informer.GetIndexer()}, nil
}

func ownerIndex(object any) ([]string, error) {
	pod := object.(*corev1.Pod)
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		return []string{string(ref.UID)}, nil
	}
	return []string{withoutOwner(pod.Namespace)}, nil
}

func withoutOwner(namespace string) string { return "namespace/" + namespace }

// of returns the pods of the Job with this UID. Do not change them.
func (s podStore) of(job types.UID) []*corev1.Pod { return s.index(string(job)) }

// ownerless returns the pods of a namespace without a controller.
func (s podStore) ownerless(namespace string) []*corev1.Pod { return s.index(withoutOwner(namespace)) }

func (s podStore) index(key string) []*corev1.Pod {
	objects, _ := s.ByIndex(byOwner, key) // fails only without this index
	pods := make([]*corev1.Pod, len(objects))
	for i := range objects {
		pods[i] = objects[i].(*corev1.Pod)
	}
	return pods
}

// get returns the pod with this key, or nil.
func (s podStore) get(key string) *corev1.Pod {
	object, there, err := s.GetByKey(key)
	if err != nil || !there {
		return nil
	}
	return object.(*corev1.Pod)
}

// version returns the version that the store has reached, or "" if unknown.
func (s podStore) version() string { return s.LastStoreSyncResourceVersion() }
