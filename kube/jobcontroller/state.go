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

// jobState is what a Controller knows of a Job beside what the informers show. Only the
// worker that has the Job's key uses it.
type jobState struct {
	uid    types.UID
	latest *batchv1.Job // newest that a write returned or that was read; nil while the informer has caught up

	seen   *batchv1.Job // newest that was looked at, for Events about its conditions; nil at first
	memory jobpolicy.State
	stored jobpolicy.State // as it is stored with the Job
	noted  jobNoted        // that memory and stored go with
	outrun bool            // another controller has written the Job, or may have: the pods are to be listed before the next plan

	expected expectations
	hidden   hidden
	listed   *listing // that the informer may not have come to yet; nil: none
	unsure   unsure
	template podTemplate // as it was read last

	// toldNoRoom says that an Event has said that there is no room for the memory. A Job
	// that has a status and no memory when it is first seen is one of an earlier controller,
	// which has told.
	toldNoRoom bool
	reported   string // mistakes of annotations, and the like, that Events were written about
}

// newest returns the Job as it was written last: the informer's, unless a write
// returned, or a read found, a later one.
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

// learn notes a Job that a write returned or a read found.
func (s *jobState) learn(job *batchv1.Job) {
	if s.latest == nil || reached(job.ResourceVersion, s.latest.ResourceVersion) {
		s.latest = job
	}
}

// jobNoted is what controllers write of a Job, as it was read or written last.
type jobNoted struct {
	text    string // of the annotation
	status  *batchv1.JobStatus
	version string // of the Job that had both
	once    bool   // there was one
}

// recall takes the memory from the Job's annotation, at first and when somebody else has
// written it since. Another controller has written what it goes on from. If it is not
// there any more, or broken, what is remembered is better. A status that somebody else
// has written is another controller's, too: the memory need not say more for it.
//
// podsVersion is how far the informer shows pods, "" if it does not tell. A Job that is
// seen for the first time, has a memory or a status and was written after that may be
// the work of the leader before this one, who has also changed pods. Versions of Jobs and of pods
// compare if one etcd stores both.
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
		logger.Error(err, "the Job's memory cannot be read", "remembered", !first)
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

// note notes a Job with the memory that is stored with it.
func (s *jobState) note(job *batchv1.Job, stored jobpolicy.State) {
	s.stored = stored
	s.noted = jobNoted{text: job.Annotations[AnnotationMemory], status: &job.Status, version: job.ResourceVersion, once: true}
}

// unreported returns the mistakes unless they were the last ones, too.
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

// states are those of all Jobs that were worked on and have not come to their end. The
// zero value has none. They are safe for concurrent use.
type states struct {
	mu    sync.Mutex
	byKey map[string]*jobState
}

// of returns the state of the Job with this key and UID, a new one if there is none.
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

// forget drops the state of a Job that has ended or is gone.
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
