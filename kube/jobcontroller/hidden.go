package jobcontroller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// hidden holds the pods of a Job whose tracking finalizer was removed, but which the
// informer may still show with it or as pods to adopt. Plan is told, so that it does
// not count their ends again. The zero value hides no pods. It is not safe for
// concurrent use.
type hidden map[types.UID]hiddenPod

type hiddenPod struct {
	name    string
	version string // without the finalizer, or of a list without the pod; "" if the pod was gone
}

// hide records that the pod has no finalizer since the given version.
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

// settle forgets a pod once the store has reached its version and so shows its true
// state. It also forgets a pod that the informer shows as the Job's without the
// finalizer, or in a later version, in which somebody has put the finalizer back. If a
// version is unknown, a pod no longer shown is forgotten as well. Call settle before
// reading the pods to plan on, and read storeVersion, "" if unknown, before calling
// settle.
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

// names returns the UIDs of the pods in order.
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
