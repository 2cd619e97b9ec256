package criwatch

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The quantiles are those of the last keptLatencies.
func TestLatenciesAreThoseOfTheLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(0, 1e9), 0, 3*keptLatencies).Draw(t, "latencies")
		var l latencies
		for _, n := range all {
			l.add(time.Duration(n))
		}
		last := slices.Sorted(slices.Values(all[max(0, len(all)-keptLatencies):]))
		for _, q := range []float64{.01, .5, .99, 1} {
			want := time.Duration(0)
			if n := len(last); n > 0 {
				want = time.Duration(last[min(n-1, max(0, ceil(q, n)-1))])
			}
			if got := l.at(q); got != want {
				t.Fatalf("at(%g) = %v, want %v of %d", q, got, want, len(last))
			}
		}
		if l.all != len(all) {
			t.Fatalf("%d counted, want %d", l.all, len(all))
		}
	})
}
