package jobfile

import (
	"fmt"
	"math"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/lint"
)

// Fact is a number of the worst case as text.
type Fact struct{ Name, Text string }

// WorstCase returns the bounds of lint.WorstCase for a Job with defaults, as text.
// Waiting times are by the clock.
func WorstCase(engine jobpolicy.Engine, spec *batch.JobSpec) ([]Fact, error) {
	bound, err := lint.WorstCase(engine, spec)
	if err != nil {
		return nil, err
	}
	var facts []Fact
	add := func(name, format string, args ...any) {
		facts = append(facts, Fact{name, fmt.Sprintf(format, args...)})
	}
	beside := ""
	if bound.IgnoresDisruptions {
		beside = ", without disruptions"
	}
	switch {
	case bound.Unbounded:
		add("runs", "any number of pods, since an Ignore rule can replace them for ever")
	case bound.IgnoresDisruptions:
		add("runs", "at most %s, and one more for each disruption", count(bound.Runs, "pod"))
	default:
		add("runs", "at most %s", count(bound.Runs, "pod"))
	}
	switch wait := waves(engine, *spec); {
	case bound.Wait == math.MaxInt64:
		add("waiting", "any time")
	case wait < bound.Wait:
		add("waiting", "at most about %v by the clock, %d indexes at a time%s", wait, slots(spec), beside)
	default:
		add("waiting", "at most %v%s", bound.Wait, beside)
	}
	if bound.IndexBytes > 0 {
		add("status", "at most %s of completedIndexes and failedIndexes", count(bound.IndexBytes, "byte"))
	}
	return facts, nil
}

// count returns a number with its noun, such as 1 pod or 2 pods.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// slots returns how many indexes can wait at once. As in Kubernetes, a waiting index
// counts towards parallelism.
func slots(spec *batch.JobSpec) int32 { return min(*spec.Parallelism, *spec.Completions) }

// waves returns the elapsed time that delays add in the worst case. WorstCaseResult has
// the sum over all indexes, but indexes wait in waves, each as large as the number of
// slots. Without limits per index the whole Job shares one delay, and waves returns the
// longest Duration.
func waves(engine jobpolicy.Engine, spec batch.JobSpec) time.Duration {
	if spec.BackoffLimitPerIndex == nil || *spec.BackoffLimitPerIndex == 0 || slots(&spec) == 0 {
		return math.MaxInt64
	}
	limit := int64(*spec.BackoffLimitPerIndex)
	failures := min(int64(*spec.BackoffLimit), int64(*spec.Completions)*limit)
	waiting := divideUp(failures, limit) // indexes that use up their limit
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
