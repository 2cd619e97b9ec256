//go:build long

package backoff_test

import "testing"

// TestStateAgreesWithModel over 100,000 other histories.
func TestStateAgreesWithModelLong(t *testing.T) { histories(t, 1_000_000, 100_000) }
