package jobcontroller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// lookAgain is the delay of the next pass after a list. The informer may reach the list
// by a bookmark, which wakes no Job.
const lookAgain = 10 * time.Second

// liveList is a list of a Job's pods, read from storage. It complements the informer's
// pods until the informer has reached it.
type liveList struct {
	version string // of the list
	at      time.Time
	pods    map[types.UID]livePod // the Job's
}

type livePod struct {
	name, version string
	tracked       bool
}

// catchUp accounts for changes to the Job's pods by another controller that the
// informer may not show yet. Two controllers overlap briefly if this one paused so long
// that it lost the Lease, or if late requests of the previous one are carried out. The
// status then counts ends that the informer still shows as new, or has yet to show.
// catchUp lists the stored pods and treats each difference as this controller's own
// change: it expects creations, deletions and removals of finalizers to appear.
func (p *pass) catchUp(ctx context.Context) error {
	klog.FromContext(ctx).Info("another controller may have written the Job; listing its pods")
	selector, err := selectorOf(p.job)
	if err != nil {
		return err
	}
	list, err := p.client.CoreV1().Pods(p.job.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return fmt.Errorf("listing the pods: %w", err)
	}
	p.record.listedLive(list.Items, list.ResourceVersion, p.options.Clock.Now())
	return nil
}

// isBehind reports whether the informer lacks a pod listed with its finalizer. The
// status may name that pod. A plan without the pod would take its end for counted, and
// a later plan would count it again. isBehind forgets the list once the informer has
// reached it or after waiting too long.
func (p *pass) isBehind(ctx context.Context) bool {
	unseen, givenUp := p.record.settleLive(p.pods.version(), p.shown, p.options.Clock.Now())
	switch {
	case unseen == 0:
		return false
	case givenUp:
		klog.FromContext(ctx).Error(nil, "giving up on listed pods that did not appear in the informer", "pods", unseen, "after", expectationsEnd)
		return false
	}
	p.enqueue(p.key, lookAgain)
	p.metrics.staleSkips.add(1, corev1.GroupName, "pods")
	return true
}
