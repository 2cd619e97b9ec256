package jobfile

import (
	"strings"
	"testing"
)

func TestNamesOfJobsAreDNSLabels(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "a-b": true, "a.b-c.0": true, strings.Repeat("a", 63): true,
		"": false, "A": false, "a_b": false, "-a": false, "a-": false, "a..b": false, "a.-b": false, "a-.b": false, ".a": false, "a.": false, strings.Repeat("a", 64): false,
	} {
		if got := validJobName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// The API server refuses an Indexed Job of which the last pod could not have its
// host name.
func TestHostNamesOfIndexesAreLabels(t *testing.T) {
	for _, test := range []struct {
		name, spec string
		valid      bool
	}{
		{"a.b", "", true},
		{"a.b", "completions: 3, completionMode: Indexed, ", false},
		{"ab", "completions: 3, completionMode: Indexed, ", true},
		{strings.Repeat("a", 61), "completions: 10, completionMode: Indexed, ", true},
		{strings.Repeat("a", 61), "completions: 11, completionMode: Indexed, ", false},
		{strings.Repeat("a", 63), "completions: 11, ", true},
	} {
		text := strings.Replace(named("Job", "name: "+test.name), "{template", "{"+test.spec+"template", 1)
		_, err := decode(t, text, strict)
		if test.valid != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), "line 3: metadata.name: invalid value") {
			t.Errorf("%s, %s: %v", test.name, test.spec, err)
		}
	}
}
