package main

import (
	"strings"
	"testing"
)

func TestNamesOfCommandsAreValid(t *testing.T) {
	for program, want := range map[string]string{"sh": "sh", "testdata/flaky.sh": "flaky.sh", "/": "-", "a b%": "a-b-", strings.Repeat("x", 80): strings.Repeat("x", 63), "ä": "-"} {
		if got := nameOf([]string{program}); got != want || !validName(got) {
			t.Errorf("nameOf(%q) = %q, want %q", program, got, want)
		}
	}
}
