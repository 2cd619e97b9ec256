package jobworld

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/restartkit/restart/jobpolicy/batch"
)

var (
	errMany = errors.New("more pods are created than the Job can need")
	errLong = errors.New("a pass sends requests without end")
)

// matches reports whether the rule of the pod failure policy matches a failed pod.
func (w *walker) matches(p *pod, l look) bool {
	return w.job.On == OnCode && p.code9 || w.job.On == OnDisruption && l.is(disrupted)
}

// counts reports whether the end of a failed pod counts under the pod failure policy.
func (w *walker) counts(p *pod, l look) bool {
	return w.job.Rule != batch.ActionIgnore || !w.matches(p, l)
}

// replacesEnded reports whether only ended pods are replaced.
func (w *walker) replacesEnded() bool {
	return w.spec.PodReplacementPolicy == batch.PodReplacementFailed
}

// noteEnd notes an end that must count.
func (s *state) noteEnd(w *walker, p *pod) {
	if p.index < 0 {
		return
	}
	switch {
	case !p.now.is(tracked):
	case p.now.stage() == succeeded:
		s.hadSuccess |= 1 << p.index
	default:
		s.hadFailure |= 1 << p.index
		if w.counts(p, p.now) {
			s.failuresOf[p.index]++
		}
		if w.job.Rule == batch.ActionFailIndex && w.matches(p, p.now) {
			s.failsAtOnce |= 1 << p.index
		}
	}
}

// checkCreation checks the pod created in a slot, unless an older view explains it.
func (w *walker) checkCreation(s *state, slot int) error {
	p := &s.pods[slot]
	decided := s.now.has(batch.JobFailureTarget) || s.now.has(batch.JobSuccessCriteriaMet)
	switch {
	case s.tainted:
		return nil
	case decided:
		return errors.New("a pod is created after the Job's end is decided")
	case s.now.has(batch.JobSuspended) && s.now.suspend:
		return errors.New("a pod is created for a suspended Job, whose status says so")
	case p.index >= 0 && (s.now.completed|s.now.failed&^noIndexes)>>p.index&1 != 0:
		return errors.New("a pod is created for an ended index")
	}
	active, terminating := 0, 0
	done, lost := s.recorded()
	for i := range s.pods[:s.n] {
		q := &s.pods[i]
		if q.now.active() {
			active++
		}
		if q.now.terminating() {
			terminating++
		}
		if i == slot || q.index != p.index || p.index < 0 {
			continue
		}
		if q.now.active() {
			return errors.New("a pod is created beside an active one of its index")
		}
		if q.now.terminating() && w.replacesEnded() {
			return errors.New("a pod is created before the index's last one has ended")
		}
	}
	switch {
	case w.exceeded(s, lost):
		return errors.New("a pod is created although the status exceeds a limit of the Job")
	case active > w.job.Parallelism:
		return errors.New("a pod is created beyond parallelism")
	case w.replacesEnded() && active+terminating > w.job.Parallelism:
		return errors.New("a pod is created in place of one that has not ended")
	case p.index < 0 && active+done > w.job.Completions:
		return errors.New("a pod is created beyond completions")
	case w.spec.BackoffLimitPerIndex != nil && w.replacesEnded() && s.unknown>>p.index&1 == 0 && p.failures != s.failuresOf[p.index]:
		return fmt.Errorf("a pod is created with %d failures of its index, which has %d", p.failures, s.failuresOf[p.index])
	}
	return nil
}

// recorded returns the numbers of successes and failures in the status.
func (s *state) recorded() (done, lost int) {
	done, lost = int(s.now.succeeded), int(s.now.failures)
	for i := range s.pods[:s.n] {
		switch s.pods[i].listed {
		case listedSucceeded:
			done++
		case listedFailed:
			lost++
		}
	}
	return done, lost
}

// exceeded reports whether the status shows that the Job must end, with so many
// failures.
func (w *walker) exceeded(s *state, lost int) bool {
	j, failed := &w.job, bits.OnesCount8(s.now.failed&^noIndexes)
	return j.BackoffLimit >= 0 && lost > j.BackoffLimit || j.MaxFailed >= 0 && failed > j.MaxFailed ||
		j.Success > 0 && bits.OnesCount8(s.now.completed) >= j.Success
}

// checkRelease checks that a pod that was seen to have ended has its end in the status.
func (w *walker) checkRelease(s *state, p *pod) error {
	if !p.seen.ended() { // a surplus pod, or a running one of a Job that ends
		p.exempt = true
		if p.index >= 0 {
			s.unknown |= 1 << p.index
		}
		return nil
	}
	recorded := p.named != unnamed
	if p.index >= 0 && p.now.stage() == succeeded {
		recorded = recorded || (s.now.completed|s.now.failed&^noIndexes)>>p.index&1 != 0 // the index ended once
	}
	if !recorded && (p.now.stage() == succeeded || w.counts(p, p.now)) {
		return errors.New("a finalizer is removed before the end stands in the status")
	}
	return nil
}

