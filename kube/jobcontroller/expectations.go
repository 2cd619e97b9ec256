package jobcontroller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// expectationsEnd is how long to wait for a creation or deletion to appear before
// trusting the informer, as long as Kubernetes waits.
const expectationsEnd = 5 * time.Minute

// expectations are created and deleted pods that the informer may not show as such yet.
// Until it does, no pod of the Job is created or deleted, to avoid doing so twice. The
// zero value is empty and ready to use. They are not safe for concurrent use.
type expectations struct {
	created map[types.UID]creation
	deleted map[types.UID]time.Time // when
}

type creation struct {
	version string // of the pod when created
	at      time.Time
}

// expectCreation records that the API server has created the pod.
func (e *expectations) expectCreation(pod *corev1.Pod, now time.Time) {
	if e.created == nil {
		e.created = make(map[types.UID]creation)
	}
	e.created[pod.UID] = creation{pod.ResourceVersion, now}
}

// expectDeletion records that the pod was or may have been deleted.
func (e *expectations) expectDeletion(uid types.UID, now time.Time) {
	if e.deleted == nil {
		e.deleted = make(map[types.UID]time.Time)
	}
	e.deleted[uid] = now
}

// open returns the number of expectations that are not settled.
func (e *expectations) open() int { return len(e.created) + len(e.deleted) }

// settle forgets expectations already met or too old. It returns how many remain open
// and how many were given up.
//
// A creation is settled when the pod appears, or when the store reaches the version in
// which it was created, because the pod has then come and gone. A deletion is settled
// when the pod is gone or being deleted. Read storeVersion, "" if unknown, before pods.
func (e *expectations) settle(pods map[types.UID]*corev1.Pod, storeVersion string, now time.Time) (open, givenUp int) {
	for uid, c := range e.created {
		_, seen := pods[uid]
		switch {
		case seen, reached(storeVersion, c.version):
			delete(e.created, uid)
		case tooOld(c.at, now):
			delete(e.created, uid)
			givenUp++
		}
	}
	for uid, at := range e.deleted {
		pod, there := pods[uid]
		switch {
		case !there, pod.DeletionTimestamp != nil:
			delete(e.deleted, uid)
		case tooOld(at, now):
			delete(e.deleted, uid)
			givenUp++
		}
	}
	return e.open(), givenUp
}

// tooOld reports whether expectationsEnd has passed since at. It also does so if the
// clock was set back by more than that.
func tooOld(at, now time.Time) bool {
	return now.Sub(at) >= expectationsEnd || at.After(now.Add(expectationsEnd))
}

// reached reports whether version is the same as other or later. It returns false for
// versions it cannot compare.
func reached(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err == nil && order >= 0
}
