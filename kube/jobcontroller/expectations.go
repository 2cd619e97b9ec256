package jobcontroller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// expectationsEnd is how long a creation or a deletion is waited for. It is as long as
// Kubernetes waits; after that the informer is believed.
const expectationsEnd = 5 * time.Minute

// expectations are the pods that were created or deleted and that the informer may not
// show so yet. Until it does, no pod is created or deleted for the Job: else it would
// have too many, or lose too many. The zero value expects nothing. They are not safe
// for concurrent use.
type expectations struct {
	created map[types.UID]creation
	deleted map[types.UID]time.Time // when
}

type creation struct {
	version string // of the pod as it was created
	at      time.Time
}

// expectCreation notes that the API server has created the pod.
func (e *expectations) expectCreation(pod *corev1.Pod, now time.Time) {
	if e.created == nil {
		e.created = make(map[types.UID]creation)
	}
	e.created[pod.UID] = creation{pod.ResourceVersion, now}
}

// expectDeletion notes that the pod was deleted, or may be.
func (e *expectations) expectDeletion(uid types.UID, now time.Time) {
	if e.deleted == nil {
		e.deleted = make(map[types.UID]time.Time)
	}
	e.deleted[uid] = now
}

// settle forgets what the informer shows and what is too old, and returns how many
// are still to be seen and how many were given up.
//
// A creation is settled when the pod is there, or when the store has come to the
// version in which it was created: then the pod was there, and is gone again. A
// deletion is settled when the pod is gone or is being deleted. storeVersion must have
// been read before pods; "" is that of a store that does not tell.
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
	return len(e.created) + len(e.deleted), givenUp
}

// tooOld reports whether it is too long since something was to be seen. So it is if the
// clock was set back a long way.
func tooOld(at, now time.Time) bool {
	return now.Sub(at) >= expectationsEnd || at.After(now.Add(expectationsEnd))
}

// reached reports whether a resource version is that of another, or later. Those that
// are no numbers cannot be told.
func reached(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err == nil && order >= 0
}
