package jobpolicy

import (
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// Memory is what a Job's plans hand on to one another and its status has no room
// for. Keep a plan's Memory once its Record is written, because it says how far
// that status has come. Store it with the Job, so that it survives a restart:
// Kubernetes holds its like in memory only.
//
// Each list and map holds a pod at most once, and only pods that were in the
// plan's Pods. So a memory has at most three UIDs for each pod, and all else in it
// is small. The zero value is the memory of a new Job.
type Memory struct {
	// Job is the UID of the Job that this is the memory of. Plan ignores the memory
	// of another Job; one without a UID fits every Job.
	Job string `json:"job,omitempty"`

	// Written is how far the status had come that the last plan recorded. A status
	// that says less is older, and nothing is planned then. Behind is since when
	// that has been so, zero if it is not. After five minutes Plan takes the status
	// as it is, because somebody may have set it back.
	Written progress  `json:"written,omitzero"`
	Behind  time.Time `json:"behind,omitzero"`

	// Failures is how many pods have failed in a row since the last success, and
	// LastFailure when the last one did. Without a limit per index they delay
	// replacements.
	Failures    int       `json:"failures,omitempty"`
	LastFailure time.Time `json:"lastFailure,omitzero"`

	// Ignored and LastIgnored are the same of ignored failures, under IgnoredOwn.
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

// progress is how far the status of a Job has come, in numbers that only rise
// while completions stay as they are. The zero value is that of a new Job.
type progress struct {
	Succeeded   int  `json:"succeeded,omitempty"`   // pods that are counted or named as uncounted; of an Indexed Job indexes
	Failed      int  `json:"failed,omitempty"`      // pods that are counted or named as uncounted; an index fails with one of them
	Ending      bool `json:"ending,omitempty"`      // the end of the Job is decided
	Completions int  `json:"completions,omitempty"` // of an Indexed Job: only indexes below it are counted
}

// less reports whether some of p is less than it is in q.
func (p progress) less(q progress) bool {
	return p.Succeeded < q.Succeeded || p.Failed < q.Failed || !p.Ending && q.Ending
}

// of returns the memory if it is that of the Job, and otherwise an empty one.
func (m Memory) of(job *batch.Job) Memory {
	if m.Job != "" && m.Job != job.UID {
		m = Memory{}
	}
	m.Job = job.UID
	return m
}

// believedAfter is how long a status that says less than what was written is
// taken for an older one. Kubernetes gives up its expectations after as long.
const believedAfter = 5 * time.Minute

// observeAge compares the Job with what was written. If it is older, olderFor is
// how much longer that is assumed, and behind since when it has been so.
func (v *view) observeAge() (olderFor time.Duration, behind time.Time, notes notes) {
	m, now := &v.in.Memory, v.in.Now
	seen := v.progressBelow(m.Written.Completions)
	if !seen.less(m.Written) {
		return 0, time.Time{}, nil
	}
	behind = m.Behind
	if behind.IsZero() || behind.After(now) {
		behind = now
	}
	if olderFor = believedAfter - now.Sub(behind); olderFor > 0 {
		notes.add("the status says less (%+v) than what was written (%+v): nothing is planned until a newer one is seen", seen, m.Written)
		return olderFor, behind, notes
	}
	notes.add("the status has said less (%+v) than what was written (%+v) for %s: it is taken as it is", seen, m.Written, believedAfter)
	return 0, time.Time{}, notes
}

// progressBelow is how far the status has come with the indexes below completions.
// If completions were lowered and raised, statuses that count different indexes
// were written, and an older one may count as many.
func (v *view) progressBelow(completions int) progress {
	seen := progressOf(&v.in.Job.Status)
	if v.indexed && completions > 0 {
		seen.Succeeded, seen.Completions = v.allSucceeded.Clip(completions).Len(), completions
	}
	return seen
}

// progressOf is how far the status has come.
func progressOf(s *batch.JobStatus) progress {
	p := progress{Succeeded: int(s.Succeeded), Failed: int(s.Failed), Ending: s.HasCondition(batch.JobFailureTarget) || s.HasCondition(batch.JobSuccessCriteriaMet)}
	if u := s.UncountedTerminatedPods; u != nil {
		p.Succeeded, p.Failed = addCounts(p.Succeeded, len(u.Succeeded)), addCounts(p.Failed, len(u.Failed))
	}
	return p
}

// continued returns the memory with the streaks continued by the pods whose end is
// new, and with the ends that lie in the future.
func (v *view) continued() Memory {
	var succeeded, failed, ignored []time.Time
	for _, p := range v.pods {
		switch {
		case p.handled || !p.newlyEnded():
		case p.succeeded:
			succeeded = append(succeeded, p.finish)
		case p.match.Counted() || v.engine.IgnoredDelay == IgnoredSame:
			failed = append(failed, p.finish)
		case v.engine.IgnoredDelay == IgnoredOwn:
			ignored = append(ignored, p.finish)
		}
	}
	m := v.in.Memory
	m.Failures, m.LastFailure = streak(m.Failures, m.LastFailure, succeeded, failed)
	m.Ignored, m.LastIgnored = streak(m.Ignored, m.LastIgnored, succeeded, ignored)

	// What lies in the future counts as now, once: else it would be now for ever.
	m.LastFailure = earlier(m.LastFailure, v.in.Now)
	m.LastIgnored = earlier(m.LastIgnored, v.in.Now)
	m.Ahead = v.ahead()
	return m
}

// ahead returns the predecessors whose end lies in the future, with the time at
// which that was noticed; nil if there are none.
func (v *view) ahead() map[string]time.Time {
	var ahead map[string]time.Time
	for _, p := range v.predecessors {
		if end := v.endOf(p); end.Before(p.finish) {
			if ahead == nil {
				ahead = make(map[string]time.Time)
			}
			ahead[p.identity()] = end
		}
	}
	return ahead
}

// endOf is when the predecessor ended, or if that lies in the future, when this was
// first noticed.
func (v *view) endOf(p *podView) time.Time {
	end := p.finish
	if noticed, ok := v.in.Memory.Ahead[p.identity()]; ok {
		end = earlier(end, noticed)
	}
	return earlier(end, v.in.Now)
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
