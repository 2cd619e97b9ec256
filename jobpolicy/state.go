package jobpolicy

import (
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// State carries facts without a place in the Job's status from one plan to the next.
// Keep the State of a plan once its InterimStatus is written. Store it with the Job so
// that it survives a restart; Kubernetes holds the equivalent only in memory.
//
// Each list and map holds a pod at most once, and only pods from the plan's Pods. A
// State therefore holds at most three UIDs per pod, besides a few small fields. The
// zero value is the state of a new Job.
type State struct {
	// Job is the UID of the Job. Plan ignores the State of another Job; a State without
	// a UID fits every Job.
	Job string `json:"job,omitempty"`

	// Written is the progress of the last planned status. Plan plans nothing on an
	// older status. Behind is when Plan first saw one, zero if the status is current.
	// After five minutes Plan accepts the older status, which may have been reset on
	// purpose.
	Written StatusProgress `json:"written,omitzero"`
	Behind  time.Time      `json:"behind,omitzero"`

	// Failures is the number of pods that failed in a row since the last success, and
	// LastFailure is the time of the last failure. They delay replacements of Jobs
	// without a limit per index.
	Failures    int       `json:"failures,omitempty"`
	LastFailure time.Time `json:"lastFailure,omitzero"`

	// Ignored and LastIgnored are the same for ignored failures, under DelaySeparately.
	Ignored     int       `json:"ignored,omitempty"`
	LastIgnored time.Time `json:"lastIgnored,omitzero"`

	// Ahead maps the UIDs of failed pods that end in the future to the time when Plan
	// first saw them. The next attempt of their index waits from that time, however
	// wrong the pod's clock.
	Ahead map[string]time.Time `json:"ahead,omitempty"`

	// Handled holds the UIDs of finished pods that were decided on but are not in the
	// status, so that they are not decided on twice.
	Handled []string `json:"handled,omitempty"`

	// Released holds the UIDs of recorded pods whose finalizer Plan has released. A pod
	// in Released but no longer in the status is counted, and an older view of it
	// counts nothing. Released also holds ended pods without a finalizer whose index is
	// beyond the completions or was so in the last plan. If such an index comes back,
	// its pod is not mistaken for one that never had a finalizer.
	Released []string `json:"released,omitempty"`
}

// of returns the state if it belongs to the Job, and otherwise an empty one.
func (m State) of(job *batch.Job) State {
	if m.Job != "" && m.Job != job.UID {
		m = State{}
	}
	m.Job = job.UID
	return m
}

// StatusProgress measures the progress of a Job's status in numbers that only rise
// while completions stay the same. They include uncounted pods. The zero value is the
// progress of a new Job.
type StatusProgress struct {
	Succeeded   int  `json:"succeeded,omitempty"`   // pods, or indexes of an Indexed Job
	Failed      int  `json:"failed,omitempty"`      // pods, which include those that fail an index
	Ending      bool `json:"ending,omitempty"`      // the Job's end is decided
	Completions int  `json:"completions,omitempty"` // of an Indexed Job; only lower indexes are counted
}

// less reports whether any part of p is less than in q.
func (p StatusProgress) less(q StatusProgress) bool {
	return p.Succeeded < q.Succeeded || p.Failed < q.Failed || !p.Ending && q.Ending
}

// progressOf returns the progress of the status.
func progressOf(s *batch.JobStatus) StatusProgress {
	p := StatusProgress{Succeeded: int(s.Succeeded), Failed: int(s.Failed), Ending: s.HasCondition(batch.JobFailureTarget) || s.HasCondition(batch.JobSuccessCriteriaMet)}
	if u := s.UncountedTerminatedPods; u != nil {
		p.Succeeded, p.Failed = addCounts(p.Succeeded, len(u.Succeeded)), addCounts(p.Failed, len(u.Failed))
	}
	return p
}
