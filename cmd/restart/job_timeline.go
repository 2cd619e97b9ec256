package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/jobrun"
	"github.com/restartkit/restart/cmd/internal/picture"
	"github.com/restartkit/restart/cmd/internal/timeline"
	"github.com/restartkit/restart/jobpolicy/batch"
)

func timelineCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:                   "timeline EVENTS -o FILE",
		DisableFlagsInUseLine: true,
		Short:                 "Draw a run from its file of --events",
		Long: `timeline draws a run from its file of --events, even if the run still goes on or
was cut off. Each index is a row, and each attempt a bar. Above 200 indexes, those
that failed or have the most attempts come first, up to 120 of them with a row
each; the others form groups.

EVENTS has one JSON object per line, whose "event" is began, resumed or ended (the
run), created, started, succeeded, failed, deleted or terminated (a pod),
restarted (a container in its pod), indexFailed, or condition (of the Job). Its
other fields are left out where they do not apply:
  time                             RFC 3339
  job, pod, uid, index, attempt    what it is about; attempt counts from 1
  container, exitCode, signal      the one that the failure policy looked at
  condition, status, reason, message
  rule, action, counted            of the pod failure policy; rules from 0
  wait, why                        the delay before what follows, such as 1m30s
After a SIGKILL the last lines may appear twice, with equal uid and event.`,
		Annotations: map[string]string{exitCodes: `  0  fine
  2  a flag or the file of events is wrong
  3  the picture could not be written`},
		Example: `  restart job timeline run.events -o run.svg`,
		RunE: func(c *cobra.Command, args []string) error {
			return drawEvents(args, out, c.ErrOrStderr())
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "`file` to draw: .svg, or .html, which zooms and shows more")
	return c
}

// drawEvents draws a file of events.
func drawEvents(args []string, out string, stderr io.Writer) error {
	switch {
	case len(args) != 1:
		return usageError("name one file of events")
	case out == "":
		return usageError("-o is needed: a file that ends in .svg or .html")
	case samePath(args[0], out):
		return usageError("-o: %s is the file of events", human.Escape(out))
	}
	if err := checkPicture("output", out, ".svg", ".html"); err != nil {
		return err
	}
	events, torn, err := readEvents(args[0])
	switch {
	case err != nil:
		return usageError("%s", human.Escape(err.Error()))
	case len(events) == 0:
		return usageError("%s: no events", human.Escape(args[0]))
	case torn:
		fmt.Fprintln(stderr, "the last line is incomplete and left out")
	}
	path, err := writeChart(out, timeline.Layout(events))
	if err != nil {
		return &exitError{code: exitUnwritten, err: err}
	}
	fmt.Fprintf(stderr, "wrote %s\n", human.Escape(path))
	return nil
}

func readEvents(path string) (events []timeline.Event, torn bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	if events, torn, err = timeline.Read(file); err != nil {
		return nil, false, fmt.Errorf("%s: %w", path, err)
	}
	return events, torn, nil
}

// checkPicture returns an error if the picture of a flag cannot be written to path, with
// one of these endings, as far as this can be known in advance.
func checkPicture(flag, path string, endings ...string) error {
	if _, err := picture.Ending(path, endings...); err != nil {
		return usageError("--%s %s: %w", flag, human.Escape(path), err)
	}
	if err := writable(path); err != nil {
		return usageError("--%s: %w", flag, err)
	}
	return nil
}

// writable returns an error if a file cannot be written. It does not change the file.
func writable(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		return errors.Join(file.Close(), os.Remove(path))
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if file, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err != nil {
		return err
	}
	return file.Close()
}

// writeChart draws a chart in the format of path's extension and returns the full path.
func writeChart(path string, chart *timeline.Chart) (string, error) {
	ending, err := picture.Ending(path, ".svg", ".html")
	if err != nil {
		return "", err
	}
	if ending == ".svg" {
		return picture.Write(path, chart.SVG())
	}
	return picture.Write(path, chart.HTML())
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

// recorder writes the events of --events and keeps them for --timeline. A nil recorder
// does neither. It is safe for concurrent use by multiple goroutines.
//
// A decision is recorded before it is saved. If the run is killed in between, the file
// may have the decision twice, but never lacks it.
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

// openRecorder opens the file of --events. It appends if the run resumes, and empties the
// file otherwise.
func openRecorder(f *jobFlags, manifest, job string, resumed bool) (*recorder, error) {
	r := &recorder{job: job, keep: f.timeline != "" && f.events == ""}
	if f.events == "" {
		if !r.keep {
			return nil, nil
		}
		return r, nil
	}
	if info, err := os.Stat(f.events); err == nil && !info.Mode().IsRegular() {
		return nil, usageError("--events: %s is not a regular file; its reader could hold up the run", human.Escape(f.events))
	}
	if err := f.checkEvents(manifest); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(f.events, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, usageError("--events: %w", err)
	}
	if err = holdsEvents(file); err == nil && !resumed {
		err = file.Truncate(0)
	}
	if err == nil {
		err = endLine(file)
	}
	if err != nil {
		file.Close()
		return nil, usageError("--events: %w", err)
	}
	r.file = file
	return r, nil
}

// checkEvents returns an error if the run uses the file of --events for something else.
func (f *jobFlags) checkEvents(manifest string) error {
	events := human.Escape(f.events)
	if manifest != "-" && samePath(f.events, manifest) {
		return usageError("--events: %s is the manifest", events)
	}
	for _, name := range f.envFiles {
		if samePath(f.events, name) {
			return usageError("--events: %s is the file of --env-file", events)
		}
	}
	if f.timeline != "" && samePath(f.events, f.timeline) {
		return usageError("--events: %s is the file of --timeline", events)
	}
	return nil
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
	err := fmt.Errorf("--events: %w; nothing was started", r.err)
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
		return fmt.Errorf("--events: %w", r.err)
	}
	return nil
}

