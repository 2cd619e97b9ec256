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
// shows pods with PodLabel alone, and this file does what then remains:
//   - A Job whose selector does not ask for the label may have pods without it. No pass is
//     made over such a Job; Run ends with ErrUnlabelledPods.
//   - A pod that has lost its label while it had the tracking finalizer is read, and
//     released or untracked. All such pods are looked for once, when Run begins.

// PodLabel is the label that every pod of a Job has, unless the Job's selector was
// written by hand (spec.manualSelector). The API server puts it into the Job's template.
const PodLabel = batchv1.ControllerUidLabel

// ErrUnlabelledPods is the error of Run if Options.OnlyLabelledPods is set and a Job may
// have pods without PodLabel. Another Controller without OnlyLabelledPods runs the Job.
var ErrUnlabelledPods = errors.New("a Job's selector does not ask for the label " + PodLabel)

// sweep is the key under which all pods without the label are looked at. No pod has it.
var sweep = orphanKey{}

// onlyLabelled reports whether every pod that the Job's selector meets has PodLabel.
func onlyLabelled(job *batchv1.Job) bool {
	selector := job.Spec.Selector
	if selector == nil {
		return true // it meets none
	}
	if _, asked := selector.MatchLabels[PodLabel]; asked {
		return true
	}
	return slices.ContainsFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		return r.Key == PodLabel && (r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpExists)
	})
}

// beyond reports whether the Job may have pods that the informer does not show. Run then
// ends.
func (c *Controller) beyond(job *batchv1.Job) bool {
	if !c.options.OnlyLabelledPods || !c.ours(job) || finished(job) || onlyLabelled(job) {
		return false
	}
	select {
	case c.outside <- fmt.Errorf("jobcontroller: Run: Job %s: %w", keyOf(job.Namespace, job.Name), ErrUnlabelledPods):
	default: // another Job was there first
	}
	return true
}

// podLeft handles a pod that the informer no longer shows, by its last state: it may be
// there still, without its label.
func (c *Controller) podLeft(last *corev1.Pod) {
	if c.options.OnlyLabelledPods && tracked(last) && last.DeletionTimestamp == nil {
		c.enqueueOrphan(last)
	}
}

// syncLeft takes the finalizer off a pod that has lost its label.
func (c *Controller) syncLeft(ctx context.Context, key orphanKey) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key.key)
	if err != nil {
		return nil // no pod has this key
	}
	pod, err := c.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && pod.UID != key.uid:
		return nil
	case err != nil:
		return fmt.Errorf("pod %s: reading it: %w", key.key, err)
	}
	if _, labelled := pod.Labels[PodLabel]; labelled {
		return nil // the informer shows it, or will
	}
	return c.syncUnlabelled(ctx, pod)
}

// sweepUnlabelled looks at every pod without the label. What Run has not seen happen is
// found here.
func (c *Controller) sweepUnlabelled(ctx context.Context) error {
	const page = 500
	options := metav1.ListOptions{LabelSelector: "!" + PodLabel, Limit: page}
	var errs []error
	for {
		list, err := c.client.CoreV1().Pods(c.options.Namespace).List(ctx, options)
		c.lists.noteSweep(err)
		if err != nil {
			return fmt.Errorf("listing the pods without the label %s: %w", PodLabel, errors.Join(append(errs, err)...))
		}
		for i := range list.Items {
			errs = append(errs, c.syncUnlabelled(ctx, &list.Items[i]))
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return errors.Join(errs...)
		}
	}
}

// syncUnlabelled takes the finalizer off a pod without the label: its Job releases the
// pod, or has left it behind.
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
	klog.FromContext(ctx).V(2).Info("taking the finalizer off a pod that has lost its label", "pod", klog.KObj(pod))
	_, err := c.untrack(ctx, pod.Namespace, pod.Name, pod.UID)
	return err
}

// goingOn returns the Job that controls the pod, if the informer shows it unfinished.
func (c *Controller) goingOn(pod *corev1.Pod) (job *batchv1.Job, is bool) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || !ofJob(ref) {
		return nil, false
	}
	job = c.jobs.owner(pod.Namespace, ref)
	return job, job != nil && !finished(job)
}
