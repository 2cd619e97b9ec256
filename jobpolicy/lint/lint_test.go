package lint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/internal/rapidseed"
	"github.com/restartkit/restart/internal/scenario"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/lint"
	"pgregory.net/rapid"
)

// Each story is a Job's manifest with the findings of Check.
func TestFindingsOfStories(t *testing.T) {
	scenario.Run(t, "testdata/*.story", func(t *testing.T) func(scenario.Case) string {
		return func(c scenario.Case) string {
			if c.Name() != "lint" {
				t.Fatalf("line %d: unknown command %q", c.Line, c.Name())
			}
			return lintText(strings.Join(c.Input, "\n"))
		}
	})
}

func lintText(manifest string) string {
	var job batch.Job
	if err := json.Unmarshal([]byte(manifest), &job); err != nil {
		return "not a Job"
	}
	var lines []string
	for _, f := range lint.Check(&job.Spec) {
		lines = append(lines, f.String())
	}
	if lines == nil {
		return "nothing"
	}
	return strings.Join(lines, "\n")
}

// The KEPs' own examples have no findings.
func TestKEPsHaveNoFindings(t *testing.T) {
	want := map[string]int{
		"Story 2": 2, "Story 3": 2, "JobSpec API": 1, "Relationship with Job API": 1, "Story 1: a suite": 1, // cases in all files
	}
	for _, file := range []string{"kep-3329", "kep-3850", "kep-4603"} {
		text, err := os.ReadFile("testdata/" + file + ".story")
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

// Check accepts any specification, returns the same findings with and without defaults,
// and names existing fields and rules.
func TestCheckAcceptsAnySpecification(t *testing.T) {
	found, refused := map[lint.Kind]int{}, 0
	rapid.Check(t, func(t *rapid.T) {
		for range 5 {
			s := genSpec(t)
			before := jsonText(s)
			findings := lint.Check(s)
			if compareRefusals(t, s) {
				refused++
			}
			if jsonText(s) != before {
				t.Fatalf("Check changed the specification %s to %s", before, jsonText(s))
			}
			s.Default()
			if again := lint.Check(s); fmt.Sprint(again) != fmt.Sprint(findings) {
				t.Fatalf("%v, with defaults %v", findings, again)
			}
			for _, f := range findings {
				found[f.Kind]++
				checkFinding(t, s, f)
			}
		}
	})
	if t.Log(found, refused); refused == 0 && rapidseed.Fixed() {
		t.Error("no specification was refused")
	}
	if lint.Check(nil) != nil {
		t.Error("findings in nothing")
	}
}

// Check reports a success rule as never met if and only if no set of succeeded indexes
// meets it, and as always met only if each index alone meets it.
func TestSuccessRuleFindingsAreExact(t *testing.T) {
	checked, never, always := 0, 0, 0
	for completions := range 5 {
		for _, text := range []*string{nil, pointerTo(""), pointerTo("0"), pointerTo("1-3"), pointerTo("0-4"), pointerTo("3,1"), pointerTo("7")} {
			for count := int32(-2); count <= 6; count++ {
				rule := batch.SuccessPolicyRule{SucceededIndexes: text}
				if count > -2 {
					rule.SucceededCount = &count
				}
				s := &batch.JobSpec{CompletionMode: batch.IndexedCompletion, Completions: pointerTo(int32(completions)), SuccessPolicy: &batch.SuccessPolicy{Rules: []batch.SuccessPolicyRule{rule}}}
				sets, met := 0, 0
				for set := 1; set < 1<<completions; set++ {
					var b indexset.Builder
					for i := range completions {
						if set>>i&1 == 1 {
							b.Add(i)
						}
					}
					sets++
					if jobpolicy.MatchSuccess(s.SuccessPolicy, b.Set(), completions) == 0 {
						met++
					}
				}
				found := map[lint.Kind]bool{}
				for _, f := range lint.Check(s) {
					found[f.Kind] = true
				}
				if found[lint.KindSuccessNever] != (met == 0) || found[lint.KindSuccessAlways] && met < sets {
					t.Errorf("%d completions, rule %s: met by %d of %d sets, found %v", completions, jsonText(rule), met, sets, found)
				}
				checked++
				if found[lint.KindSuccessNever] {
					never++
				}
				if found[lint.KindSuccessAlways] {
					always++
				}
			}
		}
	}
	if t.Logf("%d rules, %d never met, %d always", checked, never, always); never == 0 || always == 0 {
		t.Error("one kind was not found")
	}
}

func checkFinding(t *rapid.T, s *batch.JobSpec, f lint.Finding) {
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
	if f.Severity != lint.SeverityWarning && f.Severity != lint.SeverityNotice || !strings.Contains(f.Text, "; ") || strings.HasSuffix(f.Text, ".") || strings.Contains(f.Text, "\n") || len(f.Text) > 600 {
		t.Fatalf("%s", f)
	}
}

// Check reads only part of a policy that is too large for Validate.
func TestWorkIsBoundedForHugePolicies(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, and runs in one goroutine")
	}
	s := &batch.JobSpec{}
	s.PodFailurePolicy = &batch.PodFailurePolicy{}
	for i := range 100_000 {
		s.PodFailurePolicy.Rules = append(s.PodFailurePolicy.Rules, batch.PodFailurePolicyRule{
			Action:      batch.ActionCount,
			OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, ContainerName: pointerTo(fmt.Sprint(i)), Values: []int32{int32(i + 1)}},
		})
		s.Template.Spec.Containers = append(s.Template.Spec.Containers, batch.Container{Name: fmt.Sprint(i)})
	}
	if n := len(lint.Check(s)); n != 0 {
		t.Errorf("%d findings", n)
	}
}

