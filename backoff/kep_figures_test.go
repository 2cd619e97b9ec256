package backoff_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
)

// The delays that KEP-4603 compares.
var (
	today     = backoff.CrashLoop()
	reduced   = backoff.ReducedCrashLoop()
	oneSecond = backoff.CrashLoop().WithMax(second)
)

// from returns a curve with the reset threshold of today.
func from(initial, longest time.Duration) backoff.Policy {
	return backoff.Policy{Initial: initial, Max: longest, ResetAfter: today.ResetAfter}
}

// excess returns the restarts in (start, end] of a pod that crashes at once, less those of
// today.
func excess(p backoff.Policy, start, end time.Duration) int {
	in := backoff.Window{From: start, To: end}
	return p.Restarts(0, in) - today.Restarts(0, in)
}

// The graphs of KEP-4603 that show restarts under a curve, in the order of its text.
// Each window begins at the end of the previous one.
func TestRestartsMatchTheKEPGraphs(t *testing.T) {
	const minute = time.Minute
	node := []time.Duration{30 * second, 150 * second, 5 * minute, 10 * minute, 15 * minute}
	first := []time.Duration{10 * second, 30 * second, 70 * second, 150 * second, 310 * second} // the restarts of today
	decay := []time.Duration{5 * minute, 10 * minute, 20 * minute, 30 * minute}
	flat := []time.Duration{minute, 5 * minute, 10 * minute, 30 * minute}
	crossing := []time.Duration{10 * second, 30 * second, minute, 90 * second}
	for _, tt := range []struct {
		graph  string
		policy backoff.Policy
		run    time.Duration
		ends   []time.Duration
		want   []int
	}{
		{"today", today, 0, node, []int{2, 2, 0, 1, 1}},
		{"the new default", reduced, 0, node, []int{4, 3, 2, 5, 5}},
		{"a node's maximum of 1s", oneSecond, 0, node, []int{30, 120, 150, 300, 300}},
		{"today, crashes at once", today, 0, decay, []int{4, 1, 2, 2}},
		{"today, runs of 10s", today, 10 * second, decay, []int{4, 1, 2, 2}},
		{"today, runs of 9m59s", today, 10*minute - second, decay, []int{0, 0, 1, 1}},
		{"10s to 5m", today, 0, first, []int{1, 1, 1, 1, 1}},
		{"1s to 5m", from(second, 5*minute), 0, first, []int{3, 1, 2, 1, 1}},
		{"250ms to 5m", from(second/4, 5*minute), 0, first, []int{5, 1, 2, 1, 1}},
		{"25ms to 5m", from(second/40, 5*minute), 0, first, []int{8, 2, 1, 1, 1}},
		{"10s to 1m", from(10*second, minute), 0, first, []int{1, 1, 1, 1, 3}},
		{"10s to 30s", from(10*second, 30*second), 0, first, []int{1, 1, 1, 3, 5}},
		{"1s to 1m", from(second, minute), 0, first, []int{3, 1, 2, 1, 3}},
		{"1s to 30s", from(second, 30*second), 0, first, []int{3, 1, 2, 2, 6}},
		{"today beside alternatives", today, 10 * second, flat, []int{2, 2, 1, 4}},
		{"restartPolicy Rapid", from(second/4, minute), 10 * second, flat, []int{5, 5, 4, 17}},
		{"5s after a success", from(5*second, 5*second), 10 * second, flat, []int{4, 16, 20, 80}},
		{"success at 5s", from(5*second, 5*second), 0, crossing, []int{2, 4, 6, 6}},
		{"rapid failures", from(second/4, minute), 0, crossing, []int{5, 1, 1, 1}},
	} {
		var got []int
		start := time.Duration(-1)
		for _, end := range tt.ends {
			got = append(got, tt.policy.Restarts(tt.run, backoff.Window{From: start, To: end}))
			start = end
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.graph, got, tt.want)
		}
	}
}

// Numbers from the text of KEP-4603. Names include the KEP's number if it differs.
func TestRestartsKEPErrata(t *testing.T) {
	const minute = time.Minute
	const pods, requests = 110, 5 // a full node; API requests per restart
	// busiest returns the requests of the node in the busiest 10 seconds.
	busiest := func(p backoff.Policy) int {
		most := 0
		for at := -second; at < 5*minute; at += second / 2 {
			most = max(most, p.Restarts(0, backoff.Window{From: at, To: at + 10*second}))
		}
		return most * requests * pods
	}
	restarts := func(run, end time.Duration) int {
		return today.Restarts(run, backoff.Window{To: end})
	}
	later, fast := excess(reduced, 10*minute, 15*minute), excess(oneSecond, 10*minute, 15*minute)
	for _, tt := range []struct {
		name      string
		got, want int
	}{
		{"1s/60s: excess restarts in the first 5 minutes", excess(reduced, 0, 5*minute), 5},
		{"1s/60s: of these before 30s", excess(reduced, 0, 30*second-1), 3},
		{"1s/60s: of these after 150s", excess(reduced, 150*second, 5*minute), 2},
		{"1s/60s: excess in every further 5 minutes (KEP: 5)", later, 4},
		{"1s/60s: excess requests of a pod in that time (KEP: 25)", later * requests, 20},
		{"1s/60s: excess requests of the node in that time (KEP: 2750)", later * requests * pods, 2200},
		{"today: requests in the busiest 10s", busiest(today), 550},
		{"1s/60s: requests in the busiest 10s (KEP: 5500)", busiest(reduced), 1650},
		{"1s maximum: requests in the busiest 10s", busiest(oneSecond), 5500},
		{"1s maximum: excess restarts in the first 5 minutes (KEP: 305)", excess(oneSecond, 0, 5*minute), 296},
		{"1s maximum: excess in every further 5 minutes (KEP: 310)", fast, 299},
		{"1s maximum: excess requests of a pod in that time (KEP: 1550)", fast * requests, 1495},
		{"1s maximum: excess requests of the node in that time (KEP: 170500)", fast * requests * pods, 164_450},
		{"1s maximum: these per 10s (KEP: 568, of 170500 per second)", int(math.Round(float64(fast*requests*pods) / 30)), 5482},
		{"runs of 9m59s: restarts in 30 minutes", restarts(10*minute-second, 30*minute), 2},
		{"runs of 10s: restarts in 30 minutes (KEP: about 10)", restarts(10*second, 30*minute), 9},
		{"runs of 10s: of these in the first 5 minutes", restarts(10*second, 5*minute), 4},
		{"1s/300s: excess restarts up to 310s", excess(from(second, 5*minute), 0, 310*second), 3},
		{"250ms/300s: excess restarts up to 310s", excess(from(second/4, 5*minute), 0, 310*second), 5},
		{"25ms/300s: excess restarts up to 310s (KEP: at most 7)", excess(from(second/40, 5*minute), 0, 310*second), 8},
		{"1s/30s: excess restarts up to 310s (KEP: 10)", excess(from(second, 30*second), 0, 310*second), 9},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, tt.got, tt.want)
		}
	}
}
