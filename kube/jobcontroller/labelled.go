package jobcontroller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// A cluster has many more pods than those of Jobs. With OnlyLabelledPods the informer
// shows only pods with PodLabel, and this file handles two consequences:
//   - A Job whose selector does not require the label may have pods without it. Such a Job
//     gets no passes; Run ends with ErrUnlabelledPods.
//   - A pod may lose its label while it has the tracking finalizer. It is read from storage
//     and released or untracked, unless it is being deleted: most pods that leave then are
//     gone. A sweep at the start of Run finds the others.

// PodLabel is on the pods of all Jobs without spec.manualSelector. The API server adds
// it to the template.
const PodLabel = batchv1.ControllerUidLabel

// ErrUnlabelledPods reports a Job that may have pods without PodLabel, although
// Options.OnlyLabelledPods is set.
var ErrUnlabelledPods = errors.New("the Job's selector does not require the label " + PodLabel)

// sweep is the queue key for a sweep over all pods without the label.
var sweep = orphanKey{}

// onlyLabelled reports whether the Job's selector matches only pods with PodLabel.
func onlyLabelled(job *batchv1.Job) bool {
	selector := job.Spec.Selector
	if selector == nil {
		return true // it matches no pods
	}
	if _, asked := selector.MatchLabels[PodLabel]; asked {
		return true
	}
	return slices.ContainsFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		return r.Key == PodLabel && (r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpExists)
	})
}

// beyond reports whether the Job may have pods that the informer does not show, in
// which case it ends Run.
func (c *Controller) beyond(job *batchv1.Job) bool {
	if !c.options.OnlyLabelledPods || !c.ours(job) || finished(job) || onlyLabelled(job) {
		return false
	}
	select {
	case c.outside <- fmt.Errorf("jobcontroller: Run: Job %s: %w", keyOf(job.Namespace, job.Name), ErrUnlabelledPods):
	default: // another Job came first
	}
	return true
}

// podLeft handles a pod that the informer no longer shows. last is its last state. The
// pod may still exist without its label.
func (c *Controller) podLeft(last *corev1.Pod) {
	if c.options.OnlyLabelledPods && tracked(last) && last.DeletionTimestamp == nil {
		c.enqueueOrphan(last)
	}
}

// syncLeft removes the finalizer of a pod that lost its label.
func (c *Controller) syncLeft(ctx context.Context, key orphanKey) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key.key)
	if err != nil {
		return nil // invalid key
	}
	pod, err := c.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && pod.UID != key.uid:
		return nil
	case err != nil:
		return fmt.Errorf("reading pod %s: %w", key.key, err)
	}
	if _, labelled := pod.Labels[PodLabel]; labelled {
		return nil // the informer shows it or will
	}
	return c.syncUnlabelled(ctx, pod)
}

// sweepUnlabelled handles every pod without the label, for changes before Run.
func (c *Controller) sweepUnlabelled(ctx context.Context) error {
	const page = 500
	options := metav1.ListOptions{LabelSelector: "!" + PodLabel, Limit: page}
	var errs []error
	for {
		list, err := c.client.CoreV1().Pods(c.options.Namespace).List(ctx, options)
		c.lists.noteSweep(err)
		if err != nil {
			return fmt.Errorf("listing pods without the label %s: %w", PodLabel, errors.Join(append(errs, err)...))
		}
		for i := range list.Items {
			errs = append(errs, c.syncUnlabelled(ctx, &list.Items[i]))
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return errors.Join(errs...)
		}
	}
}

// syncUnlabelled removes the finalizer of a pod without the label, by releasing it if
// its Job still runs.
func (c *Controller) syncUnlabelled(ctx context.Context, pod *corev1.Pod) error {
	if !tracked(pod) {
		return nil
	}
	job, goesOn := c.goingOn(pod)
	if goesOn && !(c.ours(job) && onlyLabelled(job)) {
		return nil
	}
	if goesOn && job.DeletionTimestamp == nil {
		return c.release(ctx, job, pod)
	}
	if !goesOn {
		if yes, err := c.orphan(ctx, pod); err != nil || !yes {
			return err
		}
	}
	klog.FromContext(ctx).V(2).Info("removing the finalizer of a pod without its label", "pod", klog.KObj(pod))
	_, err := c.untrack(ctx, pod.Namespace, pod.Name, pod.UID)
	return err
}

// goingOn returns the Job controlling the pod, if the informer shows it unfinished.
func (c *Controller) goingOn(pod *corev1.Pod) (job *batchv1.Job, is bool) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || !ofJob(ref) {
		return nil, false
	}
	job = c.jobs.owner(pod.Namespace, ref)
	return job, job != nil && !finished(job)
}
