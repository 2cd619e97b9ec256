package jobpolicy

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/internal/scenario"
)

// The stories give a Job's manifest and have what Lint finds in it.
func TestLintStories(t *testing.T) {
	scenario.Run(t, "testdata/lint/*.story", func(t *testing.T) func(scenario.Case) string {
		return func(c scenario.Case) string {
			if c.Name() != "lint" {
				t.Fatalf("line %d: unknown command %q", c.Line, c.Name())
			}
			return lintText(strings.Join(c.Input, "\n"))
		}
	})
}

func lintText(manifest string) string {
	var job Job
	if err := json.Unmarshal([]byte(manifest), &job); err != nil {
		return "not a Job"
	}
	var lines []string
	for _, f := range job.Spec.Lint() {
		lines = append(lines, f.String())
	}
	if lines == nil {
		return "nothing"
	}
	return strings.Join(lines, "\n")
}

// What the KEPs show as meant has no findings, whatever the stories say.
func TestLintLeavesTheKEPsAlone(t *testing.T) {
	want := map[string]int{
		"Story 2": 2, "Story 3": 2, "JobSpec API": 1, "Relationship with Job API": 1, "Story 1: a suite": 1, // cases in all files
	}
	for _, file := range []string{"kep-3329", "kep-3850", "kep-4603"} {
		text, err := os.ReadFile("testdata/lint/" + file + ".story")
		if err != nil {
			t.Fatal(err)
		}
		story, err := scenario.Parse(string(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range story.Cases {
			for title := range want {
				if strings.Contains(strings.Join(c.Prose, "\n"), "# "+title) {
					want[title]--
					if got := lintText(strings.Join(c.Input, "\n")); got != "nothing" {
						t.Errorf("%s, %s: %s", file, title, got)
					}
				}
			}
		}
	}
	for title, n := range want {
		if n != 0 {
			t.Errorf("%s: %d Jobs are missing", title, n)
		}
	}
}

// Lint takes any specification, says the same of it with its defaults filled in,
// and points at fields and rules that are there.
func TestLintOfAnything(t *testing.T) {
	found := map[Check]int{}
	rapid.Check(t, func(t *rapid.T) {
		for range 5 {
			s := genSpec(t)
			before := jsonText(s)
			findings := s.Lint()
			if jsonText(s) != before {
				t.Fatalf("Lint changed the specification %s to %s", before, jsonText(s))
			}
			s.Default()
			if again := s.Lint(); fmt.Sprint(again) != fmt.Sprint(findings) {
				t.Fatalf("%v, with defaults %v", findings, again)
			}
			for _, f := range findings {
				found[f.Check]++
				checkFinding(t, s, f)
			}
		}
	})
	t.Log(found)
	if (*JobSpec)(nil).Lint() != nil {
		t.Error("findings in nothing")
	}
}

// A rule of a success policy is reported as never met exactly if no set of
// succeeded indexes meets it; one that is always met is met by every index alone.
func TestLintOfSuccessRules(t *testing.T) {
	checked, never, always := 0, 0, 0
	for completions := range 5 {
		for _, text := range []*string{nil, pointerTo(""), pointerTo("0"), pointerTo("1-3"), pointerTo("0-4"), pointerTo("3,1"), pointerTo("7")} {
			for count := int32(-2); count <= 6; count++ {
				rule := SuccessPolicyRule{SucceededIndexes: text}
				if count > -2 {
					rule.SucceededCount = &count
				}
				s := &JobSpec{CompletionMode: IndexedCompletion, Completions: pointerTo(int32(completions)), SuccessPolicy: &SuccessPolicy{Rules: []SuccessPolicyRule{rule}}}
				sets, met := 0, 0
				for set := 1; set < 1<<completions; set++ {
					var b indexset.Builder
					for i := range completions {
						if set>>i&1 == 1 {
							b.Add(i)
						}
					}
					sets++
					if s.SuccessPolicy.Match(b.Set(), completions) == 0 {
						met++
					}
				}
				found := map[Check]bool{}
				for _, f := range s.Lint() {
					found[f.Check] = true
				}
				if found[CheckSuccessNever] != (met == 0) || found[CheckSuccessAlways] && met < sets {
					t.Errorf("%d completions, rule %s: met by %d of %d sets, found %v", completions, jsonText(rule), met, sets, found)
				}
				checked++
				if found[CheckSuccessNever] {
					never++
				}
				if found[CheckSuccessAlways] {
					always++
				}
			}
		}
	}
	if t.Logf("%d rules, %d never met, %d always", checked, never, always); never == 0 || always == 0 {
		t.Error("one kind was not found")
	}
}

// A status that just fits into an API object is no finding, one that is longer is.
func TestSizeIsFoundAboveTheLimit(t *testing.T) {
	for completions, above := range map[int32]int{100_000_020: 0, 100_000_022: 1} {
		spec := &JobSpec{CompletionMode: IndexedCompletion, Completions: &completions, Parallelism: pointerTo[int32](87_380)}
		bound, err := (Engine{}).WorstCase(spec)
		if err != nil || bound.IndexBytes != maxObjectBytes+above {
			t.Fatalf("%d completions: %d bytes, want %d: %v", completions, bound.IndexBytes, maxObjectBytes+above, err)
		}
		if findings := spec.Lint(); len(findings) != above {
			t.Errorf("%d completions: %v", completions, findings)
		}
	}
}

func checkFinding(t *rapid.T, s *JobSpec, f Finding) {
	rules := 0
	switch {
	case strings.HasPrefix(f.Field, "spec.podFailurePolicy.rules["):
		rules = len(s.PodFailurePolicy.Rules)
	case strings.HasPrefix(f.Field, "spec.successPolicy.rules["):
		rules = len(s.SuccessPolicy.Rules)
	}
	if (f.Rule >= 0) != (rules > 0) || f.Rule >= rules || f.Rule >= 0 && !strings.Contains(f.Field, fmt.Sprintf("rules[%d]", f.Rule)) {
		t.Fatalf("rule %d, field %s", f.Rule, f.Field)
	}
	if f.Severity != SeverityWarning && f.Severity != SeverityNotice || !strings.Contains(f.Text, "; ") || strings.HasSuffix(f.Text, ".") || strings.Contains(f.Text, "\n") || len(f.Text) > 600 {
		t.Fatalf("%s", f)
	}
}

// A policy that validation would refuse for its size does not get Lint to work
// for long.
func TestLintIsBounded(t *testing.T) {
	s := validSpec()
	s.PodFailurePolicy = &PodFailurePolicy{}
	for i := range 100_000 {
		s.PodFailurePolicy.Rules = append(s.PodFailurePolicy.Rules, PodFailurePolicyRule{
			Action:      PodFailurePolicyActionCount,
			OnExitCodes: &OnExitCodes{Operator: PodFailurePolicyOnExitCodesOpIn, ContainerName: pointerTo(fmt.Sprint(i)), Values: []int32{int32(i + 1)}},
		})
		s.Template.Spec.Containers = append(s.Template.Spec.Containers, Container{Name: fmt.Sprint(i)})
	}
	if n := len(s.Lint()); n != 0 {
		t.Errorf("%d findings", n)
	}
}
