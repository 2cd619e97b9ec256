package jobpolicy

import "time"

// believedAfter is how long a status behind the last one written is treated as older.
// Kubernetes gives up its expectations after the same time.
const believedAfter = 5 * time.Minute

// observeAge compares the Job's status with the last one written. For an older one,
// olderFor is how much longer to treat it as such, and behind is when it was first
// seen.
func (v *view) observeAge() (olderFor time.Duration, behind time.Time, notes notes) {
	m, now := &v.in.State, v.in.Now
	seen := v.progressBelow(m.Written.Completions)
	if !seen.less(m.Written) {
		return 0, time.Time{}, nil
	}
	behind = m.Behind
	if behind.IsZero() || behind.After(now) {
		behind = now
	}
	if olderFor = believedAfter - now.Sub(behind); olderFor > 0 {
		notes.add("nothing is planned: the status %+v is older than the last one written, %+v", seen, m.Written)
		return olderFor, behind, notes
	}
	notes.add("the status %+v has been older than the last one written, %+v, for %s and is now accepted", seen, m.Written, believedAfter)
	return 0, time.Time{}, notes
}

// progressBelow returns the progress of the status, counting only indexes below
// completions. If completions were lowered and raised again, the statuses written in
// between count different indexes, so an older one may count as many.
func (v *view) progressBelow(completions int) StatusProgress {
	seen := progressOf(&v.in.Job.Status)
	if v.indexed && completions > 0 {
		seen.Succeeded, seen.Completions = v.allSucceeded.Clip(completions).Len(), completions
	}
	return seen
}
