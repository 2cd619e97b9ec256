//go:build long

package jobpolicy_test

import (
	"testing"
	"time"
)

// inTime runs f, which takes well under a second, but minutes if its work is
// quadratic.
func inTime(t *testing.T, what string, f func()) {
	t.Helper()
	began := time.Now()
	f()
	took := time.Since(began)
	if t.Logf("%s: %v", what, took); took > time.Minute {
		t.Errorf("%s: %v", what, took)
	}
}

// Work grows with the sum, not the product, of containers, conditions and patterns.
func TestWorkGrowsInProportion(t *testing.T) {
	planMany(t, 60_000, func(what string, f func()) { inTime(t, what, f) })
}
