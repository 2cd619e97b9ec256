package page

import (
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/timeline"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// recorder records a simulation as events for the timeline and as steps for people. A
// step has everything that happens at one time.
type recorder struct {
	begin   time.Time
	job     string
	spec    *batch.JobSpec
	counted int // failures of a Job without limits per index
	events  []timeline.Event
	notes   []string
	steps   []step
	lines   []string // of the step in progress
	more    int      // lines beyond mostStepLines
}

// step describes one time of the simulation, with the status after it.
type step struct {
	at     time.Duration
	lines  []string
	status batch.JobStatus
}

// mostStepLines limits a step to a readable number of lines.
const mostStepLines = 40

func (r *recorder) line(format string, args ...any) {
	if len(r.lines) == mostStepLines {
		r.more++
		return
	}
	r.lines = append(r.lines, clean(fmt.Sprintf(format, args...)))
}

// close ends the step in progress, unless it is empty.
func (r *recorder) close(now time.Time, status batch.JobStatus) {
	if len(r.lines) == 0 {
		return
	}
	if r.more > 0 {
		r.lines = append(r.lines, fmt.Sprintf("and %d more", r.more))
	}
	r.steps = append(r.steps, step{now.Sub(r.begin), r.lines, status})
	r.lines, r.more = nil, 0
}

// note keeps each note of the Engine once.
func (r *recorder) note(text string) {
	if text = clean(text); len(r.notes) < 20 && !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

func (r *recorder) add(now time.Time, kind timeline.Kind, p *pod) *timeline.Event {
	e := timeline.Event{Time: now, Kind: kind, Job: r.job}
	if p != nil {
		e.Pod, e.UID, e.Attempt = p.name, p.uid, p.attempt
		if p.index >= 0 {
			e.Index = &p.index
		}
	}
	r.events = append(r.events, e)
	return &r.events[len(r.events)-1]
}

func (r *recorder) began(now time.Time) { r.add(now, timeline.Began, nil) }

func (r *recorder) created(now time.Time, p *pod) {
	r.add(now, timeline.Created, p)
	switch {
	case p.index < 0:
		r.line("pod %s is created", p.name)
	case p.attempt == 1:
		r.line("pod %s is created for index %d", p.name, p.index)
	default:
		r.line("pod %s is created for index %d, attempt %d", p.name, p.index, p.attempt)
	}
}

func (r *recorder) started(now time.Time, p *pod) {
	r.add(now, timeline.Started, p)
	r.line("pod %s starts", p.name)
}

func (r *recorder) deleted(now time.Time, p *pod) {
	r.add(now, timeline.Deleted, p)
	r.line("pod %s is deleted", p.name)
}

func (r *recorder) terminated(now time.Time, p *pod) {
	r.add(now, timeline.Terminated, p)
	r.line("pod %s ends without effect on the Job", p.name)
}

func (r *recorder) succeeded(now time.Time, p *pod) {
	r.add(now, timeline.Succeeded, p)
	r.line("pod %s succeeds", p.name)
}

func (r *recorder) restarted(now time.Time, p *pod, action backoff.Action, delay time.Duration) {
	e := r.add(now, timeline.Restarted, p)
	e.Container, e.ExitCode, e.Wait, e.Why = p.at.container, &p.at.code, timeline.Duration(delay), "crash loop back-off"
	what := "and restarts"
	if action == backoff.ActionRestartAll {
		e.Why, what = "all containers restart", "and all containers restart"
	}
	r.line("pod %s: container %s ends with exit code %d, %s in %s", p.name, p.at.container, p.at.code, what, human.Wait(delay))
}

// conditions records the new conditions.
func (r *recorder) conditions(now time.Time, before, after []batch.JobCondition) {
	for _, c := range after {
		if slices.Contains(before, c) {
			continue
		}
		e := r.add(now, timeline.Condition, nil)
		e.Condition, e.Status, e.Reason, e.Message = string(c.Type), string(c.Status), string(c.Reason), c.Message
		text := string(c.Type)
		if c.Status != batch.ConditionTrue {
			text += "=" + string(c.Status)
		}
		r.line("the Job is %s (%s): %s", text, c.Reason, c.Message)
	}
}

// failed records a failure. wait is the delay before the replacement, if any.
func (r *recorder) failed(now time.Time, p *pod, d jobpolicy.PodDecision, wait time.Duration) {
	e := r.add(now, timeline.Failed, p)
	counted, code := d.Match.Counted(), p.at.code
	if p.deleted {
		code = 143
	}
	e.Container, e.ExitCode, e.Counted = p.at.container, &code, &counted
	if d.Match.Rule >= 0 {
		rule := d.Match.Rule
		e.Rule, e.Action = &rule, string(d.Match.Action)
	}
	next := ", the replacement starts after " + human.Wait(wait)
	if d.IndexFailed || d.Match.Action == batch.ActionFailJob || p.deleted {
		wait, next = 0, ""
	}
	e.Wait, e.Why = timeline.Duration(wait), "back-off"
	how := fmt.Sprintf("container %s ends with exit code %d", p.at.container, code)
	if p.at.drain {
		how = "its node is drained (DisruptionTarget)"
	}
	r.line("pod %s fails: %s; %s: %s%s", p.name, how, decides(r.spec.PodFailurePolicy, d.Match), r.counts(d), next)
	if d.IndexFailed {
		r.add(now, timeline.IndexFailed, p)
	}
}

// counts describes the counters of a failure.
func (r *recorder) counts(d jobpolicy.PodDecision) string {
	switch limit := r.spec.BackoffLimitPerIndex; {
	case !d.Match.Counted():
		return "not counted"
	case limit == nil:
		return fmt.Sprintf("failure %d of the Job, limit %d", r.counted, *r.spec.BackoffLimit)
	case d.IndexFailed:
		return fmt.Sprintf("failure %d of index %d, limit %d: the index has failed", d.Failures, d.Index, *limit)
	default:
		return fmt.Sprintf("failure %d of index %d, limit %d", d.Failures, d.Index, *limit)
	}
}