// record ends the record of a run and draws its timeline.
func (r *jobReport) record(f *jobFlags, run *jobrun.Run) error {
	reason := ""
	if run.Interrupted() {
		reason = "Interrupted"
	}
	if err := r.recorder.end(time.Now(), reason); err != nil {
		return err
	}
	return r.recorder.draw(f, func(format string, args ...any) { r.event("", format, args...) })
}

// draw writes the picture of --timeline and says where it is.
func (r *recorder) draw(f *jobFlags, say func(format string, args ...any)) error {
	if f.timeline == "" || !r.begun {
		return nil
	}
	events := r.kept
	if f.events != "" {
		var err error
		if events, _, err = readEvents(f.events); err != nil {
			return fmt.Errorf("--timeline: %w", err)
		}
	}
	if r.dropped {
		say("the timeline ends after %d events", len(events))
	}
	whole, err := writeChart(f.timeline, timeline.Layout(events))
	if err != nil {
		return fmt.Errorf("--timeline: %w", err)
	}
	say("wrote %s", whole)
	return nil
}

// about returns an event about a pod.
func about(p jobrun.PodID, kind timeline.Kind, at time.Time) timeline.Event {
	e := timeline.Event{Time: at, Kind: kind, Pod: p.Name, UID: p.UID, Attempt: p.Attempt}
	if p.Index >= 0 {
		index := p.Index
		e.Index = &index
	}
	return e
}

// started records the first process of a pod.
func (r *recorder) started(p jobrun.PodID, at time.Time) { r.add(about(p, timeline.Started, at)) }

// restarting records that a container restarts in its pod.
func (r *recorder) restarting(e jobrun.Restart) {
	event := about(e.Pod, timeline.Restarted, e.At)
	code := e.ExitCode
	event.Container, event.ExitCode, event.Signal = e.Container, &code, e.Signal
	event.Wait, event.Why = timeline.Duration(e.Wait), fmt.Sprintf("restart %d of the container", e.Number)
	if e.All {
		event.Why = "restart of all containers"
	}
	r.add(event)
}

// changes records the changes of a step.
func (r *recorder) changes(c jobrun.Changes) {
	if r == nil {
		return
	}
	var events []timeline.Event
	for _, e := range c.Ended {
		events = append(events, endingEvents(e, c)...)
	}
	for _, p := range c.Deleted {
		events = append(events, about(p.ID(), timeline.Deleted, c.At))
	}
	for _, p := range c.Over {
		event := about(p.ID(), timeline.Terminated, p.FinishTime())
		setExit(&event, &p.Status, "")
		events = append(events, event)
	}
	for _, p := range c.Created {
		events = append(events, about(p.ID(), timeline.Created, c.At))
	}
	for _, condition := range c.Conditions {
		events = append(events, timeline.Event{Time: condition.LastTransitionTime, Kind: timeline.Condition,
			Condition: string(condition.Type), Status: string(condition.Status), Reason: string(condition.Reason), Message: condition.Message})
	}
	r.add(events...)
}

// endingEvents returns the end of a pod, and of its index if both end.
func endingEvents(e jobrun.Ending, c jobrun.Changes) []timeline.Event {
	p, d := e.Pod, e.Decision
	at := d.Finished
	if at.IsZero() || at.After(c.At) {
		at = c.At
	}
	if p.Status.Phase == batch.PodSucceeded {
		return []timeline.Event{about(p.ID(), timeline.Succeeded, at)}
	}
	event := about(p.ID(), timeline.Failed, at)
	setExit(&event, &p.Status, d.Match.Container)
	counted := d.Match.Counted()
	event.Counted, event.Action = &counted, string(d.Match.Action)
	if d.Match.Rule >= 0 {
		event.Rule, event.RuleName = &d.Match.Rule, c.Spec.PodFailurePolicy.Rules[d.Match.Rule].Name
	}
	event.Wait, event.Why = timeline.Duration(e.Wait), e.Why
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
