package main

import (
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/jobpolicy"
)

// -dry-run prints whether the Job is valid, what is likely a mistake, and the worst case.
func TestDryRunPrintsLintAndWorstCase(t *testing.T) {
	t.Parallel()
	for manifest, want := range map[string][]string{
		"kep3329-story1": {"is valid\n", "spec.podFailurePolicy.rules[0]", "drain", "at most 7 pods", "at most 10m30s"},
		"kep3329-story2": {"is valid\n", "at most 4 pods, and one more for each disruption", "at most 1m10s, without disruptions"},
		"kep3850-story1": {"is valid\n", "at most 20 pods", "completedIndexes"},
	} {
		p := start(t, "", "-dry-run", "../testdata/"+manifest+".yaml")
		p.Done(0)
		for _, want := range want {
			if !strings.Contains(p.Out.String(), want) {
				t.Errorf("%s: want %q:\n%s", manifest, want, p.Out.String())
			}
		}
		if p.Err.String() != "" {
			t.Errorf("%s: %s", manifest, p.Err.String())
		}
	}
	one := start(t, plainPods("backoffLimit: 0", "restartPolicy: Never", "exit 0"), "-dry-run", "-")
	one.Done(exitComplete)
	if !strings.Contains(one.Out.String(), "at most 1 pod\n") {
		t.Error(one.Out.String())
	}
	start(t, "", "-dry-run", "../testdata/bad/every-limit.yaml").Done(exitBad)
	p := start(t, "", "-backoff", "1ms", "../testdata/kep3329-story1.yaml")
	p.Done(exitFailed)
	if !strings.Contains(p.Err.String(), "drain") {
		t.Errorf("no finding at the start:\n%s", p.Err.String())
	}
}

// Indexes wait side by side, as many as parallelism allows.
func TestWorstWaitIsClockTime(t *testing.T) {
	engine := jobpolicy.Engine{BaseDelay: 10 * time.Second, MaxDelay: 10 * time.Minute}
	for name, tt := range map[string]struct{ spec, want string }{
		"5,000 indexes, 100 at a time": {"{completions: 5000, parallelism: 100, backoffLimitPerIndex: 1}", "at most about 8m20s by the clock, 100 indexes at a time"},
		"all at a time":                {"{completions: 5000, parallelism: 9000, backoffLimitPerIndex: 2}", "at most about 30s by the clock, 5000 indexes at a time"},
		"one at a time":                {"{completions: 5, parallelism: 1, backoffLimitPerIndex: 1}", "at most 50s"},
		"a few failures":               {"{completions: 5000, parallelism: 10, backoffLimitPerIndex: 1, backoffLimit: 15}", "at most about 20s by the clock, 10 indexes at a time"},
		"no failures":                  {"{completions: 5000, parallelism: 10, backoffLimitPerIndex: 0}", "at most 0s"},
		"a deadline":                   {"{completions: 5000, parallelism: 100, backoffLimitPerIndex: 1, activeDeadlineSeconds: 60}", "at most 1m0s"},
		"one delay for all":            {"{completions: 5000, parallelism: 100}", "at most 10m30s"},
		"a huge sum":                   {"{completions: 100000, parallelism: 1, backoffLimitPerIndex: 2147483647}", "any time"},
	} {
		text := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  completionMode: Indexed\n  template: " +
			strings.TrimSuffix(strings.TrimPrefix(pods, "{template: "), "}") + "\n  " + strings.NewReplacer("{", "", "}", "", ", ", "\n  ").Replace(tt.spec) + "\n"
		m, err := decode(t, text, strict)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plan, err := dryRun(engine, m)
		if err != nil {
			t.Fatal(err)
		}
		if want := "  waiting  " + tt.want + "\n"; !strings.Contains(plan, want) {
			t.Errorf("%s: want %q:\n%s", name, want, plan)
		}
	}
}
