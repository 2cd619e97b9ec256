package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/jobrun"
	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/cmd/internal/screen"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// jobReport prints the events, each on a line, and records it. On a terminal it
// prints only unusual events, above a progress bar. It is a jobrun.Observer.
type jobReport struct {
	screen   *screen.Screen
	recorder *recorder // nil records nothing
	begun    time.Time
	explain  bool

	mu        sync.Mutex
	bar       bar
	failed    int               // failed pods, including those not yet in the status
	counted   int               // failures that count
	toReplace int               // failed pods without a replacement yet
	restarts  map[[2]string]int // by pod and container
	spec      *batch.JobSpec
	placeTold bool // that an index keeps its place while it waits
}

func newJobReport(stderr io.Writer, explain bool) *jobReport {
	return &jobReport{
		screen: screen.New(stderr, stderr), begun: time.Now(), explain: explain,
		restarts: make(map[[2]string]int),
	}
}

// begin prints the facts known before the run.
func (r *jobReport) begin(run *jobrun.Run, notes []string) {
	job := run.Job()
	r.counted, r.failed = int(job.Status.Failed), int(job.Status.Failed)
	r.spec, r.bar.total = &job.Spec, job.Spec.Completions
	for _, note := range notes {
		r.event("", "%s", note)
	}
	r.screen.Show(func(width, _ int) []string {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.bar.lines(width)
	})
}

// close removes the bar and waits until everything is printed. After a signal, who reads
// the output has a second for the rest.
func (r *jobReport) close(signals <-chan os.Signal, interrupted bool) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		if !interrupted {
			select {
			case <-signals:
			case <-ctx.Done():
			}
		}
		time.AfterFunc(time.Second, cancel)
	}()
	r.screen.Show(nil)
	return r.screen.Close(ctx)
}

// event prints a line about a pod, or about the Job if pod is empty.
func (r *jobReport) event(pod, format string, args ...any) {
	about := "job"
	if pod != "" {
		about = "pod " + pod
	}
	text := human.Escape(about + ": " + fmt.Sprintf(format, args...))
	r.screen.Say(fmt.Sprintf("%8.3fs  %s", time.Since(r.begun).Seconds(), text))
}

// detail prints an event, unless there is a progress bar.
func (r *jobReport) detail(pod, format string, args ...any) {
	if !r.screen.Live() {
		r.event(pod, format, args...)
	}
}

// Began implements jobrun.Observer, as do the methods below.
func (r *jobReport) Began(at time.Time, resumed bool) error { return r.recorder.begin(at, resumed) }

func (r *jobReport) Decided(c jobrun.Changes) error {
	r.recorder.changes(c)
	return nil
}

func (r *jobReport) Started(pod jobrun.PodID, at time.Time) { r.recorder.started(pod, at) }

func (r *jobReport) Note(pod, text string) { r.event(pod, "%s", text) }

func (r *jobReport) Line(pod jobrun.PodID, container string, line process.Line) {
	source := pod.Name + " " + container
	if line.Progress {
		r.screen.Progress(source, source+" | "+line.Text)
	} else {
		r.screen.Print(source, source+" | "+line.Text)
	}
}

// Restarting prints the restart of a container in its pod. Under OnFailure it adds the
// restarts of all running pods, which count toward the Job's limit.
func (r *jobReport) Restarting(e jobrun.Restart) {
	r.recorder.restarting(e)
	r.mu.Lock()
	r.restarts[[2]string{e.Pod.Name, e.Container}] = e.Number
	failures := 0
	for _, n := range r.restarts {
		failures += n
	}
	r.mu.Unlock()
	what := "restarts"
	if e.All {
		what = "all containers restart"
	}
	text := fmt.Sprintf("%s; %s in %s", exitText(e.Container, e.ExitCode, e.Signal), what, human.Wait(e.Wait))
	if r.spec.Template.Spec.RestartPolicy == batch.RestartPolicyOnFailure {
		text += fmt.Sprintf(": failure %d, limit %d", failures, *r.spec.BackoffLimit)
	}
	r.event(e.Pod.Name, "%s", text)
}

