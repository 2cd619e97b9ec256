package jobcontroller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// catchUp learns what another controller has done to the Job's pods that the informer may
// not show yet. There is one for a short while when this one stood still so long that it
// has lost the Lease, or when the last requests of the one before are carried out late.
// The status then counts ends that the informer still shows as new. The pods are listed
// where they are stored, and what differs is taken for what this controller has done
// itself: finalizers taken off are hidden, creations and deletions expected.
func (p *pass) catchUp(ctx context.Context) error {
	klog.FromContext(ctx).Info("another controller has written the Job: listing its pods")
	selector, err := selectorOf(p.job)
	if err != nil {
		return err
	}
	before := p.pods.of(p.job.UID) // the list shows at least as much
	list, err := p.client.CoreV1().Pods(p.job.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return fmt.Errorf("listing the pods: %w", err)
	}
	now, s := p.options.Clock.Now(), p.state
	stored := make(map[types.UID]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pod := &list.Items[i]
		if !controlledBy(pod, p.job.UID) {
			continue
		}
		stored[pod.UID] = pod
		if !tracked(pod) {
			s.hidden.hide(pod.UID, pod.Name, pod.ResourceVersion)
		}
		if pod.DeletionTimestamp == nil {
			s.expected.expectCreation(pod, now) // settled at once if the informer shows it
		} else {
			s.expected.expectDeletion(pod.UID, now)
		}
	}
	for _, pod := range before {
		if stored[pod.UID] == nil && selector.Matches(labelsOf(pod)) {
			s.hidden.hide(pod.UID, pod.Name, "") // it is gone
			s.expected.expectDeletion(pod.UID, now)
		}
	}
	return nil
}
