package pleg

import (
	"testing"
	"time"
)

// The ends in one observation are ordered by time and container. That of an earlier
// container with a reused id comes before all of new ones.
func TestOrderOfEnds(t *testing.T) {
	of := func(container string, after time.Duration, again bool) end[string] {
		return end[string]{exit: Exit[string]{Container: container, Details: ExitDetails{Finished: t0.Add(after)}}, again: again}
	}
	for _, test := range []struct {
		name string
		e, f end[string]
		want int
	}{
		{"earlier", of("b", 0, false), of("a", 1, false), -1},
		{"at the same time", of("a", 0, false), of("b", 0, false), -1},
		{"the same", of("a", 0, false), of("a", 0, false), 0},
		{"the old container, although later", of("b", 1, false), of("a", 0, true), -1},
		{"two new containers", of("b", 0, true), of("a", 1, true), -1},
	} {
		if got, reverse := test.e.compare(test.f), test.f.compare(test.e); got != test.want || reverse != -test.want {
			t.Errorf("%s: %d, and %d the other way round", test.name, got, reverse)
		}
	}
}
