package jobpolicy

import (
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// State holds facts for the next plan that have no place in the Job's status. Keep it
// as Plan says, and store it with the Job and its UID, so that it survives a program
// restart. It holds at most three UIDs per pod in Input.Pods, and little else. To save
// space, Handled and Released may be left out if the pods are fresh; a decision may then
// be reported, and delay, a second time. The zero value is the state of a new Job.
type State struct {
	// Job is the Job's UID. Plan ignores the State of another Job; "" fits every Job.
	Job string `json:"job,omitempty"`

	// Written is the progress of the last planned status. Behind is when an older
	// status was first seen, zero if the status is current. Plan plans nothing on an
	// older status, but accepts it after five minutes, because it may have been reset
	// on purpose.
	Written StatusProgress `json:"written,omitzero"`
	Behind  time.Time      `json:"behind,omitzero"`

	// Failures is the number of pods that failed since the last success, the latest at
	// LastFailure. They delay replacements in Jobs without a limit per index.
	Failures    int       `json:"failures,omitempty"`
	LastFailure time.Time `json:"lastFailure,omitzero"`

	// Ignored and LastIgnored are the same for ignored failures, under DelaySeparately.
	Ignored     int       `json:"ignored,omitempty"`
	LastIgnored time.Time `json:"lastIgnored,omitzero"`

	// Ahead holds the UIDs of failed pods with an end in the future, and when Plan
	// noticed it. The delays of their indexes start at that time.
	Ahead map[string]time.Time `json:"ahead,omitempty"`

	// Handled holds the UIDs of finished pods that have a decision but are not in the
	// status, so that each gets one decision.
	Handled []string `json:"handled,omitempty"`

	// Released holds the UIDs of pods whose end Plan has recorded in a status, and that
	// it has named in Plan.Release. Once the status no longer lists such a pod in
	// UncountedTerminatedPods, the pod has been counted. A stale cache may still show it
	// with its finalizer; Plan then does not count it again.
	//
	// Released also holds ended pods without a finalizer whose index is beyond the
	// completions, now or in the last plan. If the completions rise again, these pods
	// are not mistaken for pods that never had a finalizer.
	Released []string `json:"released,omitempty"`
}

// forJob returns the state if it belongs to the Job, and otherwise the state of a new
// Job.
func (s State) forJob(job *batch.Job) State {
	if s.Job != "" && s.Job != job.UID {
		s = State{}
	}
	s.Job = job.UID
	return s
}

// StatusProgress is the progress shown by a Job's status, including uncounted pods. It
// never falls while completions stay the same.
type StatusProgress struct {
	Succeeded   int  `json:"succeeded,omitempty"`   // pods, or indexes of an Indexed Job
	Failed      int  `json:"failed,omitempty"`      // pods
	Ending      bool `json:"ending,omitempty"`      // the Job's end is decided
	Completions int  `json:"completions,omitempty"` // of an Indexed Job; Succeeded counts only lower indexes
}

// behind reports whether any part of p is less than in q.
func (p StatusProgress) behind(q StatusProgress) bool {
	return p.Succeeded < q.Succeeded || p.Failed < q.Failed || !p.Ending && q.Ending
}

// progressOf returns the progress of the status.
func progressOf(s *batch.JobStatus) StatusProgress {
	p := StatusProgress{
		Succeeded: int(s.Succeeded),
		Failed:    int(s.Failed),
		Ending:    s.HasCondition(batch.JobFailureTarget) || s.HasCondition(batch.JobSuccessCriteriaMet),
	}
	if u := s.UncountedTerminatedPods; u != nil {
		p.Succeeded = addCounts(p.Succeeded, len(u.Succeeded))
		p.Failed = addCounts(p.Failed, len(u.Failed))
	}
	return p
}