func (r *jobReport) Changed(c jobrun.Changes) {
	for _, e := range c.Ended {
		r.ended(e, c.Spec)
	}
	for _, p := range c.Deleted {
		r.detail(p.Name, "terminating")
	}
	for _, p := range c.Over {
		r.event(p.Name, "%s", lastLine(p))
	}
	for _, p := range c.Created {
		r.detail(p.Name, "created%s", r.purpose(p))
	}
	for _, condition := range c.Conditions {
		r.event("", "%s", describe(condition))
	}
	r.mu.Lock()
	failed, _ := c.Status.FailedIndexSet()
	r.bar.counts = fmt.Sprintf("%d active, %d succeeded, %d failed", c.Status.Active, c.Status.Succeeded, max(r.failed, int(c.Status.Failed)))
	r.bar.done = int(c.Status.Succeeded) + failed.Len()
	r.mu.Unlock()
	r.screen.Redraw()
}

// ended prints how a pod ended, the consequence, and the wait for its replacement.
func (r *jobReport) ended(e jobrun.Ending, spec *batch.JobSpec) {
	p, d := e.Pod, e.Decision
	r.mu.Lock()
	if p.Status.Phase == batch.PodFailed {
		r.failed++
	}
	maps.DeleteFunc(r.restarts, func(at [2]string, _ int) bool { return at[0] == p.Name })
	r.mu.Unlock()
	if p.Status.Phase == batch.PodSucceeded {
		r.detail(p.Name, "succeeded")
		return
	}
	if p.DeletionTimestamp.IsZero() {
		r.toReplace++
	}
	if d.Match.Counted() {
		r.counted++
	}
	next := ""
	if e.Wait > 0 && !spec.Suspend {
		next = "; replaced in " + human.Wait(e.Wait) + r.placeHeld(d.Index, spec)
	}
	r.event(p.Name, "failed: %s; %s%s", endText(&p.Status), verdict(d, spec, r.counted), next)
	if !r.explain {
		return
	}
	for _, step := range jobpolicy.Explain(spec.PodFailurePolicy, &p.Pod) {
		r.screen.Say("           " + human.Escape(step.String()))
	}
}

// placeHeld says once that an index that waits holds a place of parallelism, as it does in
// Kubernetes, if other indexes may have to wait for that.
func (r *jobReport) placeHeld(index int, spec *batch.JobSpec) string {
	if r.placeTold || spec.BackoffLimitPerIndex == nil || *spec.Completions <= *spec.Parallelism {
		return ""
	}
	r.placeTold = true
	return fmt.Sprintf("; until then index %d holds a place of parallelism %d", index, *spec.Parallelism)
}

// purpose describes a new pod by its index and attempt, or as the replacement of a
// failed one.
func (r *jobReport) purpose(p *jobrun.Pod) string {
	replaces := r.toReplace > 0
	if replaces {
		r.toReplace--
	}
	switch {
	case p.Index >= 0 && p.Attempt > 1:
		return fmt.Sprintf(" (index %d, attempt %d)", p.Index, p.Attempt)
	case p.Index >= 0:
		return fmt.Sprintf(" (index %d)", p.Index)
	case replaces:
		return " (in place of one that failed)"
	}
	return ""
}

// lastLine describes the end of a deleted pod on which the Engine decides nothing.
func lastLine(p *jobrun.Pod) string {
	s := &p.Status
	if s.Reason == "Deleted" {
		return "ended before a process was started"
	}
	killed := false
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		if t := c.State.Terminated; t != nil && t.Signal == int32(syscall.SIGKILL) {
			killed = true
		}
	}
	switch {
	case killed && p.GraceOver():
		return fmt.Sprintf("ended: %s, after the grace period of %s", endText(s), human.Duration(p.Grace()))
	case s.Phase == batch.PodSucceeded:
		return "ended: succeeded"
	}
	return "ended: " + endText(s)
}

// endText lists the failures of a pod's containers.
func endText(s *batch.PodStatus) string {
	if s.Reason != "" {
		return s.Reason
	}
	var parts []string
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			parts = append(parts, exitText(c.Name, t.ExitCode, t.Signal))
		}
	}
	switch {
	case s.Phase != batch.PodFailed:
		parts = append(parts, "it is being deleted")
	case len(parts) == 0:
		parts = append(parts, "not all containers have run")
	}
	return strings.Join(parts, ", ")
}

