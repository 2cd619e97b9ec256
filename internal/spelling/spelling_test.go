package spelling

import (
	"strings"
	"testing"
)

func TestSuggestionsAreNear(t *testing.T) {
	known := []string{"parallelism", "completions", "completionMode", "restartPolicy", "env", "args"}
	for name, want := range map[string]string{
		"paralelism": "parallelism", "Parallelism": "parallelism", "restartpolicy": "restartPolicy", "completion": "completions",
		"compeltionMode": "completionMode", "arg": "args", "agrs": "args", "envs": "env", "image": "", "e": "", "": "", strings.Repeat("x", 1<<20): "",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("%.20q: %q, want %q", name, got, want)
		}
	}
}
