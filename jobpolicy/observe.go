package jobpolicy

import (
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/count"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// view is everything that a decision depends on, derived from the Engine and the Input.
// It does not change once observe has built it.
type view struct {
	engine Engine
	in     Input         // with the State of this Job
	spec   batch.JobSpec // with defaults

	indexed  bool
	perIndex bool // Indexed, with a limit per index
	indexes       // of an Indexed Job

	pods []*podView // without duplicates, by index and UID
	podCounts

	startTime time.Time     // of the Job, now if it just started, zero if suspended without a start
	staleFor  time.Duration // how much longer to wait for a newer status; 0 if the status is current
	notes     notes
}

// podCounts are the numbers of pods by outcome.
type podCounts struct {
	active, ready, terminating int
	succeededPods, failedPods  int // including those of earlier plans; of an Indexed Job, succeeded indexes
	ended                      int // ended but not yet in the status
}

// notes describe unreadable or skipped input.
type notes []string

func (n *notes) add(format string, args ...any) { *n = append(*n, fmt.Sprintf(format, args...)) }

// observe builds the view. It returns field.Errors for a Job or a pod that allows no
// sensible decision.
func observe(e Engine, in Input) (*view, error) {
	in.State = in.State.forJob(in.Job)
	v := &view{engine: e, in: in, spec: in.Job.Spec, startTime: in.Job.Status.StartTime}
	v.spec.Default()
	v.indexed = v.spec.CompletionMode == batch.IndexedCompletion
	v.perIndex = v.indexed && v.spec.BackoffLimitPerIndex != nil
	known := newKnown(in)
	if err := v.validate(known); err != nil {
		return nil, err
	}
	if v.startTime.IsZero() && !v.spec.Suspend {
		v.startTime = in.Now
	}
	var podNotes, indexNotes, ageNotes, trackingNotes notes
	var err error
	if v.pods, podNotes, err = v.observePods(known); err != nil {
		return nil, err
	}
	if v.indexed {
		v.indexes, indexNotes = v.observeIndexes()
	}
	v.staleFor, v.in.State.Behind, ageNotes = v.observeAge()
	if v.staleFor == 0 {
		trackingNotes = v.observeUntracked()
		v.podCounts = v.count(known)
	}
	v.notes = slices.Concat(podNotes, indexNotes, ageNotes, trackingNotes)
	return v, nil
}

// completions returns the number of indexes of an Indexed Job.
func (v *view) completions() int { return max(int(*v.spec.Completions), 0) }

// replacesOnlyFailed reports whether a pod being deleted is replaced only after it has
// ended. This is the default with a failure policy, and API servers accept no other
// value there.
func (v *view) replacesOnlyFailed() bool {
	return v.spec.PodReplacementPolicy == batch.PodReplacementFailed
}

// validate returns field.Errors for an impossible status and for an Indexed Job without
// completions.
func (v *view) validate(known known) error {
	var errs field.Errors
	if v.indexed && v.spec.Completions == nil {
		errs.Add(field.Required, "spec.completions", nil, "an Indexed Job needs it")
	}
	s := &v.in.Job.Status
	count.CheckStatus(&errs, &s.Active, &s.Succeeded, &s.Failed, s.Ready, s.Terminating)
	if u := s.UncountedTerminatedPods; u != nil {
		for i, uid := range u.Failed {
			if known.uncountedSucceeded[uid] {
				errs.Add(field.Duplicate, fmt.Sprintf("status.uncountedTerminatedPods.failed[%d]", i), uid, "the pod has succeeded, too")
			}
		}
	}
	return errs.Err()
}

// known holds the pods, by identity, that the Input names outside Pods.
type known struct {
	uncountedSucceeded map[string]bool // in the status
	uncountedFailed    map[string]bool // in the status
	released           map[string]bool // in Input.FinalizersRemoved
	counted            map[string]bool // in State.Released; counted unless the status still names them as uncounted
	handled            map[string]bool // in State.Handled
}

func newKnown(in Input) known {
	var u batch.UncountedTerminatedPods
	if uncounted := in.Job.Status.UncountedTerminatedPods; uncounted != nil {
		u = *uncounted
	}
	return known{
		uncountedSucceeded: setOf(u.Succeeded),
		uncountedFailed:    setOf(u.Failed),
		released:           setOf(in.FinalizersRemoved),
		counted:            setOf(in.State.Released),
		handled:            setOf(in.State.Handled),
	}
}

func setOf(uids []string) map[string]bool {
	set := make(map[string]bool, len(uids))
	for _, uid := range uids {
		set[uid] = true
	}
	return set
}

// acceptedAfter is how long Plan waits for a newer status before it accepts an older
// one. Kubernetes gives up its expectations after the same time.
const acceptedAfter = 5 * time.Minute

// observeAge compares the Job's status with the last one that a plan has written. If the
// status is older, staleFor is how much longer to wait for a newer one, and behind is
// when Plan first saw an older status.
func (v *view) observeAge() (staleFor time.Duration, behind time.Time, notes notes) {
	state, now := &v.in.State, v.in.Now
	seen := v.progressBelow(state.Written.Completions)
	if !seen.behind(state.Written) {
		return 0, time.Time{}, nil
	}
	behind = state.Behind
	if behind.IsZero() || behind.After(now) {
		behind = now
	}
	if staleFor = acceptedAfter - now.Sub(behind); staleFor > 0 {
		notes.add("nothing is planned: the status %+v is older than the last one written, %+v", seen, state.Written)
		return staleFor, behind, notes
	}
	notes.add("the status %+v has been older than the last one written, %+v, for %s and is now accepted", seen, state.Written, acceptedAfter)
	return 0, time.Time{}, notes
}

// progressBelow returns the progress of the status, in which only succeeded indexes below
// completions count. Two statuses can be compared only by the same indexes, because after
// completions were lowered, a newer status may count fewer indexes than an older one.
func (v *view) progressBelow(completions int) StatusProgress {
	seen := progressOf(&v.in.Job.Status)
	if v.indexed && completions > 0 {
		seen.Succeeded, seen.Completions = v.allSucceeded.Clip(completions).Len(), completions
	}
	return seen
}

// count adds up the pods, including those recorded or counted in the status.
func (v *view) count(known known) (c podCounts) {
	succeeded, failed := len(known.uncountedSucceeded), len(known.uncountedFailed)
	for _, p := range v.pods {
		switch {
		case p.active():
			c.active++
			if p.Ready() {
				c.ready++
			}
		case p.terminating():
			c.terminating++
		}
		if p.endIsNew() {
			c.ended++
		}
		switch {
		case !p.newlyEnded():
		case p.succeeded():
			succeeded++
		case p.match.Counted():
			failed++
		}
	}
	c.succeededPods = addCounts(int(v.in.Job.Status.Succeeded), succeeded)
	c.failedPods = addCounts(int(v.in.Job.Status.Failed), failed)
	if v.indexed {
		c.succeededPods = v.succeeded.Len()
	}
	return c
}
