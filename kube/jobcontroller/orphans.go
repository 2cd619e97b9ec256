package jobcontroller

import (
	"context"
	"errors"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// An orphan is a pod with a tracking finalizer that no pass will remove, because its
// Job is gone, has finished or has lost the pod. The finalizer would keep the pod for
// ever.

// goneJobs are UIDs of Jobs seen to be deleted, whose pods are orphans without a
// request to the API server. The zero value is empty and ready to use. It is safe for
// concurrent use.
type goneJobs struct {
	mu   sync.Mutex
	uids map[types.UID]struct{}
}

// add records a deleted Job. To stay small, goneJobs is emptied when full.
func (g *goneJobs) add(uid types.UID) {
	const most = 4096
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.uids == nil || len(g.uids) >= most {
		g.uids = make(map[types.UID]struct{})
	}
	g.uids[uid] = struct{}{}
}

func (g *goneJobs) has(uid types.UID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, gone := g.uids[uid]
	return gone
}

// orphanKey identifies a pod that may be an orphan.
type orphanKey struct {
	key string // namespace/name
	uid types.UID
}

// enqueueOrphansOf queues all pods that the Job leaves behind.
func (c *Controller) enqueueOrphansOf(job *batchv1.Job) {
	pods := c.pods.of(job.UID)
	if selector, err := selectorOf(job); err == nil {
		for _, pod := range c.pods.ownerless(job.Namespace) {
			if selector.Matches(labelsOf(pod)) {
				pods = append(pods, pod)
			}
		}
	}
	for _, pod := range pods {
		if tracked(pod) {
			c.enqueueOrphan(pod)
		}
	}
}

// enqueueIfOrphan queues a pod unless an unfinished Job controls it.
func (c *Controller) enqueueIfOrphan(pod *corev1.Pod) {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		if !ofJob(ref) {
			return
		}
		if job := c.jobs.owner(pod.Namespace, ref); job != nil && !finished(job) {
			return
		}
	}
	c.enqueueOrphan(pod)
}

func (c *Controller) enqueueOrphan(pod *corev1.Pod) {
	c.orphans.Add(orphanKey{keyOf(pod.Namespace, pod.Name), pod.UID})
}

// syncOrphan removes the tracking finalizer of a pod if it is an orphan.
func (c *Controller) syncOrphan(ctx context.Context, key orphanKey) error {
	if key == sweep {
		return c.sweepUnlabelled(ctx)
	}
	pod := c.pods.get(key.key)
	if pod == nil && c.options.OnlyLabelledPods {
		return c.syncLeft(ctx, key)
	}
	if pod == nil || pod.UID != key.uid || !tracked(pod) {
		return nil
	}
	if yes, err := c.orphan(ctx, pod); err != nil || !yes {
		return err
	}
	klog.FromContext(ctx).V(2).Info("removing the finalizer of an orphan", "pod", klog.KObj(pod))
	_, err := c.untrack(ctx, pod.Namespace, pod.Name, pod.UID)
	return err
}

// orphan reports whether a pod with the tracking finalizer is an orphan. The informers
// show Jobs and pods at different times, so orphan reads a Job not shown from storage.
func (c *Controller) orphan(ctx context.Context, pod *corev1.Pod) (bool, error) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return c.lost(ctx, pod)
	}
	if !ofJob(ref) {
		return false, nil
	}
	job := c.jobs.owner(pod.Namespace, ref)
	if job == nil && c.gone.has(ref.UID) {
		return true, nil
	}
	if job == nil {
		var err error
		if job, err = c.freshJob(ctx, jobNamed(pod.Namespace, ref.Name, ref.UID)); errors.Is(err, errGone) {
			return true, nil
		} else if err != nil {
			return false, err
		}
	}
	return c.ours(job) && finished(job), nil
}

// lost reports whether a pod without a controller has lost its Job. An unfinished Job
// that selects the pod will adopt it. In place of Kubernetes' own controller, every
// other pod is lost; beside it, only pods whose labels name a deleted Job or one of
// this Controller.
func (c *Controller) lost(ctx context.Context, pod *corev1.Pod) (bool, error) {
	for _, job := range c.jobs.selecting(pod) {
		if !finished(job) && job.DeletionTimestamp == nil && pod.DeletionTimestamp == nil {
			return false, nil
		}
	}
	if c.options.Engine.ManagedBy == BuiltInManagedBy {
		return true, nil
	}
	name, uid := pod.Labels[batchv1.JobNameLabel], pod.Labels[batchv1.ControllerUidLabel]
	if name == "" || uid == "" {
		return false, nil
	}
	job, err := c.freshJob(ctx, jobNamed(pod.Namespace, name, types.UID(uid)))
	switch {
	case errors.Is(err, errGone):
		return true, nil
	case err != nil:
		return false, err
	}
	if selector, err := selectorOf(job); err == nil && selector.Matches(labelsOf(pod)) &&
		!finished(job) && job.DeletionTimestamp == nil && pod.DeletionTimestamp == nil {
		return false, nil // not shown yet; it will adopt the pod
	}
	return c.ours(job), nil
}

// ours reports whether this Controller runs the Job.
func (c *Controller) ours(job *batchv1.Job) bool {
	by := BuiltInManagedBy
	if job.Spec.ManagedBy != nil && *job.Spec.ManagedBy != "" {
		by = *job.Spec.ManagedBy
	}
	return by == c.options.Engine.ManagedBy
}

// jobNamed returns a stand-in for a Job, with only these fields.
func jobNamed(namespace, name string, uid types.UID) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}}
}
