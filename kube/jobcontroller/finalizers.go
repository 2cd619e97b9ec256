package jobcontroller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// finalizerExpectations holds the pods of a Job whose tracking finalizer was removed, but
// which the informer may still show with it or as pods to adopt. Plan is told, so that
// it does not count their ends again. The zero value is empty and ready to use. It is
// not safe for concurrent use.
type finalizerExpectations map[types.UID]removedFinalizer

type removedFinalizer struct {
	name    string
	version string // without the finalizer, or of a list without the pod; "" if the pod was gone
}

// expect records that the pod has no finalizer since the given version.
func (f *finalizerExpectations) expect(uid types.UID, name, version string) {
	if *f == nil {
		*f = make(finalizerExpectations)
	}
	(*f)[uid] = removedFinalizer{name, version}
}

// has reports whether the removal of the pod's finalizer is expected to appear.
func (f finalizerExpectations) has(uid types.UID) bool {
	_, is := f[uid]
	return is
}

// settle forgets a pod once the store has reached its version and so shows its true
// state. It also forgets a pod that the informer shows as the Job's without the
// finalizer, or in a later version, in which somebody has put the finalizer back. If a
// version is unknown, a pod no longer shown is forgotten as well. Call settle before
// reading the pods to plan on, and read storeVersion, "" if unknown, before calling
// settle.
func (f finalizerExpectations) settle(job types.UID, storeVersion string, shown func(name string) *corev1.Pod) {
	for uid, p := range f {
		pod := shown(p.name)
		if pod == nil || pod.UID != uid {
			if notYet := p.version != "" && storeVersion != "" && !reached(storeVersion, p.version); !notYet {
				delete(f, uid)
			}
			continue
		}
		if !tracked(pod) && controlledBy(pod, job) || reached(pod.ResourceVersion, p.version) || reached(storeVersion, p.version) {
			delete(f, uid)
		}
	}
}

// uids returns the UIDs of the pods in order.
func (f finalizerExpectations) uids() []string {
	if len(f) == 0 {
		return nil
	}
	uids := make([]string, 0, len(f))
	for uid := range f {
		uids = append(uids, string(uid))
	}
	slices.Sort(uids)
	return uids
}

// tracked reports whether the pod has the tracking finalizer.
func tracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, batch.JobTrackingFinalizer)
}
