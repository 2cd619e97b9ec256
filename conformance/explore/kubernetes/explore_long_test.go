//go:build long

package main

import "testing"

// TestOneFaultBreaksNothingElse with larger Jobs.
func TestOneFaultBreaksNothingElseInLargerJobs(t *testing.T) { oneFault(t, "2") }
