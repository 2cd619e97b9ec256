package jobpolicy

import (
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// view is what a plan is decided on: the Engine, the Input and what was worked out
// of them. Nothing of it changes once observe has returned it.
type view struct {
	engine Engine
	in     Input         // its Memory is that of this Job
	spec   batch.JobSpec // with defaults

	indexed  bool
	perIndex bool // Indexed, with a limit per index
	indexes       // of an Indexed Job

	pods []*podView // each once, in the order of index and UID
	podCounts

	startTime time.Time     // of the Job: its status', or now; zero if it has none and is suspended
	olderFor  time.Duration // how much longer the Job is taken for older than what was written; 0: it is not
	notes     notes
}

// notes say what could not be read or was left out.
type notes []string

func (n *notes) add(format string, args ...any) { *n = append(*n, fmt.Sprintf(format, args...)) }

// observe works out what there is to see. It returns field.Errors for a Job or a
// pod from which nothing sensible follows.
func observe(e Engine, in Input) (*view, error) {
	in.Memory = in.Memory.of(in.Job)
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
	v.olderFor, v.in.Memory.Behind, ageNotes = v.observeAge()
	if v.olderFor == 0 {
		trackingNotes = v.observeUntracked()
		v.podCounts = v.count(known)
	}
	v.notes = slices.Concat(podNotes, indexNotes, ageNotes, trackingNotes)
	return v, nil
}

// validate returns field.Errors for a status that no Job has and for an Indexed Job
// without completions.
func (v *view) validate(known known) error {
	var errs field.Errors
	if v.indexed && v.spec.Completions == nil {
		errs.Add(field.Required, "spec.completions", nil, "an Indexed Job needs it")
	}
	v.in.Job.Status.ValidateCounts(&errs)
	if u := v.in.Job.Status.UncountedTerminatedPods; u != nil {
		for i, uid := range u.Failed {
			if known.uncountedSucceeded[uid] {
				errs.Add(field.Duplicate, fmt.Sprintf("status.uncountedTerminatedPods.failed[%d]", i), uid, "the pod has succeeded, too")
			}
		}
	}
	return errs.Err()
}

// completions is the number of indexes of an Indexed Job.
func (v *view) completions() int { return max(int(*v.spec.Completions), 0) }

// podCounts are the pods by what has become of them.
type podCounts struct {
	active, ready, terminating int
	succeededPods, failedPods  int // with those that earlier plans counted; of an Indexed Job succeeded indexes
	ended                      int // whose end is not in the status yet
}

// count adds the pods up: those that are seen, and those that the status names or
// has counted.
func (v *view) count(known known) (c podCounts) {
	succeeded, failed := len(known.uncountedSucceeded), len(known.uncountedFailed)
	for _, p := range v.pods {
		switch {
		case p.active:
			c.active++
			if p.Ready() {
				c.ready++
			}
		case p.terminating:
			c.terminating++
		}
		if p.endIsNew() {
			c.ended++
		}
		switch {
		case !p.newlyEnded():
		case p.succeeded:
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

// known are the pods that the Input says something of beside Pods, by identity.
type known struct {
	uncountedSucceeded, uncountedFailed map[string]bool // by the status
	released                            map[string]bool // by the caller
	counted, handled                    map[string]bool // by the memory; what the status names is not counted
}

func newKnown(in Input) known {
	u := cloneUncounted(in.Job.Status.UncountedTerminatedPods)
	return known{setOf(u.Succeeded), setOf(u.Failed), setOf(in.Released), setOf(in.Memory.Released), setOf(in.Memory.Handled)}
}

func setOf(uids []string) map[string]bool {
	m := make(map[string]bool, len(uids))
	for _, uid := range uids {
		m[uid] = true
	}
	return m
}
