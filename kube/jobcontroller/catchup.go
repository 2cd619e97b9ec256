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

// lookAgain is how long after a list a pass is made again: that the informer has come as
// far, by a bookmark perhaps, wakes no Job.
const lookAgain = 10 * time.Second

// listing is what a list of a Job's pods has shown. Until the informer has come as far,
// its pods are looked at in the light of it.
type listing struct {
	version string // of the list
	at      time.Time
	pods    map[types.UID]listedPod // the Job's
}

type listedPod struct {
	name, version string
	tracked       bool
}

// catchUp learns what another controller has done to the Job's pods that the informer may
// not show yet. There is one for a short while when this one stood still so long that it
// has lost the Lease, or when the last requests of the one before are carried out late.
// The status then counts ends that the informer still shows as new, or is to show. The
// pods are listed where they are stored, and what differs is taken for what this
// controller has done itself: finalizers taken off are hidden, creations and deletions
// expected.
func (p *pass) catchUp(ctx context.Context) error {
	klog.FromContext(ctx).Info("another controller has written the Job, or may have: listing its pods")
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
			s.expected.expectCreation(pod, now) // settled at once if the informer shows it
		} else {
			s.expected.expectDeletion(pod.UID, now)
		}
	}
	return nil
}

// isBehind reports whether the informer has still to show a pod that was listed with its
// finalizer. The status may name it: planned on without it, its end would be taken for
// counted, and for a new one later. The list is forgotten once the informer has come as
// far, or was waited for too long.
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
			klog.FromContext(ctx).Error(nil, "pods that were listed were not seen in time and are given up", "pods", unseen, "after", expectationsEnd)
		}
	case unseen > 0:
		p.enqueue(p.key, lookAgain)
		add(p.metrics.StaleSkips, 1, corev1.GroupName, "pods")
		return true
	}
	return false
}

// hideGone hides those of the Job's pods that the informer shows as they were before the
// list, which did not have them: they are gone, or not the Job's any more. The status may
// have counted them.
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
