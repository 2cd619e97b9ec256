package jobpolicy

import "time"

// believedAfter is how long a status that says less than what was written is
// taken for an older one. Kubernetes gives up its expectations after as long.
const believedAfter = 5 * time.Minute

// observeAge compares the Job with what was written. If it is older, olderFor is
// how much longer that is assumed, and behind since when it has been so.
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
		notes.add("the status says less (%+v) than what was written (%+v): nothing is planned until a newer one is seen", seen, m.Written)
		return olderFor, behind, notes
	}
	notes.add("the status has said less (%+v) than what was written (%+v) for %s: it is taken as it is", seen, m.Written, believedAfter)
	return 0, time.Time{}, notes
}

// progressBelow is how far the status has come with the indexes below completions.
// If completions were lowered and raised, statuses that count different indexes
// were written, and an older one may count as many.
func (v *view) progressBelow(completions int) StatusProgress {
	seen := progressOf(&v.in.Job.Status)
	if v.indexed && completions > 0 {
		seen.Succeeded, seen.Completions = v.allSucceeded.Clip(completions).Len(), completions
	}
	return seen
}
