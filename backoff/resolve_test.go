package backoff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/scenario"
)

// The error of a Max outside [1s, 300s] has the field, the value and the range.
func TestResolveReportsMaxOutOfBounds(t *testing.T) {
	for _, d := range []time.Duration{0, 999 * time.Millisecond, second - 1, 300*second + 1, 301 * second, -5 * second, 1<<63 - 1, -1 << 63} {
		for _, reduce := range []bool{false, true} {
			r, err := backoff.CrashLoopConfig{ReduceDefault: reduce, AllowMax: true, Max: &d}.Resolve()
			if err == nil || !strings.Contains(err.Error(), "backoff: CrashLoopConfig.Resolve: Max: invalid value "+d.String()+": must be in [1s, 300s]") || !slices.Equal(fieldsOf(err), []string{"Max"}) {
				t.Errorf("%v: %v, %v", d, r, err)
			}
		}
	}
}

// Resolve returns an error exactly if Max is honoured and out of bounds. Otherwise it
// returns a valid policy with Max in force and a reset after 10 minutes.
func TestResolveReturnsErrorOrValidPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := backoff.CrashLoopConfig{ReduceDefault: rapid.Bool().Draw(t, "reduce"), AllowMax: rapid.Bool().Draw(t, "allow")}
		if rapid.Bool().Draw(t, "set") {
			d := time.Duration(rapid.OneOf(rapid.Int64Range(0, 301e9), rapid.Int64(),
				rapid.SampledFrom([]int64{1e9 - 1, 1e9, 300e9, 300e9 + 1})).Draw(t, "max"))
			c.Max = &d
		}
		r, err := c.Resolve()
		honoured := c.AllowMax && c.Max != nil
		if bad := honoured && (*c.Max < second || *c.Max > 300*second); bad != (err != nil) {
			t.Fatalf("error %v", err)
		}
		if err != nil {
			return
		}
		if err := r.Policy.Validate(); err != nil {
			t.Fatal(err)
		}
		if r.Policy.ResetAfter != 10*minute {
			t.Fatalf("resets after %v", r.Policy.ResetAfter)
		}
		want := backoff.Policy{Initial: 10 * second, Max: 300 * second, ResetAfter: 10 * minute}
		if c.ReduceDefault {
			want.Initial, want.Max = second, 60*second
		}
		if honoured {
			want.Max = *c.Max
			want.Initial = min(want.Initial, *c.Max)
		}
		if r.Policy != want {
			t.Fatalf("got %+v, want %+v", r.Policy, want)
		}
		notes, warnings := 0, 0
		for _, n := range r.Notes {
			notes++
			if n.Warning {
				warnings++
			}
			if n.Field == "" || n.Value == "" || n.Reason == "" {
				t.Fatalf("a note says too little: %+v", n)
			}
		}
		set := 0
		if c.ReduceDefault {
			set++
		}
		if c.Max != nil {
			set++
		}
		if notes != set || (warnings == 1) != (c.Max != nil && !c.AllowMax) {
			t.Fatalf("%d notes, %d warnings: %+v", notes, warnings, r.Notes)
		}
	})
}

// resolveStory runs: resolve [reduce] [allow] [max=DURATION].
func resolveStory(t *testing.T) func(scenario.Case) string {
	return func(c scenario.Case) string {
		args, err := c.Args()
		if err != nil || c.Name() != "resolve" {
			t.Fatalf("line %d: %q: %v", c.Line, c.Command, err)
		}
		var config backoff.CrashLoopConfig
		for key, value := range args {
			switch key {
			case "reduce":
				config.ReduceDefault = true
			case "allow":
				config.AllowMax = true
			case "max":
				d, err := time.ParseDuration(value)
				if err != nil {
					t.Fatalf("line %d: %v", c.Line, err)
				}
				config.Max = &d
			default:
				t.Fatalf("line %d: no argument %q", c.Line, key)
			}
		}
		r, err := config.Resolve()
		if err != nil {
			return "error: " + err.Error()
		}
		var b strings.Builder
		fmt.Fprintf(&b, "initial %v, maximum %v, reset after %v\n", r.Policy.Initial, r.Policy.Max, r.Policy.ResetAfter)
		for _, n := range r.Notes {
			kind := "note"
			if n.Warning {
				kind = "warning"
			}
			fmt.Fprintf(&b, "%s: %s=%s: %s\n", kind, n.Field, n.Value, n.Reason)
		}
		return b.String()
	}
}

func TestResolveStories(t *testing.T) {
	scenario.Run(t, "testdata/resolve-*.story", resolveStory)
}
