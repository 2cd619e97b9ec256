package jobcontroller

import (
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy"
)

// jobRecord is everything that a Controller remembers of a Job in addition to the facts that the
// informers show. The package's documentation has a diagram of its states. Only the
// worker that holds the Job's key uses it.
//
// Seven fields make the difference between what was written and what is shown:
//
//  1. written: the newest Job that a request returned, until the informer shows it
//  2. expectations: pods created and deleted, until the informer shows that
//  3. finalizers: pods without their tracking finalizer, until the informer shows that
//  4. unacknowledged: requests without an answer, until their outcome is known
//  5. checkpoint: the state, status and version stored with the Job, to tell our own
//     writes from those of another controller
//  6. overtaken: another controller may have written the Job, and the pods are yet to be
//     listed
//  7. live: that list, until the informer has reached it
//
// The Job is settled if the fields 1 to 4, 6 and 7 are empty. Only then may a plan create
// or delete pods.
type jobRecord struct {
	uid   types.UID
	state jobpolicy.State // the Engine's, as of the last status written or, without one, planned

	written        *batchv1.Job // nil once the informer has caught up
	expectations   expectations
	finalizers     finalizerExpectations
	unacknowledged unacknowledged
	checkpoint     checkpoint
	overtaken      bool
	live           *liveList // nil for none

	template  podTemplate // as last read
	announced announced
}

// announced holds the Events created about a Job.
type announced struct {
	job      *batchv1.Job // newest Job whose conditions were compared; nil at first
	mistakes string       // in the annotations
	// noRoom reports whether an Event has said that the Job has no room for its state.
	// It is set for a Job first seen with a status but no state, because an earlier
	// controller wrote that Event.
	noRoom bool
}

// newest returns the Job as last written. This is the informer's copy unless a request
// returned a later one.
func (r *jobRecord) newest(cached *batchv1.Job) *batchv1.Job {
	if r.written == nil {
		return cached
	}
	if reached(cached.ResourceVersion, r.written.ResourceVersion) {
		r.written = nil
		return cached
	}
	return r.written
}

// wroteAt records a Job returned by a write or a read.
func (r *jobRecord) wroteAt(job *batchv1.Job) {
	if r.written == nil || reached(job.ResourceVersion, r.written.ResourceVersion) {
		r.written = job
	}
}

// wroteStatus records a status that was written, with the state stored beside it.
func (r *jobRecord) wroteStatus(job *batchv1.Job, state jobpolicy.State) {
	r.wroteAt(job)
	r.checkpoint.take(job, state)
	r.state = state
}

// podsPending reports whether a creation or deletion of a pod is not shown yet, or has no
// answer.
func (r *jobRecord) podsPending() bool {
	return r.expectations.open() > 0 || r.unacknowledged.open() > 0
}

// settleFinalizers forgets the pods that the informer shows without their finalizer. Call
// it before reading the pods to plan on, and read storeVersion before calling it.
func (r *jobRecord) settleFinalizers(storeVersion string, shown func(name string) *corev1.Pod) {
	r.finalizers.settle(r.uid, storeVersion, shown)
}

// settlePods forgets expectations that the pods meet, and those too old. It returns how
// many remain open and how many were given up. pods are those that the Job controls.
// Pods with a removed finalizer may still be shown as before their adoption; they are
// there as well, and so not deleted.
func (r *jobRecord) settlePods(pods []*corev1.Pod, storeVersion string, shown func(name string) *corev1.Pod, now time.Time) (open, givenUp int) {
	byUID := make(map[types.UID]*corev1.Pod, len(pods))
	for uid, e := range r.finalizers {
		if pod := shown(e.name); pod != nil && pod.UID == uid {
			byUID[uid] = pod
		}
	}
	for _, pod := range pods {
		byUID[pod.UID] = pod
	}
	return r.expectations.settle(byUID, storeVersion, now)
}

// listedLive records a list of the Job's pods read from storage, whose differences from
// the informer's pods are treated as this controller's own changes.
func (r *jobRecord) listedLive(pods []corev1.Pod, version string, now time.Time) {
	r.overtaken = false
	r.live = &liveList{version: version, at: now, pods: make(map[types.UID]livePod, len(pods))}
	for i := range pods {
		pod := &pods[i]
		if !controlledBy(pod, r.uid) {
			continue
		}
		r.live.pods[pod.UID] = livePod{pod.Name, pod.ResourceVersion, tracked(pod)}
		if !tracked(pod) {
			r.finalizers.expect(pod.UID, pod.Name, pod.ResourceVersion)
		}
		if pod.DeletionTimestamp == nil {
			r.expectations.expectCreation(pod, now) // settled at once if the informer shows the pod
		} else {
			r.expectations.expectDeletion(pod.UID, now)
		}
	}
}

// settleLive reports how many pods of the live list the informer has yet to show. It
// forgets the list once the informer has reached it, or after too long a time, in which
// case givenUp is true.
func (r *jobRecord) settleLive(storeVersion string, shown func(name string) *corev1.Pod, now time.Time) (unseen int, givenUp bool) {
	if r.live == nil {
		return 0, false
	}
	for uid, listed := range r.live.pods {
		pod := shown(listed.name)
		if seen := pod != nil && pod.UID == uid; listed.tracked && !seen && !reached(storeVersion, listed.version) {
			unseen++
		}
	}
	switch {
	case reached(storeVersion, r.live.version):
		r.live = nil
		return 0, false
	case tooOld(r.live.at, now):
		r.live = nil
		return unseen, true
	}
	return unseen, false
}

// expectGone treats pods that the informer shows as they were before the live list, but
// which the list lacks, as removed. They are gone or no longer the Job's, and the status
// may have counted them.
func (r *jobRecord) expectGone(pods []*corev1.Pod) {
	if r.live == nil {
		return
	}
	for _, pod := range pods {
		if _, is := r.live.pods[pod.UID]; !is && !r.finalizers.has(pod.UID) && reached(r.live.version, pod.ResourceVersion) {
			r.finalizers.expect(pod.UID, pod.Name, r.live.version)
			r.expectations.expectDeletion(pod.UID, r.live.at)
		}
	}
}

// unannounced returns the mistakes, or nil if they were the last ones announced.
func (r *jobRecord) unannounced(errs field.Errors) field.Errors {
	var text strings.Builder
	for _, err := range errs {
		text.WriteString(err.Error() + "\n")
	}
	if text.String() == r.announced.mistakes {
		return nil
	}
	r.announced.mistakes = text.String()
	return errs
}

// records holds the records of all Jobs handled and not finished. The zero value is empty
// and ready to use. It is safe for concurrent use.
type records struct {
	mu    sync.Mutex
	byKey map[string]*jobRecord
}

// of returns the record of the Job with this key and UID, creating it if necessary.
func (r *records) of(key string, uid types.UID) *jobRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	record := r.byKey[key]
	if record == nil || record.uid != uid {
		record = &jobRecord{uid: uid}
		if r.byKey == nil {
			r.byKey = make(map[string]*jobRecord)
		}
		r.byKey[key] = record
	}
	return record
}

// forget drops the record of a finished or deleted Job.
func (r *records) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byKey, key)
}

func (r *records) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byKey)
}