// validate checks a status by itself, as the API server does.
func (w *walker) validate(s *state, st *batch.JobStatus) error {
	b := batch.Job{ObjectMeta: batch.ObjectMeta{Name: "job"}, Spec: w.spec, Status: *st}
	b.Spec.Suspend = s.now.suspend
	if err := b.ValidateStatus(); err != nil {
		return fmt.Errorf("the API server rejects the status: %w", err)
	}
	return nil
}

// checkWrite checks a status against the last one, and notes the pods it names.
func (w *walker) checkWrite(s *state, next *job, lists *[Most]listed) error {
	if s.now.ended() {
		return errors.New("the status is written after the Job has ended")
	}
	for _, c := range s.now.conditions {
		if t := conditionTypes[c>>5]; c != 0 && t != batch.JobSuspended && !slices.Contains(next.conditions[:], c) {
			return fmt.Errorf("the status changes or loses the condition %s", t)
		}
	}
	for i, c := range next.conditions {
		if c != 0 && slices.ContainsFunc(next.conditions[:i], func(d condition) bool { return d>>5 == c>>5 }) {
			return fmt.Errorf("the status has two conditions %s", conditionTypes[c>>5])
		}
	}
	if err := w.checkLists(s, next, lists); err != nil {
		return err
	}
	return w.checkIndexes(s, next)
}

// checkLists checks that each pod is named once, when it has ended so, and is then
// counted once.
func (w *walker) checkLists(s *state, next *job, lists *[Most]listed) error {
	var left [3]int
	for i := range s.pods[:s.n] {
		p := &s.pods[i]
		was, is := p.listed, lists[i]
		switch {
		case was == is:
			continue
		case was != unlisted && is != unlisted:
			return errors.New("a pod moves between the lists of succeeded and failed ones")
		case was != unlisted:
			left[was]++
			p.named += countedSucceeded - namedSucceeded
			continue
		case p.named != unnamed:
			return errors.New("a pod's end is recorded twice")
		case is == listedSucceeded && p.now.stage() != succeeded && !(p.now == absent && p.exempt):
			return errors.New("a pod that has not succeeded is recorded as succeeded")
		case is == listedFailed && !next.has(batch.JobFailureTarget) && p.now.stage() != failed && (w.replacesEnded() || !p.now.is(deleting)) && p.now != absent:
			return errors.New("a pod that has not failed is recorded as failed")
		case is == listedFailed && !w.counts(p, p.now) && p.now.ended():
			return errors.New("an ignored failure is recorded")
		}
		p.named = namedSucceeded
		if is == listedFailed {
			p.named = namedFailed
			if p.index >= 0 {
				s.hadFailure |= 1 << p.index // even if the pod was still ending, and succeeds
			}
		}
	}
	if got, want := int(next.failures), int(s.now.failures)+left[listedFailed]; got != want {
		return fmt.Errorf("the status counts %d failures, not %d", got, want)
	}
	if got, want := int(next.succeeded), int(s.now.succeeded)+left[listedSucceeded]; got != want && !w.job.Indexed {
		return fmt.Errorf("the status counts %d successes, not %d", got, want)
	}
	return nil
}

// checkIndexes checks that indexes end for a reason and stay so.
func (w *walker) checkIndexes(s *state, next *job) error {
	failed, was := next.failed&^noIndexes, s.now.failed&^noIndexes
	switch {
	case !w.job.Indexed:
	case s.now.completed&^next.completed != 0 || was&^failed != 0:
		return errors.New("an ended index is taken back")
	case next.completed&^s.hadSuccess != 0:
		return errors.New("an index is completed without a success")
	case failed&^s.hadFailure&^s.unknown != 0:
		return errors.New("an index fails without a failure")
	case int(next.succeeded) != bits.OnesCount8(next.completed):
		return fmt.Errorf("the status counts %d successes of %d indexes", next.succeeded, bits.OnesCount8(next.completed))
	}
	for i, n := range s.failuresOf {
		if bit := uint8(1) << i; failed&^was&bit != 0 && w.replacesEnded() && (s.unknown|s.failsAtOnce)&bit == 0 && int(n) <= w.job.PerIndex {
			return fmt.Errorf("an index fails after %d failures", n)
		}
	}
	return nil
}

// checkEnd checks how the Job ends by the status.
func (w *walker) checkEnd(s *state) error {
	done, lost := s.recorded()
	for _, c := range s.now.conditions {
		if c&16 == 0 {
			continue
		}
		switch reasons[c&15] {
		case batch.JobReasonCompletionsReached:
			if done < w.job.Completions {
				return errors.New("the Job completes without its completions")
			}
		case batch.JobReasonBackoffLimitExceeded:
			if lost <= w.job.BackoffLimit {
				return errors.New("the Job exceeds its backoffLimit with too few failures")
			}
		case batch.JobReasonFailedIndexes, batch.JobReasonMaxFailedIndexesExceeded:
			if s.now.failed&^noIndexes == 0 {
				return errors.New("the Job fails by indexes, and none has failed")
			}
		}
	}
	if !s.now.ended() {
		return nil
	}
	for i := range s.pods[:s.n] {
		p := &s.pods[i]
		switch {
		case p.now == absent || s.tainted:
		case !p.now.ended():
			return errors.New("the Job ends while a pod has not")
		case p.now.is(tracked):
			return errors.New("the Job ends while a pod has its finalizer")
		}
	}
	return nil
}
