package jobcontroller

import (
	"reflect"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy"
)

// jobState is a Controller's state for a Job, in addition to the informers' data. Only
// the worker holding the Job's key uses it.
type jobState struct {
	uid    types.UID
	latest *batchv1.Job // newest Job written or read; nil once the informer has caught up

	seen   *batchv1.Job // newest Job handled, for Events about its conditions; nil at first
	memory jobpolicy.State
	stored jobpolicy.State // as stored with the Job
	noted  jobNoted        // the Job that memory and stored belong to
	outrun bool            // another controller may have written the Job, so list the pods before the next plan

	expected expectations
	hidden   hidden
	listed   *listing // a list that the informer may not have reached yet; nil for none
	unsure   unsure
	template podTemplate // as last read

	// toldNoRoom reports whether an Event has said that the Job has no room for its memory.
	// It is set for a Job first seen with a status but no memory, because an earlier
	// controller wrote that Event.
	toldNoRoom bool
	reported   string // mistakes, as in annotations, already reported by Events
}

// newest returns the Job as last written. This is the informer's copy unless a write or
// a read returned a later one.
func (s *jobState) newest(cached *batchv1.Job) *batchv1.Job {
	if s.latest == nil {
		return cached
	}
	if reached(cached.ResourceVersion, s.latest.ResourceVersion) {
		s.latest = nil
		return cached
	}
	return s.latest
}

// learn records a Job returned by a write or a read.
func (s *jobState) learn(job *batchv1.Job) {
	if s.latest == nil || reached(job.ResourceVersion, s.latest.ResourceVersion) {
		s.latest = job
	}
}

// jobNoted is the part of a Job that controllers write, as last read or written.
type jobNoted struct {
	text    string // of the annotation
	status  *batchv1.JobStatus
	version string // of the Job with this text and status
	once    bool   // set by the first note
}

// recall reads the memory from the Job's annotation when the Job is first seen and
// whenever somebody else has written it, because another controller continues from its
// own memory. If the annotation is missing or broken, recall keeps the memory of this
// process. A status written by somebody else also indicates another controller, so the
// annotation need not have changed.
//
// podsVersion is the version the pod informer has reached, or "" if unknown. A Job seen
// for the first time with a memory or a status, and written after that version, may be
// the work of the previous leader, which may have changed pods as well. Versions of
// Jobs and pods are comparable if one etcd stores both.
func (s *jobState) recall(job *batchv1.Job, podsVersion string, logger klog.Logger) {
	text, first := job.Annotations[AnnotationMemory], !s.noted.once
	if !first && (job.ResourceVersion == s.noted.version || !reached(job.ResourceVersion, s.noted.version)) {
		return
	}
	if !first && text == s.noted.text {
		s.outrun = s.outrun || !sameStatus(&job.Status, s.noted.status)
		s.note(job, s.stored)
		return
	}
	stored, there, err := decodeMemory(text, job.UID)
	if err != nil {
		logger.Error(err, "cannot read the Job's memory", "remembered", !first)
	}
	if first || there {
		s.memory = stored
	}
	if first {
		s.toldNoRoom = text == "" && !reflect.DeepEqual(job.Status, batchv1.JobStatus{})
		s.outrun = (there || err != nil || s.toldNoRoom) && podsVersion != "" && !reached(podsVersion, job.ResourceVersion)
	} else {
		s.outrun = s.outrun || there || !sameStatus(&job.Status, s.noted.status)
	}
	s.note(job, stored)
}

// note records a Job and the memory stored with it.
func (s *jobState) note(job *batchv1.Job, stored jobpolicy.State) {
	s.stored = stored
	s.noted = jobNoted{text: job.Annotations[AnnotationMemory], status: &job.Status, version: job.ResourceVersion, once: true}
}

// unreported returns the mistakes, or nil if they were the last ones reported.
func (s *jobState) unreported(errs field.Errors) field.Errors {
	var text strings.Builder
	for _, err := range errs {
		text.WriteString(err.Error() + "\n")
	}
	if text.String() == s.reported {
		return nil
	}
	s.reported = text.String()
	return errs
}

// states holds the states of all Jobs handled and not finished. The zero value is empty
// and ready to use. It is safe for concurrent use.
type states struct {
	mu    sync.Mutex
	byKey map[string]*jobState
}

// of returns the state of the Job with this key and UID, creating it if necessary.
func (s *states) of(key string, uid types.UID) *jobState {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.byKey[key]
	if state == nil || state.uid != uid {
		state = &jobState{uid: uid}
		if s.byKey == nil {
			s.byKey = make(map[string]*jobState)
		}
		s.byKey[key] = state
	}
	return state
}

// forget drops the state of a finished or deleted Job.
func (s *states) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byKey, key)
}

func (s *states) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byKey)
}
