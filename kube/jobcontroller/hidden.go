package jobcontroller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// hidden are the pods of a Job whose tracking finalizer was taken off and that the
// informer may still show as they were before: with it, or as pods to adopt. Plan is
// told, so that it takes no end for a new one. The zero value hides nothing. It is not
// safe for concurrent use.
type hidden map[types.UID]hiddenPod

type hiddenPod struct {
	name    string
	version string // without the finalizer, or of a list that did not have the pod; "" if the pod was gone
}

// hide notes that the finalizer of the pod is off, since the version.
func (h *hidden) hide(uid types.UID, name, version string) {
	if *h == nil {
		*h = make(hidden)
	}
	(*h)[uid] = hiddenPod{name, version}
}

// has reports whether the pod is hidden.
func (h hidden) has(uid types.UID) bool {
	_, is := h[uid]
	return is
}

// settle forgets the pods that the informer shows as the Job's and without the finalizer,
// or not any more, and those of which it shows a later version: somebody has put the
// finalizer back. Once the store has come to the version, it shows what has become of the
// pod: it may be there and not the Job's any more. settle must be called before the pods
// that are planned on are taken from the informer. storeVersion must have been read
// before; "" is that of a store that does not tell.
func (h hidden) settle(job types.UID, storeVersion string, shown func(name string) *corev1.Pod) {
	for uid, p := range h {
		pod := shown(p.name)
		if pod == nil || pod.UID != uid {
			if notYet := p.version != "" && storeVersion != "" && !reached(storeVersion, p.version); !notYet {
				delete(h, uid)
			}
			continue
		}
		if !tracked(pod) && controlledBy(pod, job) || reached(pod.ResourceVersion, p.version) || reached(storeVersion, p.version) {
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
	return slices.Contains(pod.Finalizers, batch.JobTrackingFinalizer)
}
