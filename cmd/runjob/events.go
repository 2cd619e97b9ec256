package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/restartkit/restart/cmd/internal/timeline"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// recorder writes the events of -events and keeps them for -timeline. A nil recorder
// does neither. It is safe for concurrent use by multiple goroutines.
//
// The runner records a decision before saving it. If the run is killed in between, the
// file may have the decision twice, but never lacks it.
type recorder struct {
	mu      sync.Mutex
	job     string
	file    *os.File         // nil if not requested or not writable
	err     error            // the first of file
	keep    bool             // for a picture
	kept    []timeline.Event // if no file holds the events
	dropped bool             // more events than a picture can show
	begun   bool             // end needs a begin
}

// newRecorder opens the file of -events. It appends if the run resumes, and empties the
// file otherwise.
func newRecorder(o *options, job string, resumed bool) (*recorder, error) {
	r := &recorder{job: job, keep: o.timeline != "" && o.events == ""}
	if o.events == "" {
		if !r.keep {
			return nil, nil
		}
		return r, nil
	}
	if info, err := os.Stat(o.events); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("-events: %s is not a regular file; its reader could hold up the run", o.events)
	}
	if err := o.checkEvents(); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(o.events, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("-events: %w", err)
	}
	if err = holdsEvents(file); err == nil && !resumed {
		err = file.Truncate(0)
	}
	if err == nil {
		err = endLine(file)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("-events: %w", err)
	}
	r.file = file
	return r, nil
}

// checkEvents returns an error if the run uses the file of -events for something else.
func (o *options) checkEvents() error {
	if o.manifest != "-" && samePath(o.events, o.manifest) {
		return fmt.Errorf("-events: %s is the manifest", o.events)
	}
	for _, name := range o.reading.envFiles.names {
		if samePath(o.events, name) {
			return fmt.Errorf("-events: %s is the file of -env-file", o.events)
		}
	}
	if o.timeline != "" && samePath(o.events, o.timeline) {
		return fmt.Errorf("-events: %s is the file of -timeline", o.events)
	}
	return nil
}

// samePath reports whether two paths name the same file, which need not exist.
func samePath(a, b string) bool {
	one, errA := os.Stat(a)
	other, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(one, other)
	}
	a, errA = filepath.Abs(a)
	b, errB = filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}

// holdsEvents returns an error unless the file is empty or begins with an event,
// possibly a torn one. It protects a file named by mistake.
func holdsEvents(file *os.File) error {
	line, err := bufio.NewReader(io.NewSectionReader(file, 0, timeline.MaxLine)).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(line) == 0 || bytes.HasPrefix(line, []byte(`{"time":`)) {
		return nil
	}
	if events, _, err := timeline.Read(bytes.NewReader(line)); err != nil || len(events) == 0 {
		return fmt.Errorf("%s is not a file of events, and is kept as it is", file.Name())
	}
	return nil
}

// endLine ends the last line of a file, which a killed run may have torn off.
func endLine(file *os.File) error {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return err
	}
	var last [1]byte
	if _, err := file.ReadAt(last[:], size-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err = file.Write([]byte{'\n'})
	return err
}

