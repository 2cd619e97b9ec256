package jobpolicy

import (
	"time"

	"github.com/restartkit/restart/indexset"
)

// Memory is what a Job's passes hand on to one another and its status has no
// room for. Keep it with the Job: Kubernetes holds its like in memory only and
// loses it at every restart. Keep a plan's Memory only once its Record is
// written: it says how far that status has come.
//
// Each list and map holds a pod at most once, and only pods that were in the
// plan's Pods, so that a memory has at most three UIDs for each of them; all else
// is small. The zero value is the memory of a new Job.
type Memory struct {
	// Job is the UID of the Job that this is the memory of. The memory of another
	// Job counts as none; without a UID it fits every Job.
	Job string `json:"job,omitempty"`

	// Written is how far the status had come that the last plan recorded. A Job
	// whose status says less is an older view of it: nothing is planned then.
	// Behind is since when that has been so, zero if it is not. After five minutes
	// the status is believed, because somebody may have set it back.
	Written progress  `json:"written,omitzero"`
	Behind  time.Time `json:"behind,omitzero"`

	// The Job-wide streak of failures since the last success; without a limit
	// per index it delays replacements.
	Failures    int       `json:"failures,omitempty"`
	LastFailure time.Time `json:"lastFailure,omitzero"`

	// The same of ignored failures, under IgnoredOwn.
	Ignored     int       `json:"ignored,omitempty"`
	LastIgnored time.Time `json:"lastIgnored,omitzero"`

	// Ahead holds, by UID, the failed pods that the next attempt of their index
	// waits for and whose end lies in the future, with the time at which that was
	// noticed: from then on they wait, however long the clock needs to catch up.
	Ahead map[string]time.Time `json:"ahead,omitempty"`

	// Handled holds the UIDs of finished pods that were decided on but are still
	// there and have no place in the status, so that they are not decided on twice.
	Handled []string `json:"handled,omitempty"`

	// Released holds the UIDs of pods whose end was recorded and whose finalizer
	// was to go. Once the status does not name them any more they are counted, and
	// a view of them that is older than that counts nothing.
	Released []string `json:"released,omitempty"`
}

// progress is how far the status of a Job has come, in numbers that only rise
// while completions stay as they are. The zero value is that of a new Job.
type progress struct {
	Succeeded   int  `json:"succeeded,omitempty"`   // pods, counted or not yet counted; of an Indexed Job indexes
	Failed      int  `json:"failed,omitempty"`      // pods, counted or not yet counted; an index fails with one of them
	Ending      bool `json:"ending,omitempty"`      // the end of the Job is decided
	Completions int  `json:"completions,omitempty"` // of an Indexed Job: only indexes below it are counted
}

// less reports whether some of p is less than it is in q.
func (p progress) less(q progress) bool {
	return p.Succeeded < q.Succeeded || p.Failed < q.Failed || !p.Ending && q.Ending
}

// of returns the memory if it is that of the Job, and otherwise an empty one.
func (m Memory) of(job *Job) Memory {
	if m.Job != "" && m.Job != job.UID {
		m = Memory{}
	}
	m.Job = job.UID
	return m
}

// believedAfter is how long a status that says less than what was written is
// taken for an older one. Kubernetes gives up its expectations after as long.
const believedAfter = 5 * time.Minute

// behind reports whether the Job is older than the status that was written, and
// if so for how much longer that will be assumed.
func (p *pass) behind() (left time.Duration, behind bool) {
	m := &p.memory
	seen := p.seenBelow(m.Written.Completions)
	if !seen.less(m.Written) {
		m.Behind = time.Time{}
		return 0, false
	}
	if m.Behind.IsZero() || m.Behind.After(p.now) {
		m.Behind = p.now
	}
	if left = believedAfter - p.now.Sub(m.Behind); left > 0 {
		p.note("the status says less (%+v) than what was written (%+v): nothing is planned until a newer one is seen", seen, m.Written)
		return left, true
	}
	p.note("the status has said less (%+v) than what was written (%+v) for %s: it is taken as it is", seen, m.Written, believedAfter)
	m.Behind = time.Time{}
	return 0, false
}

// seenBelow is how far the status that came in has come with the indexes below
// completions. A Job whose completions were lowered and raised has written statuses
// that count different indexes, of which an older one may count as many.
func (p *pass) seenBelow(completions int) progress {
	seen := p.seen
	switch {
	case !p.indexed || completions == 0:
		return seen
	case completions == p.completions():
		seen.Succeeded = p.wasSucceeded.Len()
	default:
		set, _ := indexset.ParseLenient(p.status.CompletedIndexes)
		seen.Succeeded = set.Clip(completions).Len()
	}
	seen.Completions = completions
	return seen
}

// wait is the plan for a Job that is older than what was written.
func (p *pass) wait(left time.Duration) Plan {
	m := p.in.Memory
	m.Behind = p.memory.Behind
	return Plan{Memory: m, RequeueAfter: left, RequeueReason: RequeueStaleJob, Notes: p.plan.Notes}
}

// progress is how far the status has come.
func (s *JobStatus) progress() progress {
	u := s.UncountedTerminatedPods
	return progress{
		Succeeded: addCounts(int(s.Succeeded), len(u.Succeeded)),
		Failed:    addCounts(int(s.Failed), len(u.Failed)),
		Ending:    s.has(JobFailureTarget) || s.has(JobSuccessCriteriaMet),
	}
}

// after returns the memory after these pods have finished.
func (m Memory) after(succeeded, failed []time.Time) Memory {
	m.Failures, m.LastFailure = streak(m.Failures, m.LastFailure, succeeded, failed)
	return m
}

// streak continues a streak of n failures: any success starts it over, and then
// only failures after the latest success count.
func streak(n int, last time.Time, succeeded, failed []time.Time) (int, time.Time) {
	var success time.Time
	if len(succeeded) > 0 {
		n, last = 0, time.Time{}
		for _, t := range succeeded {
			success = later(success, t)
		}
	}
	var failure time.Time
	counted := 0
	for _, t := range failed {
		if len(succeeded) == 0 || t.After(success) {
			counted++
			failure = later(failure, t)
		}
	}
	if counted == 0 {
		return n, last
	}
	return addCounts(n, counted), failure
}
