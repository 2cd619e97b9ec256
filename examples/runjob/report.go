package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/restartkit/restart/examples/internal/terminal"
	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/schollz/progressbar/v3"
)

// report tells a person what happens: a line for every event or, on a terminal,
// a progress bar and a line for everything that is not as it should be. It is
// safe for concurrent use by multiple goroutines.
type report struct {
	begun   time.Time
	explain bool
	mu      sync.Mutex
	out     io.Writer
	bar     *progressbar.ProgressBar // nil: no terminal
	next    *jobpolicy.JobStatus     // to be drawn
}

func newReport(job *jobpolicy.Job, explain bool) *report {
	r := &report{begun: time.Now(), explain: explain, out: os.Stderr}
	if terminal.Live(os.Stderr) {
		total := -1 // one success is enough, nobody knows when
		if job.Spec.Completions != nil {
			total = int(*job.Spec.Completions)
		}
		r.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(os.Stderr),
			progressbar.OptionFullWidth(),
			progressbar.OptionShowCount(),
			progressbar.OptionClearOnFinish(),
		)
	}
	return r
}

// manifest tells what in a Job is not used, and what is surely not meant.
func (r *report) manifest(m *manifest) {
	if len(m.ignored) > 0 {
		r.event("", "not used here: %s", summary(m.ignored))
	}
	for _, finding := range m.job.Spec.Lint() {
		r.event("", "%v", finding)
	}
}

// print writes a line, above the progress bar if there is one.
func (r *report) print(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bar != nil {
		_ = r.bar.Clear()
	}
	_, _ = r.out.Write(line)
	if r.bar != nil {
		_ = r.bar.RenderBlank()
	}
}

// output writes a line of a process.
func (r *report) output(prefix string, line []byte) {
	var b bytes.Buffer
	b.WriteString(prefix)
	b.WriteString(" | ")
	b.Write(bytes.TrimRight(line, "\r\n"))
	b.WriteByte('\n')
	r.print(b.Bytes())
}

// event writes a line about a pod, or about the Job if that is "".
func (r *report) event(pod, format string, args ...any) {
	about := "job"
	if pod != "" {
		about = "pod " + pod
	}
	r.print(fmt.Appendf(nil, "%8.3fs  %s: %s\n", time.Since(r.begun).Seconds(), about, fmt.Sprintf(format, args...)))
}

// detail writes an event that the progress bar is enough for.
func (r *report) detail(pod, format string, args ...any) {
	if r.bar == nil {
		r.event(pod, format, args...)
	}
}

// changes tells what a step has changed.
func (r *report) changes(c changes, spec *jobpolicy.JobSpec) {
	for _, e := range c.ended {
		r.ended(e.pod, e.match, spec)
	}
	for _, p := range c.disrupted {
		r.event(p.Name, "is disrupted")
	}
	for _, p := range c.deleted {
		r.detail(p.Name, "terminating")
	}
	for _, p := range c.created {
		r.detail(p.Name, "created (%sattempt %d)", indexPrefix(p.index), p.attempt)
	}
	for _, condition := range c.conditions {
		r.event("", "%s", describe(condition))
	}
}

// ended tells how a pod ended and what follows from it.
func (r *report) ended(p *pod, match jobpolicy.Match, spec *jobpolicy.JobSpec) {
	if p.Status.Phase == jobpolicy.PodSucceeded {
		r.detail(p.Name, "succeeded")
		return
	}
	r.event(p.Name, "%s; %s", howEnded(&p.Status), verdict(p, match, spec))
	if !r.explain {
		return
	}
	if spec.PodFailurePolicy == nil {
		r.print([]byte("           no podFailurePolicy: every failure counts\n"))
	}
	for _, step := range spec.PodFailurePolicy.Explain(&p.Pod) {
		r.print([]byte("           " + step.String() + "\n"))
	}
}

// howEnded says what of a pod failed.
func howEnded(s *jobpolicy.PodStatus) string {
	if s.Reason != "" {
		return "failed: " + s.Reason
	}
	var parts []string
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		switch t := c.State.Terminated; {
		case t == nil || t.ExitCode == 0:
		case t.Signal != 0:
			parts = append(parts, fmt.Sprintf("container %s was killed by signal %d (exit code %d)", c.Name, t.Signal, t.ExitCode))
		default:
			parts = append(parts, fmt.Sprintf("container %s ended with exit code %d", c.Name, t.ExitCode))
		}
	}
	if s.Phase != jobpolicy.PodFailed {
		parts = append(parts, "it is being deleted")
	}
	return "failed: " + strings.Join(parts, ", ")
}

// verdict says what follows from a failure.
func verdict(p *pod, match jobpolicy.Match, spec *jobpolicy.JobSpec) string {
	by := "no rule matched"
	switch {
	case spec.PodFailurePolicy == nil:
		by = "no failure policy"
	case match.Rule >= 0:
		by = fmt.Sprintf("rule %d (%s)", match.Rule, match.Action)
	}
	switch limit := spec.BackoffLimitPerIndex; {
	case !match.Counted():
		return by + ": not counted"
	case limit == nil || match.Action == jobpolicy.PodFailurePolicyActionFailJob:
		return by + ": counted"
	default:
		failures := p.failures()
		text := fmt.Sprintf("%s: failure %d of index %d, limit %d", by, failures+1, p.index, *limit)
		if jobpolicy.IndexFailed(match, failures, limit) {
			text += ": the index has failed"
		}
		return text
	}
}

// barDelay gathers changes of the bar.
const barDelay = 50 * time.Millisecond

// progress brings the bar up to date soon.
func (r *report) progress(s jobpolicy.JobStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bar != nil && r.next == nil {
		time.AfterFunc(barDelay, r.draw)
	}
	r.next = &s
}

// draw brings the bar up to date.
func (r *report) draw() {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.next
	r.next = nil
	if r.bar == nil {
		return
	}
	done := int(s.Succeeded)
	if s.FailedIndexes != nil {
		if failed, err := indexset.Parse(*s.FailedIndexes); err == nil {
			done += failed.Len()
		}
	}
	r.bar.Describe(fmt.Sprintf("%d active, %d succeeded, %d failed", s.Active, s.Succeeded, s.Failed))
	_ = r.bar.Set(done)
}

// finish takes the bar away.
func (r *report) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bar != nil {
		_ = r.bar.Clear()
		r.bar = nil
	}
}

func indexPrefix(index int) string {
	if index < 0 {
		return ""
	}
	return fmt.Sprintf("index %d, ", index)
}
