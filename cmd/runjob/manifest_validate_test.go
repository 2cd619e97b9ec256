package main

import (
	"strings"
	"testing"
)

// Unknown fields are mistakes, warnings or nothing, as with kubectl.
func TestUnknownFieldsAreTreatedAsByKubectl(t *testing.T) {
	t.Parallel()
	const typo = "spec.paralelism: unknown field: did you mean parallelism?"
	text := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: typo}\nspec:\n  completions: 1\n  paralelism: 2\n  completions: 2\n  template: {spec: {restartPolicy: Never, containers: [{name: main, command: ['true']}]}}\n"
	for _, test := range []struct {
		level string
		code  int
		want  []string
	}{
		{"", exitBad, []string{"nothing was started", "  line 6: " + typo, "  line 7: spec.completions: already given on line 5"}},
		{"strict", exitBad, []string{typo}},
		{"true", exitBad, []string{typo}},
		{"warn", exitComplete, []string{"warning: line 6: " + typo, "warning: line 7: spec.completions: already given on line 5"}},
		{"Ignore", exitComplete, nil},
		{"false", exitComplete, nil},
		{"no", exitBad, []string{"-validate: must be strict, warn or ignore"}},
	} {
		for _, dry := range []bool{false, true} {
			args := []string{"-"}
			if test.level != "" {
				args = append([]string{"-validate", test.level}, args...)
			}
			if dry {
				args = append([]string{"-dry-run"}, args...)
			}
			p := start(t, text, args...)
			p.Done(test.code)
			printed := p.Out.String() + p.Err.String()
			for _, want := range test.want {
				if !strings.Contains(printed, want) {
					t.Errorf("%q: want %q:\n%s", args, want, printed)
				}
			}
			if test.want == nil && strings.Contains(printed, "unknown") {
				t.Errorf("%q: %s", args, printed)
			}
			if !dry && test.code == exitComplete && !strings.Contains(p.Out.String(), "succeeded: 2") {
				t.Errorf("%q: the last of two fields does not hold:\n%s", args, p.Out.String())
			}
		}
	}
	p := start(t, text, "-validate=ignore", "-set", "maxFailedIndex=3", "-")
	p.Done(exitBad)
	if !strings.Contains(p.Err.String(), "spec.maxFailedIndex: unsupported value: set by a flag, but not used here") {
		t.Error(p.Err.String())
	}
}