// A finding about many codes lists the first five and the number of others.
func TestFindingsListFiveCodes(t *testing.T) {
	for n, want := range map[int]string{4: "256, 257, 258, 259", 5: "256, 257, 258, 259, 260", 6: "256, 257, 258, 259, 260 and 1 more", 8: "256, 257, 258, 259, 260 and 3 more"} {
		on := &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{1}}
		for i := range n {
			on.Values = append(on.Values, int32(256+i))
		}
		text := fmt.Sprint(lint.Check(specWith(nil, batch.PodFailurePolicyRule{Action: batch.ActionCount, OnExitCodes: on})))
		if !strings.Contains(text, want) || strings.Contains(text, "more") != (n > 5) {
			t.Errorf("%d codes: %s, want %q", n, text, want)
		}
	}
}

// Without a template, rules may name any container, including the empty name. A rule
// for one container does not shadow rules for others.
func TestRuleForOneContainerShadowsNoOther(t *testing.T) {
	for _, name := range []string{"", "a", "+", "a+"} {
		spec := specWith(nil,
			batch.PodFailurePolicyRule{Action: batch.ActionIgnore, OnExitCodes: &batch.OnExitCodes{ContainerName: &name, Operator: batch.OpIn, Values: []int32{1}}},
			batch.PodFailurePolicyRule{Action: batch.ActionCount, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{1}}},
		)
		for _, f := range lint.Check(spec) {
			if f.Kind == lint.KindUnreachable {
				t.Errorf("a rule for container %q: %s", name, f)
			}
		}
	}
}

// Only for a FailJob rule after a FailIndex rule does the finding say that the index
// fails first.
func TestOnlyFailJobAfterFailIndexIsExplained(t *testing.T) {
	for _, first := range []batch.Action{batch.ActionFailIndex, batch.ActionCount, batch.ActionFailJob} {
		for _, second := range []batch.Action{batch.ActionFailJob, batch.ActionCount, batch.ActionFailIndex} {
			on := &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{1}}
			spec := specWith(nil, batch.PodFailurePolicyRule{Action: first, OnExitCodes: on}, batch.PodFailurePolicyRule{Action: second, OnExitCodes: on})
			want := first == batch.ActionFailIndex && second == batch.ActionFailJob
			if text := fmt.Sprint(lint.Check(spec)); strings.Contains(text, "fails the index") != want {
				t.Errorf("%s before %s: %s", first, second, text)
			}
		}
	}
}

