package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/restartkit/restart/examples/internal/terminal"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/lint"
)

// dryRun returns the notes and the worst case of a valid Job.
func dryRun(engine jobpolicy.Engine, m *manifest) (string, error) {
	bound, err := lint.WorstCase(engine, &m.Job.Spec)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	line := func(format string, args ...any) { b.WriteString(terminal.Escape(fmt.Sprintf(format, args...)) + "\n") }
	line("job %s/%s is valid", m.Job.Namespace, m.Job.Name)
	for _, note := range m.notes() {
		line("%s", note)
	}
	for _, reason := range m.missing() {
		line("its pods would wait: CreateContainerConfigError: %s", reason)
	}
	line("worst case:")
	if bound.Unbounded {
		line("  runs     any number of pods, since an Ignore rule can replace them for ever")
	} else {
		line("  runs     at most %s", count(bound.Runs, "pod"))
	}
	switch wait := waves(engine, m.Job.Spec); {
	case bound.Wait == math.MaxInt64:
		line("  waiting  any time")
	case wait < bound.Wait:
		line("  waiting  at most about %v by the clock, %d indexes at a time", wait, slots(&m.Job.Spec))
	default:
		line("  waiting  at most %v", bound.Wait)
	}
	if bound.IndexBytes > 0 {
		line("  status   at most %s of completedIndexes and failedIndexes", count(bound.IndexBytes, "byte"))
	}
	return b.String(), nil
}

// count returns a number of things, such as 1 pod or 2 pods.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// notes returns warnings, unused fields and lint findings of a valid Job.
func (m *manifest) notes() (notes []string) {
	for _, warning := range m.Warnings {
		notes = append(notes, "warning: "+warning)
	}
	if len(m.Ignored) > 0 {
		notes = append(notes, "not used here: "+strings.Join(m.Ignored, ", "))
	}
	for _, finding := range lint.Check(&m.Job.Spec) {
		notes = append(notes, finding.String())
	}
	return notes
}

// slots returns how many indexes can wait at once: as in Kubernetes, an index that
// waits takes a place of parallelism.
func slots(spec *jobpolicy.JobSpec) int32 { return min(*spec.Parallelism, *spec.Completions) }

// waves returns how long the delays of the worst case delay a Job by the clock. A
// Bound has their sum over all indexes, but the indexes wait in waves, as many at a
// time as there are slots. Without limits per index there is one delay for the whole
// Job, and waves returns the longest Duration.
func waves(engine jobpolicy.Engine, spec jobpolicy.JobSpec) time.Duration {
	if spec.BackoffLimitPerIndex == nil || *spec.BackoffLimitPerIndex == 0 {
		return math.MaxInt64
	}
	limit := int64(*spec.BackoffLimitPerIndex)
	failures := min(int64(*spec.BackoffLimit), int64(*spec.Completions)*limit)
	waiting := divideUp(failures, limit) // indexes that fail as often as they may
	rounds := divideUp(waiting, int64(slots(&spec)))
	one := int32(1)
	spec.Completions, spec.Parallelism, spec.ActiveDeadlineSeconds = &one, &one, nil
	each, err := lint.WorstCase(engine, &spec)
	if err != nil || rounds > 0 && int64(each.Wait) > math.MaxInt64/rounds {
		return math.MaxInt64
	}
	return time.Duration(rounds) * each.Wait
}

func divideUp(a, b int64) int64 { return (a + b - 1) / b }
