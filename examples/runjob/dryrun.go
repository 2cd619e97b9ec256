package main

import (
	"fmt"
	"io"
	"math"

	"github.com/restartkit/restart/jobpolicy"
)

// dryRun writes what can be said of a valid Job without running it.
func dryRun(w io.Writer, engine jobpolicy.Engine, m *manifest) error {
	bound, err := engine.WorstCase(&m.job.Spec)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "job %s/%s is valid\n", m.job.Namespace, m.job.Name)
	if len(m.ignored) > 0 {
		fmt.Fprintf(w, "not used here: %s\n", summary(m.ignored))
	}
	for _, finding := range m.job.Spec.Lint() {
		fmt.Fprintln(w, finding)
	}
	runs, wait := fmt.Sprintf("at most %d pods", bound.Runs), fmt.Sprintf("at most %v", bound.Wait)
	if bound.Unbounded {
		runs = "any number of pods, since an Ignore rule can replace them for ever"
	}
	if bound.Wait == math.MaxInt64 {
		wait = "any time"
	}
	fmt.Fprintf(w, "worst case:\n  runs     %s\n  waiting  %s\n", runs, wait)
	if bound.IndexBytes > 0 {
		fmt.Fprintf(w, "  status   at most %d bytes of completedIndexes and failedIndexes\n", bound.IndexBytes)
	}
	return nil
}