// No manifest causes a panic, and WorstCase rejects the numbers and completion modes
// that Validate rejects.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"completionMode":"Indexed","completions":3,"backoffLimitPerIndex":1,"podFailurePolicy":{"rules":[{"action":"FailIndex","onExitCodes":{"operator":"In","values":[1,2]}}]}}`))
	f.Add([]byte(`{"successPolicy":{"rules":[{"succeededIndexes":"0-2","succeededCount":2},{}]},"completionMode":"Indexed"}`))
	f.Add([]byte(`{"podFailurePolicy":{"rules":[{"onPodConditions":[{}]},{"onExitCodes":{"containerName":"","values":[0,0]}}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s batch.JobSpec
		if json.Unmarshal(data, &s) != nil {
			t.Skip()
		}
		_ = fmt.Sprint(lint.Check(&s))
		compareRefusals(t, &s)
	})
}

// compareRefusals compares the mistakes that WorstCase finds in a specification with
// those that Validate finds in the same fields.
func compareRefusals(t interface{ Fatalf(string, ...any) }, s *batch.JobSpec) (refused bool) {
	numbers := []string{"spec.parallelism", "spec.completions", "spec.activeDeadlineSeconds", "spec.backoffLimit",
		"spec.ttlSecondsAfterFinished", "spec.backoffLimitPerIndex", "spec.maxFailedIndexes", "spec.completionMode"}
	whole := *s
	whole.Default()
	var all, got, want field.Errors
	errors.As(whole.Validate(), &all)
	for _, e := range all {
		if slices.Contains(numbers, e.Field) {
			want = append(want, e)
		}
	}
	_, err := lint.WorstCase(jobpolicy.Engine{}, s)
	if errors.As(err, &got); !reflect.DeepEqual(got, want) || (err != nil) != (want != nil) {
		t.Fatalf("%s: WorstCase: %v; Validate: %v", jsonText(s), err, all)
	}
	return err != nil
}

// on is a rule for conditions that are True.
func on(action batch.Action, types ...batch.PodConditionType) batch.PodFailurePolicyRule {
	r := batch.PodFailurePolicyRule{Action: action}
	for _, t := range types {
		r.OnPodConditions = append(r.OnPodConditions, batch.OnPodCondition{Type: t, Status: batch.ConditionTrue})
	}
	return r
}

func TestFindingsOfConditions(t *testing.T) {
	killed := batch.PodFailurePolicyRule{Action: batch.ActionFailJob, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{137}}}
	long := batch.PodConditionType("example.com/" + strings.Repeat("a", 60))
	for name, tt := range map[string]struct {
		rules []batch.PodFailurePolicyRule
		want  string // in the findings
	}{
		"the same conditions":   {[]batch.PodFailurePolicyRule{on(batch.ActionFailIndex, "A"), on(batch.ActionFailJob, "A")}, "rule 0 fails the index for the same failures"},
		"some of them":          {[]batch.PodFailurePolicyRule{on(batch.ActionFailIndex, "A", "B"), on(batch.ActionFailJob, "A")}, "rule 0 matches every pod that this rule matches"},
		"one rule for each":     {[]batch.PodFailurePolicyRule{on(batch.ActionIgnore, "A"), on(batch.ActionIgnore, "B"), on(batch.ActionCount, "A", "B")}, "rules 0 and 1 together match every pod"},
		"the first later rule":  {[]batch.PodFailurePolicyRule{killed, on(batch.ActionIgnore, batch.DisruptionTarget), on(batch.ActionCount, batch.DisruptionTarget)}, "move rule 1 for the condition"},
		"a long condition type": {[]batch.PodFailurePolicyRule{on(batch.ActionIgnore, long), on(batch.ActionCount, long, "B")}, "and 13 more bytes first"},
	} {
		spec := batch.JobSpec{PodFailurePolicy: &batch.PodFailurePolicy{Rules: tt.rules}}
		if found := fmt.Sprint(lint.Check(&spec)); !strings.Contains(found, tt.want) {
			t.Errorf("%s: %s\nwant %s", name, found, tt.want)
		}
	}
}
