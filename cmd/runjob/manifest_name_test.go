package main

import (
	"strings"
	"testing"
)

// TestGeneratedNameIsResumed: the run that goes on takes the name over.
func TestGeneratedNameIsResumed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := named("generateName: build-")
	text = strings.Replace(text, "[x]", `["true"]`, 1)
	first := start(t, text, "-state", dir, "-")
	first.Done(exitComplete)
	second := start(t, text, "-state", dir, "-")
	second.Done(exitComplete)
	if !strings.Contains(second.Out.String(), "# Complete") {
		t.Errorf("the second run printed\n%s%s", second.Out.String(), second.Err.String())
	}
}
