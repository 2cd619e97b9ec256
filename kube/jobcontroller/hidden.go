package jobcontroller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/jobpolicy"
)

// hidden are the pods whose tracking finalizer was taken off and that the informer may
// still show with it. Plan is told, so that it takes no end for a new one. The zero
// value hides nothing. It is not safe for concurrent use.
type hidden map[types.UID]string // the pod's version without the finalizer, "" if it was gone

// hide notes that the finalizer of the pod is off, since the version.
func (h *hidden) hide(uid types.UID, version string) {
	if *h == nil {
		*h = make(hidden)
	}
	(*h)[uid] = version
}

// settle forgets the pods that the informer shows without the finalizer, or not at all,
// and those of which it shows a later version: somebody has put the finalizer back.
func (h hidden) settle(pods map[types.UID]*corev1.Pod) {
	for uid, version := range h {
		pod, there := pods[uid]
		if !there || !tracked(pod) || reached(pod.ResourceVersion, version) {
			delete(h, uid)
		}
	}
}

// names are the UIDs of the pods, in order.
func (h hidden) names() []string {
	if len(h) == 0 {
		return nil
	}
	names := make([]string, 0, len(h))
	for uid := range h {
		names = append(names, string(uid))
	}
	slices.Sort(names)
	return names
}

// tracked reports whether the pod has the tracking finalizer.
func tracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, jobpolicy.JobTrackingFinalizer)
}
