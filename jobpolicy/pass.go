package jobpolicy

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/indexset"
)

// pass is the working state of one Plan. What a pass reads is worked out by
// newPass; what it decides is gathered in plan and status.
type pass struct {
	engine   Engine
	in       Input
	spec     JobSpec // with defaults
	indexed  bool
	perIndex bool // Indexed, with a limit per index

	pods      []*podView      // in the order of index and UID
	uncounted uncounted       // as the status has them
	rules     *ruleTable      // the policy's; nil until a pod is matched
	released  map[string]bool // pods whose end is counted for good, whatever they look like
	reported  map[string]bool // pods whose finalizer the caller took off, whatever they look like
	kept      []*podView      // by index: the failed pods whose replacements follow them

	succeeded, failed         indexset.Set // indexes, with those of this pass
	wasSucceeded, wasFailed   indexset.Set // indexes, as the status has them
	succeededPods, failedPods int          // counted, with those of this pass; for an Indexed Job succeededPods counts indexes
	seen                      progress     // of the status that came in

	ended                      int // pods whose end is new in this pass
	active, ready, terminating int // as they will be when the plan is carried out

	now    time.Time
	memory Memory    // for the next pass
	status JobStatus // being rewritten
	flush  bool      // the status differs from the one that came in
	plan   Plan
}

// newPass reads the input.
func newPass(e Engine, in Input) (*pass, error) {
	in.Memory = in.Memory.of(in.Job)
	p := &pass{engine: e, in: in, now: in.Now, status: in.Job.Status, memory: in.Memory}
	p.spec = in.Job.Spec
	p.spec.Default()
	p.indexed = p.spec.CompletionMode == IndexedCompletion
	p.perIndex = p.indexed && p.spec.BackoffLimitPerIndex != nil
	if err := p.refuse(); err != nil {
		return nil, err
	}
	p.status.Conditions = append([]JobCondition(nil), p.status.Conditions...)
	p.status.UncountedTerminatedPods = p.status.UncountedTerminatedPods.clone()
	p.uncounted = newUncounted(p.status.UncountedTerminatedPods)
	p.seen = p.status.progress()
	p.released = setOf(in.Memory.Released)
	p.reported = setOf(in.Released)
	p.memory.Released = nil

	if err := p.collect(); err != nil {
		return nil, err
	}
	if p.status.StartTime.IsZero() && !p.spec.Suspend {
		p.status.StartTime = p.now
	}
	if p.indexed {
		p.readIndexes()
	}
	p.count()
	return p, nil
}

// refuse reports what no Job can have and nothing sensible follows from.
func (p *pass) refuse() error {
	var errs backoff.FieldErrors
	if p.indexed && p.spec.Completions == nil {
		errs = append(errs, backoff.FieldError{Field: "spec.completions", Type: backoff.ErrorTypeRequired, Detail: "an Indexed Job needs it"})
	}
	p.status.validateNumbers(&errs)
	if u := p.status.UncountedTerminatedPods; u != nil {
		succeeded := setOf(u.Succeeded)
		for i, uid := range u.Failed {
			if succeeded[uid] {
				errs = append(errs, backoff.FieldError{Field: fmt.Sprintf("status.uncountedTerminatedPods.failed[%d]", i), Type: backoff.ErrorTypeDuplicate, Value: uid, Detail: "the pod has succeeded, too"})
			}
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
}

// completions is the number of indexes of an Indexed Job.
func (p *pass) completions() int { return max(int(*p.spec.Completions), 0) }

// note records what a lenient reading passed over.
func (p *pass) note(format string, args ...any) {
	p.plan.Notes = append(p.plan.Notes, fmt.Sprintf(format, args...))
}

// requeue asks for another pass after d, unless an earlier one is asked for.
func (p *pass) requeue(d time.Duration, why RequeueReason) {
	if p.plan.RequeueAfter == 0 || d < p.plan.RequeueAfter {
		p.plan.RequeueAfter, p.plan.RequeueReason = d, why
	}
}

// count adds up the pods: those that are new in this pass, and those that
// earlier passes wrote down.
func (p *pass) count() {
	succeeded, failed := 0, 0
	for _, v := range p.pods {
		switch {
		case v.active:
			p.active++
			if v.ready() {
				p.ready++
			}
		case v.terminating:
			p.terminating++
		}
		switch {
		case v.newlySucceeded():
			p.ended++
			succeeded++
		case v.newlyFailed():
			p.ended++
			if p.match(v).Counted() {
				failed++
			}
		}
	}
	p.succeededPods = addCounts(int(p.status.Succeeded), succeeded+len(p.uncounted.succeeded))
	p.failedPods = addCounts(int(p.status.Failed), failed+len(p.uncounted.failed))
	if p.indexed {
		p.succeededPods = p.succeeded.Len()
	}
}

// remember continues the streak of failures that delays the Job, and reports
// every newly finished pod once.
func (p *pass) remember() {
	p.noticeUntracked()
	handled := setOf(p.in.Memory.Handled)
	var succeeded, failed, ignored []time.Time
	p.memory.Handled = nil
	if p.ended > 0 {
		p.memory.Handled = make([]string, 0, p.ended)
		p.plan.Decisions = make([]PodDecision, 0, p.ended)
	}
	for _, v := range p.pods {
		success, failure := v.newlySucceeded(), v.newlyFailed()
		if !success && !failure && !v.untracked {
			continue
		}
		id := v.identity()
		p.memory.Handled = append(p.memory.Handled, id)
		if handled[id] {
			continue
		}
		d := PodDecision{PodRef: v.ref(), Match: noMatch, Untracked: v.untracked}
		if v.failed {
			d.Match = p.match(v)
		}
		p.plan.Decisions = append(p.plan.Decisions, d)
		switch {
		case success:
			succeeded = append(succeeded, v.finish())
		case failure:
			p.countAction(d.Match)
			switch {
			case d.Match.Counted() || p.engine.IgnoredDelay == IgnoredSame:
				failed = append(failed, v.finish())
			case p.engine.IgnoredDelay == IgnoredOwn:
				ignored = append(ignored, v.finish())
			}
		}
	}
	p.memory = p.memory.after(succeeded, failed)
	p.memory.Ignored, p.memory.LastIgnored = streak(p.memory.Ignored, p.memory.LastIgnored, succeeded, ignored)

	// What lies in the future counts as now, once: else it would be now for ever.
	p.memory.LastFailure = earlier(p.memory.LastFailure, p.now)
	p.memory.LastIgnored = earlier(p.memory.LastIgnored, p.now)
	p.memory.Ahead = p.ahead()
}

// ahead returns the kept pods whose end lies in the future, with the time at
// which that was noticed; nil if there are none.
func (p *pass) ahead() map[string]time.Time {
	var ahead map[string]time.Time
	for _, v := range p.kept {
		if end := p.endOf(v); end.Before(v.finish()) {
			if ahead == nil {
				ahead = make(map[string]time.Time)
			}
			ahead[v.identity()] = end
		}
	}
	return ahead
}

func (p *pass) countAction(m Match) {
	if m.Action == "" {
		return
	}
	if p.plan.Counts.Handled == nil {
		p.plan.Counts.Handled = make(map[Action]int)
	}
	p.plan.Counts.Handled[m.Action]++
}
