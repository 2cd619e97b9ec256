//go:build long

package pleg_test

import (
	"fmt"
	"testing"
)

// TestHistories with many more histories.
func TestManyHistories(t *testing.T) {
	const parts, each = 100, 1000
	for part := range uint64(parts) {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			simulate(t, 1e6+part*each, each, plant{})
		})
	}
}