// add records events. The Job goes on after a write error, which end returns.
func (r *recorder) add(events ...timeline.Event) {
	if r == nil || len(events) == 0 {
		return
	}
	for i := range events {
		events[i].Job = r.job
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil && r.err == nil {
		r.err = timeline.Write(r.file, events...)
	}
	switch {
	case !r.keep:
	case len(r.kept)+len(events) > timeline.MaxEvents:
		r.dropped = true
	default:
		r.kept = append(r.kept, events...)
	}
}

// begin records the beginning of a run. If the file cannot be written, it returns the
// error and records no more. Nothing has started by then.
func (r *recorder) begin(at time.Time, resumed bool) error {
	if r == nil {
		return nil
	}
	kind := timeline.Began
	if resumed {
		kind = timeline.Resumed
	}
	r.begun = true
	r.add(timeline.Event{Time: at, Kind: kind})
	if r.err == nil {
		return nil
	}
	err := fmt.Errorf("-events: %w; nothing was started", r.err)
	r.file.Close()
	r.file, r.err, r.begun = nil, nil, false
	return err
}

// end records the end of a run that has begun. It returns the first error of writing
// the file.
func (r *recorder) end(at time.Time, reason string) error {
	if r == nil {
		return nil
	}
	if r.begun { // else the file may end in a torn line, unreadable with another behind it
		r.add(timeline.Event{Time: at, Kind: timeline.Ended, Reason: reason})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		r.err = errors.Join(r.err, r.file.Close())
		r.file = nil
	}
	if r.err != nil {
		return fmt.Errorf("-events: %w", r.err)
	}
	return nil
}

// about returns an event about the pod.
func (p *podRun) about(kind timeline.Kind, at time.Time) timeline.Event {
	e := timeline.Event{Time: at, Kind: kind, Pod: p.pod.Name, UID: p.pod.UID, Attempt: p.attempt}
	if p.index >= 0 {
		index := p.index
		e.Index = &index
	}
	return e
}

// started records the first process of a pod.
func (r *recorder) started(p *podRun, at time.Time) { r.add(p.about(timeline.Started, at)) }

// restarting records that a container restarts in its pod.
func (r *recorder) restarting(p *podRun, container string, restart int, e exit, wait time.Duration) {
	event := p.about(timeline.Restarted, e.At)
	code := int32(e.Code)
	event.Container, event.ExitCode, event.Signal = container, &code, int32(e.Signal)
	event.Wait, event.Why = timeline.Duration(wait), fmt.Sprintf("restart %d of the container", restart)
	r.add(event)
}

// changes records the changes of a step.
func (r *recorder) changes(c changes, spec *batch.JobSpec, now time.Time) {
	if r == nil {
		return
	}
	var events []timeline.Event
	for _, e := range c.ended {
		events = append(events, e.events(spec, now)...)
	}
	for _, p := range c.deleted {
		event := p.run.about(timeline.Deleted, now)
		if slices.Contains(c.disrupted, p) {
			event.Reason = string(batch.DisruptionTarget)
		}
		events = append(events, event)
	}
	for _, p := range c.over {
		event := p.run.about(timeline.Terminated, p.FinishTime())
		setExit(&event, &p.Status, "")
		events = append(events, event)
	}
	for _, p := range c.created {
		events = append(events, p.run.about(timeline.Created, now))
	}
	for _, condition := range c.conditions {
		events = append(events, timeline.Event{Time: condition.LastTransitionTime, Kind: timeline.Condition,
			Condition: string(condition.Type), Status: string(condition.Status), Reason: string(condition.Reason), Message: condition.Message})
	}
	r.add(events...)
}

// events returns the end of a pod, and of its index if both end.
func (e *ending) events(spec *batch.JobSpec, now time.Time) []timeline.Event {
	p, d := e.pod, e.decision
	at := d.Finished
	if at.IsZero() || at.After(now) {
		at = now
	}
	if p.Status.Phase == batch.PodSucceeded {
		return []timeline.Event{p.run.about(timeline.Succeeded, at)}
	}
	event := p.run.about(timeline.Failed, at)
	setExit(&event, &p.Status, d.Match.Container)
	counted := d.Match.Counted()
	event.Counted, event.Action = &counted, string(d.Match.Action)
	if d.Match.Rule >= 0 {
		event.Rule, event.RuleName = &d.Match.Rule, spec.PodFailurePolicy.Rules[d.Match.Rule].Name
	}
	event.Wait, event.Why = timeline.Duration(e.wait), e.why
	if !d.IndexFailed {
		return []timeline.Event{event}
	}
	index := d.Index
	return []timeline.Event{event, {Time: at, Kind: timeline.IndexFailed, Index: &index}}
}

// setExit describes how a pod failed by the container that the failure policy matched,
// else by the first one that failed.
func setExit(e *timeline.Event, s *batch.PodStatus, matched string) {
	e.Reason = s.Reason
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		t := c.State.Terminated
		if t == nil || t.ExitCode == 0 || matched != "" && c.Name != matched {
			continue
		}
		code := t.ExitCode
		e.Container, e.ExitCode, e.Signal, e.Message = c.Name, &code, t.Signal, t.Message
		return
	}
}

// replaced returns the wait between the end of a failed pod and its replacement, and
// the reason. The wait is 0 if the pod is not replaced.
func (r *runner) replaced(p *pod, d jobpolicy.PodDecision) (wait time.Duration, why string) {
	over := slices.ContainsFunc(r.job.Status.Conditions, func(c batch.JobCondition) bool {
		return c.Type != batch.JobSuspended && c.Status == batch.ConditionTrue
	})
	if p.Status.Phase == batch.PodSucceeded || over || d.IndexFailed {
		return 0, ""
	}
	if r.job.Spec.BackoffLimitPerIndex == nil {
		n := r.memory.Failures
		return r.engine.Remaining(n, 0), fmt.Sprintf("failure %d in a row of the Job", n)
	}
	failures, ignored := p.FailureCounts()
	n := failures + ignored + 1
	return r.engine.Remaining(n, 0), fmt.Sprintf("failure %d of index %d", n, d.Index)
}

// recorded ends the record of the run and draws its timeline.
func (r *runner) recorded(o *options) error {
	reason := ""
	if r.interrupted {
		reason = "Interrupted"
	}
	if err := r.events.end(time.Now(), reason); err != nil {
		return err
	}
	return r.events.draw(o, func(format string, args ...any) { r.report.event("", format, args...) })
}
