// Package kubelet compares the restarts by a real kubelet with those that package
// backoff predicts. The functions need no kubelet; TestCurves runs one.
package kubelet

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
)

// Run is an ended attempt of a container. Its times are the runtime's.
type Run struct{ Started, Finished time.Time }

// History holds the runs of one container in order, without a gap.
type History []Run

// Row sums up the restarts of some containers after one delay.
type Row struct {
	Delay                    time.Duration
	Window                   backoff.Window // predicted, from the exit
	Restarts                 int
	Earliest, Median, Latest time.Duration // from the exit
	TooEarly, TooLate        int           // outside Window
}

// Compare compares the restarts in the histories with the prediction of a Restarter
// under the policy, for a kubelet with the syncFrequency. It returns a row for each
// delay, in ascending order.
func Compare(p backoff.Policy, syncFrequency time.Duration, histories []History) ([]Row, error) {
	restarter, err := backoff.NewRestarter(backoff.ExitPolicy{Delay: &p}, backoff.RestarterOptions[int]{})
	if err != nil {
		return nil, err
	}
	waits := make(map[time.Duration][]time.Duration) // by delay
	for container, h := range histories {
		for i := 1; i < len(h); i++ {
			run, next := h[i-1], h[i]
			d := restarter.Exited(container, backoff.ExitPolicy{}, backoff.Exit{
				Run: int64(i), Code: 1, Started: run.Started, Finished: run.Finished,
			})
			waits[d.Delay] = append(waits[d.Delay], next.Started.Sub(run.Finished))
		}
	}
	var rows []Row
	for _, delay := range slices.Sorted(maps.Keys(waits)) {
		rows = append(rows, newRow(delay, syncFrequency, waits[delay]))
	}
	return rows, nil
}

func newRow(delay, syncFrequency time.Duration, waits []time.Duration) Row {
	slices.Sort(waits)
	r := Row{
		Delay: delay, Window: backoff.KubeletRestart(delay, syncFrequency), Restarts: len(waits),
		Earliest: waits[0], Median: waits[len(waits)/2], Latest: waits[len(waits)-1],
	}
	for _, wait := range waits {
		switch {
		case wait < r.Window.From:
			r.TooEarly++
		case wait > r.Window.To:
			r.TooLate++
		}
	}
	return r
}

func (r Row) String() string {
	return fmt.Sprintf("| %g | %g to %g | %d | %.2f | %.2f | %.2f | %d |", r.Delay.Seconds(), r.Window.From.Seconds(), r.Window.To.Seconds(),
		r.Restarts, r.Earliest.Seconds(), r.Median.Seconds(), r.Latest.Seconds(), r.TooLate)
}

// Counts returns the number of restarts by end according to the policy's Timeline, with
// the runs of the history: fewest if each restart comes late by lateness, most if none
// is late.
func Counts(p backoff.Policy, lateness time.Duration, h History, end time.Time) (fewest, most int) {
	count := func(late time.Duration) (n int) {
		run := func(n int) time.Duration {
			if n > len(h) {
				return late
			}
			return h[n-1].Finished.Sub(h[n-1].Started) + late
		}
		for at := range p.Timeline(run) {
			if at > end.Sub(h[0].Started) {
				break
			}
			n++
		}
		return n
	}
	return count(lateness), count(0)
}
