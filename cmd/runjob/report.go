package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/restartkit/restart/cmd/internal/terminal"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// report prints events, each on a line. On a terminal it prints only unusual events,
// above a progress bar. It is safe for concurrent use by multiple goroutines.
type report struct {
	begun   time.Time
	explain bool
	mu      sync.Mutex
	out     io.Writer
	bar     *bar             // nil without a terminal
	next    *batch.JobStatus // the next status to show in the bar

	failed    int               // failed pods, including those not yet in the status
	counted   int               // failures that count
	toReplace int               // failed pods without a replacement yet
	restarts  map[[2]string]int // by pod and container
}

// newReport returns a report that writes to out, which leads to standard error.
func newReport(job *batch.Job, explain bool, out io.Writer) *report {
	r := &report{begun: time.Now(), explain: explain, out: out, restarts: make(map[[2]string]int)}
	if terminal.Live(os.Stderr) {
		r.bar = newBar(os.Stderr, job.Spec.Completions)
	}
	return r
}

// manifest prints the unused fields and the likely mistakes.
func (r *report) manifest(m *manifest) {
	for _, note := range m.notes() {
		r.event("", "%s", note)
	}
}

// print writes a line, above the progress bar if the report has one.
func (r *report) print(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bar != nil {
		line = slices.Concat([]byte(r.bar.erase()), line, []byte(r.bar.draw()))
	}
	_, _ = r.out.Write(line)
}

// output writes a line of a process, given without its line break.
func (r *report) output(prefix string, line []byte) {
	var b bytes.Buffer
	b.WriteString(prefix)
	b.WriteString(" | ")
	b.Write(line)
	b.WriteByte('\n')
	r.print(b.Bytes())
}

// event writes a line about a pod, or about the Job if pod is empty.
func (r *report) event(pod, format string, args ...any) {
	about := "job"
	if pod != "" {
		about = "pod " + pod
	}
	text := terminal.Escape(about + ": " + fmt.Sprintf(format, args...))
	r.print(fmt.Appendf(nil, "%8.3fs  %s\n", time.Since(r.begun).Seconds(), text))
}

// detail writes an event, unless the report has a progress bar.
func (r *report) detail(pod, format string, args ...any) {
	if r.bar == nil {
		r.event(pod, format, args...)
	}
}

// changes prints the changes of a step.
func (r *report) changes(c changes, spec *batch.JobSpec) {
	for _, p := range c.disrupted { // first, because it can be why a pod has failed
		r.toReplace++
		r.event(p.Name, "is disrupted")
	}
	for _, e := range c.ended {
		r.ended(e, spec)
	}
	for _, p := range c.deleted {
		r.detail(p.Name, "terminating")
	}
	for _, p := range c.over {
		r.event(p.Name, "%s", lastLine(p))
	}
	for _, p := range c.created {
		r.detail(p.Name, "created%s", r.purpose(p))
	}
	for _, condition := range c.conditions {
		r.event("", "%s", describe(condition))
	}
}

// purpose describes a new pod by its index and attempt, or as the replacement of a
// failed one.
func (r *report) purpose(p *pod) string {
	replaces := r.toReplace > 0
	if replaces {
		r.toReplace--
	}
	switch {
	case p.index >= 0 && p.attempt > 1:
		return fmt.Sprintf(" (index %d, attempt %d)", p.index, p.attempt)
	case p.index >= 0:
		return fmt.Sprintf(" (index %d)", p.index)
	case replaces:
		return " (in place of one that failed)"
	}
	return ""
}

// restarting prints the restart-th restart of a container in its pod. Under OnFailure
// it adds the restarts of all running pods, which count toward the Job's limit.
func (r *report) restarting(pod, container string, restart int, e exit, delay time.Duration, spec *batch.JobSpec) {
	r.mu.Lock()
	r.restarts[[2]string{pod, container}] = restart
	failures := 0
	for _, n := range r.restarts {
		failures += n
	}
	r.mu.Unlock()
	text := fmt.Sprintf("%s; restarts in %v", exitText(container, int32(e.Code), int32(e.Signal)), delay.Round(time.Millisecond))
	if spec.Template.Spec.RestartPolicy == batch.RestartPolicyOnFailure {
		text += fmt.Sprintf(": failure %d, limit %d", failures, *spec.BackoffLimit)
	}
	r.event(pod, "%s", text)
}

// ended prints how a pod ended, the consequence, and the wait for its replacement.
func (r *report) ended(e ending, spec *batch.JobSpec) {
	p, d := e.pod, e.decision
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
	if e.wait > 0 && !spec.Suspend {
		next = "; replaced in " + terminal.Wait(e.wait)
	}
	r.event(p.Name, "failed: %s; %s%s", endText(&p.Status), verdict(d, spec, r.counted), next)
	if !r.explain {
		return
	}
	for _, step := range jobpolicy.Explain(spec.PodFailurePolicy, &p.Pod) {
		r.print([]byte("           " + terminal.Escape(step.String()) + "\n"))
	}
}
