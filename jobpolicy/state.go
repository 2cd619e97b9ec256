package jobpolicy

import (
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// State carries facts without a place in the Job's status from one plan to the next.
// Keep it once the plan's InterimStatus is written, and store it with the Job so that
// it survives a restart. It holds at most three UIDs for each of the plan's Pods, and
// little else. The zero value is the state of a new Job.
type State struct {
	// Job is the Job's UID. Plan ignores the State of another Job; "" fits every Job.
	Job string `json:"job,omitempty"`

	// Written is the progress of the last planned status; Plan plans nothing on an
	// older one. Behind is when an older status was first seen, zero if it is current.
	// After five minutes Plan accepts the status, which may have been reset on purpose.
	Written StatusProgress `json:"written,omitzero"`
	Behind  time.Time      `json:"behind,omitzero"`

	// Failures is the number of pods that failed since the last success, the latest at
	// LastFailure. They delay replacements in Jobs without a limit per index.
	Failures    int       `json:"failures,omitempty"`
	LastFailure time.Time `json:"lastFailure,omitzero"`

	// Ignored and LastIgnored are the same for ignored failures, under DelaySeparately.
	Ignored     int       `json:"ignored,omitempty"`
	LastIgnored time.Time `json:"lastIgnored,omitzero"`

	// Ahead maps the UIDs of failed pods that end in the future to the time when this
	// was noticed, which starts the wait of their index.
	Ahead map[string]time.Time `json:"ahead,omitempty"`

	// Handled holds the UIDs of finished pods that are decided on but not in the
	// status, so that they are decided on once.
	Handled []string `json:"handled,omitempty"`

	// Released holds the UIDs of recorded pods released by Plan. Those no longer in the
	// status are counted, and older views of them count nothing. Released also holds
	// ended pods without a finalizer whose index is, or was in the last plan, beyond
	// the completions. If the index comes back, they are not mistaken for pods that
	// never had a finalizer.
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

// StatusProgress is the progress of a Job's status, uncounted pods included. It only
// rises while completions stay the same.
type StatusProgress struct {
	Succeeded   int  `json:"succeeded,omitempty"`   // pods, or indexes of an Indexed Job
	Failed      int  `json:"failed,omitempty"`      // pods
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
