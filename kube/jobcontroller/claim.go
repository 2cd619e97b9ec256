package jobcontroller

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// claim returns the pods of the Job. It adopts matching pods without a controller and
// adds the tracking finalizer. It releases pods whose labels no longer match and
// removes the finalizer. While the Job is being deleted, claim changes no pods. Pods with
// a removed finalizer were adopted before, although the informer does not show it yet.
func (c *Controller) claim(ctx context.Context, job *batchv1.Job, removed finalizerExpectations) ([]*corev1.Pod, error) {
	selector, err := selectorOf(job)
	if err != nil {
		return nil, err
	}
	var errs []error
	var pods []*corev1.Pod
	for _, pod := range c.pods.of(job.UID) {
		switch {
		case selector.Matches(labelsOf(pod)):
			pods = append(pods, pod)
		case job.DeletionTimestamp == nil:
			errs = append(errs, c.release(ctx, job, pod))
		}
	}
	if job.DeletionTimestamp != nil {
		return pods, errors.Join(errs...)
	}
	mayAdopt := false // set after the stored Job was read
	for _, pod := range c.pods.ownerless(job.Namespace) {
		if pod.DeletionTimestamp != nil || removed.has(pod.UID) || !selector.Matches(labelsOf(pod)) {
			continue
		}
		if !mayAdopt {
			fresh, err := c.freshJob(ctx, job)
			if err == nil && fresh.DeletionTimestamp != nil {
				err = fmt.Errorf("the Job has been deleted since %v", fresh.DeletionTimestamp)
			}
			if err != nil {
				return nil, fmt.Errorf("adopting pods: %w", errors.Join(append(errs, err)...))
			}
			mayAdopt = true
		}
		adopted, err := c.adopt(ctx, job, pod)
		if adopted != nil {
			pods = append(pods, adopted)
		}
		errs = append(errs, err)
	}
	return pods, errors.Join(errs...)
}

// adopt makes the Job the controller of a pod and returns the updated pod, or nil if it
// is gone.
func (c *Controller) adopt(ctx context.Context, job *batchv1.Job, pod *corev1.Pod) (*corev1.Pod, error) {
	klog.FromContext(ctx).V(2).Info("adopting a pod", "pod", klog.KObj(pod))
	return c.patchPod(ctx, pod.Namespace, pod.Name, podPatch{
		UID:             pod.UID,
		OwnerReferences: []any{metav1.NewControllerRef(job, jobKind)},
		Finalizers:      []string{batch.JobTrackingFinalizer},
	})
}

// release ends the Job's control of a pod.
func (c *Controller) release(ctx context.Context, job *batchv1.Job, pod *corev1.Pod) error {
	klog.FromContext(ctx).V(2).Info("releasing a pod whose labels do not match the selector", "pod", klog.KObj(pod))
	_, err := c.patchPod(ctx, pod.Namespace, pod.Name, podPatch{
		UID:              pod.UID,
		OwnerReferences:  []any{map[string]string{"$patch": "delete", "uid": string(job.UID)}},
		DeleteFinalizers: []string{batch.JobTrackingFinalizer},
	})
	return err
}

func labelsOf(pod *corev1.Pod) labels.Set { return labels.Set(pod.Labels) }