// exitText describes the exit of a container.
func exitText(container string, code, signal int32) string {
	if signal != 0 {
		return fmt.Sprintf("container %s was killed by signal %d (exit code %d)", container, signal, code)
	}
	return fmt.Sprintf("container %s ended with exit code %d", container, code)
}

// verdict describes the consequence of a failure. counted is the number of the Job's
// counted failures, including this one.
func verdict(d jobpolicy.PodDecision, spec *batch.JobSpec, counted int) string {
	match, by := d.Match, "no rule matched"
	switch {
	case spec.PodFailurePolicy == nil:
		by = "no failure policy"
	case match.Rule >= 0:
		by = fmt.Sprintf("rule %d (%s)", match.Rule, match.Action)
	}
	switch limit := spec.BackoffLimitPerIndex; {
	case !match.Counted():
		return by + ": not counted"
	case match.Action == batch.ActionFailJob:
		return by + ": counted"
	case limit == nil:
		return fmt.Sprintf("%s: counted: failure %d, limit %d", by, counted, *spec.BackoffLimit)
	default:
		text := fmt.Sprintf("%s: failure %d of index %d, limit %d", by, d.Failures, d.Index, *limit)
		if d.IndexFailed {
			text += ": the index has failed"
		}
		return text
	}
}

// bar is the progress bar of a Job.
type bar struct {
	total  *int32 // completions; nil if any success completes the Job
	done   int
	counts string // empty before the first step
}

const (
	shortestBar = 4   // columns up to which the bar itself is left out
	longestBar  = 100 // one column for each percent
)

// lines formats the bar in at most width columns.
func (b *bar) lines(width int) []string {
	if b.counts == "" {
		return nil
	}
	if b.total == nil {
		return []string{screen.Shorten(b.counts, width)}
	}
	total := int(*b.total)
	done := min(b.done, total)
	percent := 100
	if total > 0 {
		percent = 100 * done / total
	}
	before, after := fmt.Sprintf("%s %3d%% |", b.counts, percent), fmt.Sprintf("| (%d/%d)", done, total)
	room := width - screen.Width(before) - screen.Width(after)
	if room <= shortestBar {
		return []string{screen.Shorten(fmt.Sprintf("(%d/%d) %s", done, total, b.counts), width)}
	}
	room = min(room, longestBar)
	full := room * percent / 100
	return []string{before + strings.Repeat("█", full) + strings.Repeat(" ", room-full) + after}
}

// writeStatus writes the Job's status as YAML like kubectl, with times in whole
// seconds. The last line is a comment with the decision that ended the Job, on a
// terminal in green or red. If the Job has not finished, it is yellow.
func writeStatus(w io.Writer, job *batch.Job) error {
	seconds := func(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
	status := job.Status
	status.StartTime = seconds(status.StartTime)
	status.CompletionTime = seconds(status.CompletionTime)
	status.Conditions = slices.Clone(status.Conditions)
	for i := range status.Conditions {
		c := &status.Conditions[i]
		c.LastProbeTime, c.LastTransitionTime = seconds(c.LastProbeTime), seconds(c.LastTransitionTime)
	}
	text, err := json.Marshal(struct {
		Status batch.JobStatus `json:"status"`
	}{status})
	if err == nil {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		return err
	}
	decision, colour := "# not finished", screen.Yellow
	if c, ok := job.Status.Finished(); ok {
		decision, colour = "# "+human.Escape(describe(c)), screen.Red
		if c.Type == batch.JobComplete {
			colour = screen.Green
		}
	}
	_, err = fmt.Fprintf(w, "%s%s\n", text, screen.StyleOf(fileOf(w)).Paint(colour, decision))
	return err
}

// describe returns a condition as one line.
func describe(c batch.JobCondition) string {
	text := string(c.Type)
	if c.Status != batch.ConditionTrue {
		text += "=" + string(c.Status)
	}
	return fmt.Sprintf("%s (%s): %s", text, c.Reason, c.Message)
}
