package jobcontroller

import (
	"reflect"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// The informers' events queue Jobs. A new Job or a changed specification is handled at
// once, everything else after BatchPeriod, so that one pass covers many pod events.

func (c *Controller) enqueue(key string, after time.Duration) { c.queue.AddAfter(key, after) }

func (c *Controller) enqueueJob(job *batchv1.Job, after time.Duration) {
	if c.beyond(job) {
		return
	}
	c.enqueue(keyOf(job.Namespace, job.Name), after)
}

func (c *Controller) jobAdded(job *batchv1.Job) {
	c.enqueueJob(job, 0)
	if by := job.Spec.ManagedBy; c.options.Engine.ManagedBy == BuiltInManagedBy && by != nil && *by != BuiltInManagedBy {
		c.metrics.ofOther(*by)
	}
}

func (c *Controller) jobUpdated(old, job *batchv1.Job) {
	if old.UID != job.UID { // the informer missed a deletion
		c.jobDeleted(old)
		c.jobAdded(job)
		return
	}
	switch {
	case finished(job):
		c.enqueueJob(job, 0) // to forget it
		c.enqueueOrphansOf(job)
	case job.Generation != old.Generation || job.DeletionTimestamp != nil && old.DeletionTimestamp == nil:
		c.enqueueJob(job, 0)
	default:
		c.enqueueJob(job, c.options.BatchPeriod)
	}
}

func (c *Controller) jobDeleted(job *batchv1.Job) {
	c.gone.add(job.UID)
	c.enqueueJob(job, 0)
	c.enqueueOrphansOf(job)
}

// podChanged handles a pod added (old is nil), changed or deleted (pod is nil).
func (c *Controller) podChanged(old, pod *corev1.Pod) {
	switch was, is := endedTracked(old), endedTracked(pod); {
	case is && !was:
		c.metrics.trackedEnds.add(1, "add")
	case was && !is:
		c.metrics.trackedEnds.add(1, "delete")
	}
	if old != nil && pod != nil && old.ResourceVersion == pod.ResourceVersion {
		return // a resync
	}
	last := pod
	if last == nil {
		last = old
	}
	ref := metav1.GetControllerOfNoCopy(last)
	var before *metav1.OwnerReference
	if old != nil {
		before = metav1.GetControllerOfNoCopy(old)
	}
	ownerChanged := old != nil && !reflect.DeepEqual(before, ref)
	if ownerChanged && before != nil {
		c.wakeOwner(last.Namespace, before)
	}
	if pod != nil && tracked(pod) {
		c.enqueueIfOrphan(pod)
	}
	switch {
	case ref != nil:
		c.wakeOwner(last.Namespace, ref)
	case pod != nil && (old == nil || ownerChanged || !reflect.DeepEqual(old.Labels, pod.Labels)):
		for _, job := range c.jobs.selecting(pod) {
			c.enqueueJob(job, c.options.BatchPeriod) // the Job may adopt the pod
		}
	}
}

// wakeOwner queues the Job that a reference names, if it exists.
func (c *Controller) wakeOwner(namespace string, ref *metav1.OwnerReference) {
	if !ofJob(ref) {
		return
	}
	if job := c.jobs.owner(namespace, ref); job != nil {
		c.enqueueJob(job, c.options.BatchPeriod)
	}
}

// ofJob reports whether a reference names a Job of batch/v1.
func ofJob(ref *metav1.OwnerReference) bool {
	return ref.Kind == jobKind.Kind && ref.APIVersion == batchv1.SchemeGroupVersion.String()
}

// endedTracked reports whether the pod has ended with the tracking finalizer.
func endedTracked(pod *corev1.Pod) bool {
	return pod != nil && ended(pod) && tracked(pod)
}

// ended reports whether the pod has ended.
func ended(pod *corev1.Pod) bool {
	phase := batch.PodPhase(pod.Status.Phase)
	return phase == batch.PodSucceeded || phase == batch.PodFailed
}
