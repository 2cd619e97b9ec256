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

// listing is a list of a Job's pods. It complements the informer's pods until the
// informer has reached it.
type listing struct {
	version string // of the list
	at      time.Time
	pods    map[types.UID]listedPod // the Job's
}

type listedPod struct {
	name, version string
	tracked       bool
}

// catchUp accounts for changes to the Job's pods by another controller that the
// informer may not show yet. Two controllers overlap briefly if this one paused so long
// that it lost the Lease, or if late requests of the previous one are carried out. The
// status then counts ends that the informer still shows as new, or has yet to show.
// catchUp lists the stored pods and treats each difference as this controller's own
// change. It hides pods without a finalizer and expects creations and deletions.
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
	now, s := p.options.Clock.Now(), p.state
	s.listed = &listing{version: list.ResourceVersion, at: now, pods: make(map[types.UID]listedPod, len(list.Items))}
	for i := range list.Items {
		pod := &list.Items[i]
		if !controlledBy(pod, p.job.UID) {
			continue
		}
		s.listed.pods[pod.UID] = listedPod{pod.Name, pod.ResourceVersion, tracked(pod)}
		if !tracked(pod) {
			s.hidden.hide(pod.UID, pod.Name, pod.ResourceVersion)
		}
		if pod.DeletionTimestamp == nil {
			s.expected.expectCreation(pod, now) // settled at once if the informer shows the pod
		} else {
			s.expected.expectDeletion(pod.UID, now)
		}
	}
	return nil
}

// isBehind reports whether the informer lacks a pod listed with its finalizer. The
// status may name that pod. A plan without the pod would take its end for counted, and
// a later plan would count it again. isBehind forgets the list once the informer has
// reached it or after waiting too long.
func (p *pass) isBehind(ctx context.Context) bool {
	l, store := p.state.listed, p.pods.version() // read before the pods
	if l == nil {
		return false
	}
	unseen := 0
	for uid, listed := range l.pods {
		pod := p.shown(listed.name)
		if seen := pod != nil && pod.UID == uid; listed.tracked && !seen && !reached(store, listed.version) {
			unseen++
		}
	}
	switch {
	case reached(store, l.version):
		p.state.listed = nil
	case tooOld(l.at, p.options.Clock.Now()):
		p.state.listed = nil
		if unseen > 0 {
			klog.FromContext(ctx).Error(nil, "giving up on listed pods that did not appear in the informer", "pods", unseen, "after", expectationsEnd)
		}
	case unseen > 0:
		p.enqueue(p.key, lookAgain)
		add(p.metrics.StaleSkips, 1, corev1.GroupName, "pods")
		return true
	}
	return false
}

// hideGone hides pods that the informer shows as they were before the list, but which
// the list lacks. They are gone or no longer the Job's, and the status may have counted
// them.
func (p *pass) hideGone(pods []*corev1.Pod) {
	l, s := p.state.listed, p.state
	if l == nil {
		return
	}
	for _, pod := range pods {
		if _, is := l.pods[pod.UID]; !is && !s.hidden.has(pod.UID) && reached(l.version, pod.ResourceVersion) {
			s.hidden.hide(pod.UID, pod.Name, l.version)
			s.expected.expectDeletion(pod.UID, l.at)
		}
	}
}
