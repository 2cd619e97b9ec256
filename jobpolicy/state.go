package jobpolicy

import (
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// State is what a Job's plans hand on to one another and its status has no room
// for. Keep a plan's State once its InterimStatus is written, because it says how far
// that status has come. Store it with the Job, so that it survives a restart:
// Kubernetes holds its like in memory only.
//
// Each list and map holds a pod at most once, and only pods that were in the
// plan's Pods. So a State has at most three UIDs for each pod, and all else in it
// is small. The zero value is the state of a new Job.
type State struct {
	// Job is the UID of the Job that this is the State of. Plan ignores the State
	// of another Job; one without a UID fits every Job.
	Job string `json:"job,omitempty"`

	// Written is how far the status had come that the last plan recorded. A status
	// that says less is older, and nothing is planned then. Behind is since when
	// that has been so, zero if it is not. After five minutes Plan takes the status
	// as it is, because somebody may have set it back.
	Written StatusProgress `json:"written,omitzero"`
	Behind  time.Time      `json:"behind,omitzero"`

	// Failures is how many pods have failed in a row since the last success, and
	// LastFailure when the last one did. Without a limit per index they delay
	// replacements.
	Failures    int       `json:"failures,omitempty"`
	LastFailure time.Time `json:"lastFailure,omitzero"`

	// Ignored and LastIgnored are the same of ignored failures, under DelaySeparately.
	Ignored     int       `json:"ignored,omitempty"`
	LastIgnored time.Time `json:"lastIgnored,omitzero"`

	// Ahead holds, by UID, failed pods whose end lies in the future, with the time
	// at which that was noticed. The next attempt of their index waits from then on,
	// however long the clock needs to catch up.
	Ahead map[string]time.Time `json:"ahead,omitempty"`

	// Handled holds the UIDs of finished pods that were decided on and that the
	// status does not name, so that they are not decided on twice.
	Handled []string `json:"handled,omitempty"`

	// Released holds the UIDs of pods whose end was recorded and whose finalizer
	// was to go. Once the status does not name such a pod any more, it is counted,
	// and what an older view shows of it counts nothing. Released also holds the ended
	// pods without a finalizer whose index is beyond the completions or was so in the
	// last plan. Such a pod is not taken for one that never had a finalizer when its
	// index comes back.
	Released []string `json:"released,omitempty"`
}

// of returns the state if it is that of the Job, and otherwise an empty one.
func (m State) of(job *batch.Job) State {
	if m.Job != "" && m.Job != job.UID {
		m = State{}
	}
	m.Job = job.UID
	return m
}

// StatusProgress is how far the status of a Job has come, in numbers that only rise
// while completions stay as they are. Pods are those that are counted or named as
// uncounted. The zero value is that of a new Job.
type StatusProgress struct {
	Succeeded   int  `json:"succeeded,omitempty"`   // pods; of an Indexed Job indexes
	Failed      int  `json:"failed,omitempty"`      // pods; an index fails with one of them
	Ending      bool `json:"ending,omitempty"`      // the end of the Job is decided
	Completions int  `json:"completions,omitempty"` // of an Indexed Job: only indexes below it are counted
}

// less reports whether some of p is less than it is in q.
func (p StatusProgress) less(q StatusProgress) bool {
	return p.Succeeded < q.Succeeded || p.Failed < q.Failed || !p.Ending && q.Ending
}

// progressOf is how far the status has come.
func progressOf(s *batch.JobStatus) StatusProgress {
	p := StatusProgress{Succeeded: int(s.Succeeded), Failed: int(s.Failed), Ending: s.HasCondition(batch.JobFailureTarget) || s.HasCondition(batch.JobSuccessCriteriaMet)}
	if u := s.UncountedTerminatedPods; u != nil {
		p.Succeeded, p.Failed = addCounts(p.Succeeded, len(u.Succeeded)), addCounts(p.Failed, len(u.Failed))
	}
	return p
}
