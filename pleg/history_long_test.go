//go:build long && !race

package pleg_test

import (
	"fmt"
	"testing"
)

// TestHistories with many more histories. The race detector would need all memory for them.
func TestManyHistories(t *testing.T) {
	const parts, each = 100, 1000
	for part := range uint64(parts) {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			simulate(t, 1e6+part*each, each, plant{})
		})
	}
}
