package jobcontroller

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/restartkit/restart/jobpolicy"
)

// AnnotationMemory holds a Job's jobpolicy.State as JSON, written together with the
// status. A value copied from another Job is ignored. The annotation is absent if
// others leave no room for it.
const AnnotationMemory = "restartkit.dev/job-memory"

// checkpoint is the part of a Job that controllers write, as last read or written, with
// the state stored in it. The zero value is that of a Job not seen yet.
type checkpoint struct {
	taken      bool
	version    string // of the Job
	annotation string // AnnotationMemory
	status     *batchv1.JobStatus
	state      jobpolicy.State // stored in the annotation
}

// take records a Job and the state stored with it.
func (c *checkpoint) take(job *batchv1.Job, state jobpolicy.State) {
	*c = checkpoint{taken: true, version: job.ResourceVersion, annotation: job.Annotations[AnnotationMemory], status: &job.Status, state: state}
}

// restore reads the state from the Job's annotation when the Job is first seen and
// whenever somebody else has written it, because another controller continues from its
// own state. If the annotation is missing or broken, restore keeps the state of this
// process. A status written by somebody else also indicates another controller, so the
// annotation need not have changed.
//
// podsVersion is the version the pod informer has reached, or "" if unknown. A Job seen
// for the first time with a state or a status, and written after that version, may be
// the work of the previous leader, which may have changed pods as well. Versions of Jobs
// and pods are comparable if one etcd stores both.
func (r *jobRecord) restore(job *batchv1.Job, podsVersion string, logger klog.Logger) {
	text, first := job.Annotations[AnnotationMemory], !r.checkpoint.taken
	if !first && (job.ResourceVersion == r.checkpoint.version || !reached(job.ResourceVersion, r.checkpoint.version)) {
		return
	}
	if !first && text == r.checkpoint.annotation {
		r.overtaken = r.overtaken || !sameStatus(&job.Status, r.checkpoint.status)
		r.checkpoint.take(job, r.checkpoint.state)
		return
	}
	stored, there, err := decodeState(text, job.UID)
	if err != nil {
		logger.Error(err, "cannot read the Job's state", "remembered", !first)
	}
	if first || there {
		r.state = stored
	}
	if first {
		r.announced.noRoom = text == "" && !reflect.DeepEqual(job.Status, batchv1.JobStatus{})
		r.overtaken = (there || err != nil || r.announced.noRoom) && podsVersion != "" && !reached(podsVersion, job.ResourceVersion)
	} else {
		r.overtaken = r.overtaken || there || !sameStatus(&job.Status, r.checkpoint.status)
	}
	r.checkpoint.take(job, stored)
}

// maxState bounds the annotation, in bytes. The status itself lists 500 UIDs in about
// 20 KB.
const maxState = 32 << 10

// roomForState returns how many bytes the annotation may have in addition to the Job's
// others. The API server allows 256 KiB in all, names included.
func roomForState(annotations map[string]string) int {
	room := validation.TotalAnnotationSizeLimitB - len(AnnotationMemory)
	for name, text := range annotations {
		if name != AnnotationMemory {
			room -= len(name) + len(text)
		}
	}
	return min(room, maxState)
}

// encodeState returns the annotation's text, in at most room bytes. Of the released
// pods it keeps those that held reports as still shown with their finalizer, because a
// later reader will have listed the pods after the others lost theirs. If the text is
// too long, encodeState drops the lists of pods one by one, and failures of the
// dropped pods may be reported and delay once more. If the text is still too long, it
// becomes "".
func encodeState(m jobpolicy.State, room int, held func(uid string) bool) (string, error) {
	m.Behind = time.Time{} // local to this process
	m.Released = slices.DeleteFunc(slices.Clone(m.Released), func(uid string) bool { return !held(uid) })
	for _, shorten := range []func(){func() {}, func() { m.Released = nil }, func() { m.Handled = nil }, func() { m.Ahead = nil }} {
		shorten()
		text, err := json.Marshal(m)
		if err != nil {
			return "", fmt.Errorf("encoding the state of Job %s: %w", m.Job, err)
		}
		if len(text) <= room {
			return string(text), nil
		}
	}
	return "", nil
}

// decodeState decodes the annotation's text for the Job with this UID. If the text is
// empty or another Job's, it returns an empty state and false.
func decodeState(text string, job types.UID) (m jobpolicy.State, there bool, err error) {
	none := jobpolicy.State{Job: string(job)}
	if text == "" {
		return none, false, nil
	}
	if len(text) > maxState {
		return none, false, fmt.Errorf("annotation %s: %d bytes exceed the limit of %d", AnnotationMemory, len(text), maxState)
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return none, false, fmt.Errorf("annotation %s: %w", AnnotationMemory, err)
	}
	if m.Job != string(job) {
		return none, false, nil
	}
	return m, true, nil
}
