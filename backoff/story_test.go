package backoff

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/internal/scenario"
)

// resolveStory runs: resolve [reduce] [allow] [max=DURATION].
func resolveStory(t *testing.T) func(scenario.Case) string {
	return func(c scenario.Case) string {
		args, err := c.Args()
		if err != nil || c.Name() != "resolve" {
			t.Fatalf("line %d: %q: %v", c.Line, c.Command, err)
		}
		var config CrashLoopConfig
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
