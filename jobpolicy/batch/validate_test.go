package batch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/rapidseed"
	"github.com/restartkit/restart/internal/vectors"
	"github.com/restartkit/restart/jobpolicy/batch"
	"pgregory.net/rapid"
)

// withoutText keeps only types and fields, as the model returns them.
var withoutText = cmpopts.IgnoreFields(field.Error{}, "Value", "Detail")

func TestValidateAgreesWithModel(t *testing.T) {
	valid, invalid := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := genSpec(t)
		err := s.Validate()
		if err == nil {
			valid++
		} else {
			invalid++
		}
		compareMistakes(t, err, modelValidate(s))
		old := genChange(t, s)
		compareMistakes(t, s.ValidateUpdate(old), modelValidateUpdate(s, old))
	})
	t.Logf("%d valid, %d not", valid, invalid)
	if rapidseed.Fixed() && (valid == 0 || invalid == 0) {
		t.Error("only one of both was tried")
	}
}

func compareMistakes(t interface {
	Helper()
	Errorf(string, ...any)
}, err error, want field.Errors) {
	t.Helper()
	var got field.Errors
	if err != nil && (!errors.As(err, &got) || len(got) == 0) {
		t.Errorf("%T is no list of mistakes: %v", err, err)
	}
	if diff := cmp.Diff(want, got, withoutText, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("mistakes (-model +ours):\n%s", diff)
	}
}

// genChange draws an earlier specification: another one, or s with some fields
// changed.
func genChange(t *rapid.T, s *batch.JobSpec) *batch.JobSpec {
	old := *s
	other := genSpec(t)
	for _, change := range []func(){
		func() { old.Completions, old.Parallelism = other.Completions, other.Parallelism },
		func() { old.CompletionMode = other.CompletionMode },
		func() { old.PodFailurePolicy = other.PodFailurePolicy },
		func() { old.BackoffLimitPerIndex = other.BackoffLimitPerIndex },
		func() { old.SuccessPolicy = other.SuccessPolicy },
		func() { old.MaxFailedIndexes, old.BackoffLimit = other.MaxFailedIndexes, other.BackoffLimit },
	} {
		if rapid.Bool().Draw(t, "change") {
			change()
		}
	}
	return &old
}

func TestDefault(t *testing.T) {
	for _, tt := range []struct{ name, spec, want string }{
		{"nothing set", `{}`,
			`{"parallelism":1,"completions":1,"backoffLimit":6,"completionMode":"NonIndexed","podReplacementPolicy":"TerminatingOrFailed"}`},
		{"a work queue has no completions", `{"parallelism":3}`,
			`{"parallelism":3,"backoffLimit":6,"completionMode":"NonIndexed","podReplacementPolicy":"TerminatingOrFailed"}`},
		{"one pod at a time", `{"completions":3}`,
			`{"parallelism":1,"completions":3,"backoffLimit":6,"completionMode":"NonIndexed","podReplacementPolicy":"TerminatingOrFailed"}`},
		{"a limit per index lifts the global one", `{"completions":3,"completionMode":"Indexed","backoffLimitPerIndex":0}`,
			`{"parallelism":1,"completions":3,"backoffLimit":2147483647,"backoffLimitPerIndex":0,"completionMode":"Indexed","podReplacementPolicy":"TerminatingOrFailed"}`},
		{"a policy waits for the end of a pod",
			`{"podFailurePolicy":{"rules":[{"action":"Ignore","onPodConditions":[{"type":"A"},{"type":"B","status":"False"}]},{"action":"Count","onPodConditions":[{"type":"C"}]}]}}`,
			`{"parallelism":1,"completions":1,"podFailurePolicy":{"rules":[{"action":"Ignore","onPodConditions":[{"type":"A","status":"True"},{"type":"B","status":"False"}]},{"action":"Count","onPodConditions":[{"type":"C","status":"True"}]}]},"backoffLimit":6,"completionMode":"NonIndexed","podReplacementPolicy":"Failed"}`},
		{"a rule after one for exit codes",
			`{"podReplacementPolicy":"Failed","podFailurePolicy":{"rules":[{"action":"FailJob","onExitCodes":{"operator":"In","values":[1]}},{"action":"Count","onPodConditions":[{"type":"C"}]}]}}`,
			`{"parallelism":1,"completions":1,"podFailurePolicy":{"rules":[{"action":"FailJob","onExitCodes":{"operator":"In","values":[1]}},{"action":"Count","onPodConditions":[{"type":"C","status":"True"}]}]},"backoffLimit":6,"completionMode":"NonIndexed","podReplacementPolicy":"Failed"}`},
		{"what is set stays", `{"parallelism":0,"completions":0,"backoffLimit":0,"backoffLimitPerIndex":1,"completionMode":"Indexed","podReplacementPolicy":"Failed"}`,
			`{"parallelism":0,"completions":0,"backoffLimit":0,"backoffLimitPerIndex":1,"completionMode":"Indexed","podReplacementPolicy":"Failed"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, want := specFromJSON(t, tt.spec), specFromJSON(t, tt.want)
			got.Default()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func specFromJSON(t *testing.T, text string) *batch.JobSpec {
	t.Helper()
	s := &batch.JobSpec{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Default sets all absent fields. A second call changes nothing, and earlier copies are
// untouched.
func TestDefaultIsIdempotentAndSharesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSpec(t)
		before := vectors.Text(s)
		once := *s
		once.Default()
		if after := vectors.Text(s); after != before {
			t.Fatalf("the original of a copy changed from %s to %s", before, after)
		}
		twice := once
		twice.Default()
		if diff := cmp.Diff(once, twice); diff != "" {
			t.Fatalf("a second call changed (-once +twice):\n%s", diff)
		}
		if once.Parallelism == nil || once.BackoffLimit == nil || once.CompletionMode == "" || once.PodReplacementPolicy == "" {
			t.Fatalf("something is still absent: %s", vectors.Text(once))
		}
	})
}

func TestValidateOfNil(t *testing.T) {
	var s *batch.JobSpec
	s.Default()
	var j *batch.Job
	for _, err := range []error{s.Validate(), s.ValidateUpdate(nil), s.ValidateUpdate(&batch.JobSpec{}), j.ValidateStatus()} {
		var list field.Errors
		if !errors.As(err, &list) || len(list) != 1 || list[0].Type != field.Required {
			t.Errorf("got %v, want one Required", err)
		}
	}
	spec := validSpec()
	if err := spec.ValidateUpdate(nil); err != nil {
		t.Errorf("an update of nothing: %v", err)
	}
}

func validSpec() *batch.JobSpec {
	s := &batch.JobSpec{Template: batch.PodTemplateSpec{Spec: batch.PodSpec{RestartPolicy: batch.RestartPolicyNever, Containers: []batch.Container{{Name: "a"}}}}}
	s.Default()
	return s
}

func TestFieldErrors(t *testing.T) {
	s := validSpec()
	s.Parallelism, s.BackoffLimit = ptr[int32](-1), ptr[int32](-2)
	err := s.Validate()
	const want = "spec.parallelism: invalid value -1: must be 0 or more; spec.backoffLimit: invalid value -2: must be 0 or more"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %v", err, want)
	}
	var first field.Error
	if !errors.As(err, &first) || first.Field != "spec.parallelism" || first.Value != int32(-1) {
		t.Errorf("errors.As finds %v", first)
	}
	if n := len(err.(interface{ Unwrap() []error }).Unwrap()); n != 2 {
		t.Errorf("unwraps to %d errors", n)
	}
}

// Messages cut long values.
func TestFieldErrorsAreShort(t *testing.T) {
	s := validSpec()
	s.CompletionMode, s.Completions = batch.IndexedCompletion, ptr[int32](10)
	s.SuccessPolicy = &batch.SuccessPolicy{}
	for range 1000 {
		s.SuccessPolicy.Rules = append(s.SuccessPolicy.Rules, batch.SuccessPolicyRule{SucceededIndexes: ptr(strings.Repeat("x", 100_000))})
	}
	err := s.Validate()
	if n := len(err.(field.Errors)); n != 2001 {
		t.Errorf("%d mistakes, want TooMany and 1000 times TooLong and Invalid", n)
	}
	if text := err.Error(); len(text) > 2000 || !strings.HasSuffix(text, "and 1993 more") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func TestQualifiedName(t *testing.T) {
	for text, want := range map[string]int{
		"DisruptionTarget": 0, "a": 0, "A.b-c_9": 0, "example.com/Thing": 0, "x/y": 0,
		strings.Repeat("a", 63): 0, strings.Repeat("d", 253) + "/a": 0,
		"": 2, "/": 3, "/a": 1, "a/": 2, "a/b/c": 1, ".": 1, "-a": 1, "a-": 1, "ä": 1,
		"a_b/c": 1, "A/c": 1, "a..b/c": 1, "a-.b/c": 1, strings.Repeat("a", 64): 1,
		strings.Repeat("d", 254) + "/a": 1, strings.Repeat("D", 254) + "/" + strings.Repeat("-", 64): 4,
	} {
		if got := len(batch.QualifiedNameMistakes(text)); got != want || got != modelNameMistakes(text) {
			t.Errorf("%q: %d mistakes, want %d, the model says %d", text, got, want, modelNameMistakes(text))
		}
	}
}

func FuzzCheckIndexes(f *testing.F) {
	for _, text := range []string{"", "0", "1,3-5", "+1,02", "007-010", "1-2-3", "3,1", "1-1", ",", "-1", "9223372036854775808", "0-2147483646"} {
		f.Add(text, int32(12))
		f.Add(text, int32(math.MaxInt32))
	}
	f.Fuzz(func(t *testing.T, text string, completions int32) {
		total, mistake := batch.CheckIndexes(text, completions)
		want, ok := modelIndexes(text, int(completions))
		if int(total) != want || (mistake == "") != ok {
			t.Errorf("checkIndexes(%q, %d) = %d, %q; the model says %d, %v", text, completions, total, mistake, want, ok)
		}
	})
}

// No manifest causes a panic, and Validate agrees with the model.
func FuzzJobSpec(f *testing.F) {
	f.Add([]byte(`{"completionMode":"Indexed","completions":3,"backoffLimitPerIndex":1,"podFailurePolicy":{"rules":[{"action":"FailIndex","onExitCodes":{"operator":"In","values":[1,2]}}]}}`))
	f.Add([]byte(`{"successPolicy":{"rules":[{"succeededIndexes":"0-2","succeededCount":2},{}]},"completionMode":"Indexed"}`))
	f.Add([]byte(`{"podFailurePolicy":{"rules":[{"onPodConditions":[{}]},{"onExitCodes":{"containerName":"","values":[0,0]}}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s batch.JobSpec
		if json.Unmarshal(data, &s) != nil {
			t.Skip()
		}
		compareMistakes(t, s.Validate(), modelValidate(&s))
		s.Default()
		compareMistakes(t, s.Validate(), modelValidate(&s))
		compareMistakes(t, s.ValidateUpdate(&s), modelValidate(&s))
	})
}

// Validating twenty rules of 255 codes allocates only the set of container names.
func TestValidateAllocates(t *testing.T) {
	s := largestPolicy()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(10, func() { _ = s.Validate() }); n > 3 {
		t.Errorf("%v allocations for a valid specification, want at most the set of container names", n)
	}
}

func BenchmarkValidate(b *testing.B) {
	s := largestPolicy()
	for b.Loop() {
		if err := s.Validate(); err != nil {
			b.Fatal(err)
		}
	}
}

func largestPolicy() *batch.JobSpec {
	s := validSpec()
	s.PodFailurePolicy = &batch.PodFailurePolicy{}
	s.PodReplacementPolicy = batch.PodReplacementFailed
	for range batch.MaxPolicyRules {
		on := &batch.OnExitCodes{Operator: batch.OpIn, ContainerName: ptr("a")}
		for v := range int32(batch.MaxPolicyValues) {
			on.Values = append(on.Values, v+1)
		}
		s.PodFailurePolicy.Rules = append(s.PodFailurePolicy.Rules, batch.PodFailurePolicyRule{Action: batch.ActionFailJob, OnExitCodes: on})
	}
	return s
}

// Each limit, at and one above its number.
func TestValidateEdges(t *testing.T) {
	n := ptr[int32]
	indexed := func(completions int32, change func(*batch.JobSpec)) func(*batch.JobSpec) {
		return func(s *batch.JobSpec) {
			s.CompletionMode, s.Completions = batch.IndexedCompletion, n(completions)
			change(s)
		}
	}
	policy := func(rules ...batch.PodFailurePolicyRule) func(*batch.JobSpec) {
		return func(s *batch.JobSpec) {
			s.PodFailurePolicy, s.PodReplacementPolicy = &batch.PodFailurePolicy{Rules: rules}, batch.PodReplacementFailed
		}
	}
	codes := func(values ...int32) batch.PodFailurePolicyRule {
		return batch.PodFailurePolicyRule{Action: batch.ActionCount, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: values}}
	}
	upTo := func(last int32) (values []int32) {
		for v := range last {
			values = append(values, v+1)
		}
		return values
	}
	condition := batch.OnPodCondition{Type: "A", Status: batch.ConditionTrue}
	conditions := func(n int) batch.PodFailurePolicyRule {
		return batch.PodFailurePolicyRule{Action: batch.ActionCount, OnPodConditions: slices.Repeat([]batch.OnPodCondition{condition}, n)}
	}
	success := func(rules ...batch.SuccessPolicyRule) func(*batch.JobSpec) {
		return func(s *batch.JobSpec) { s.SuccessPolicy = &batch.SuccessPolicy{Rules: rules} }
	}
	count := func(c int32) batch.SuccessPolicyRule { return batch.SuccessPolicyRule{SucceededCount: n(c)} }
	indexes := func(text string) batch.SuccessPolicyRule { return batch.SuccessPolicyRule{SucceededIndexes: &text} }
	limits := func(perIndex, maxFailed, parallelism *int32) func(*batch.JobSpec) {
		return func(s *batch.JobSpec) {
			s.BackoffLimitPerIndex, s.MaxFailedIndexes, s.Parallelism = perIndex, maxFailed, parallelism
		}
	}
	const (
		rules = "spec.podFailurePolicy.rules"
		met   = "spec.successPolicy.rules"
	)
	for _, tt := range []struct {
		name   string
		change func(*batch.JobSpec)
		want   string // "Type field" of every mistake
	}{
		{"parallelism 10^5", indexed(5, limits(nil, nil, n(100_000))), ""},
		{"parallelism 10^5+1", indexed(5, limits(nil, nil, n(100_001))), "Invalid spec.parallelism"},
		{"parallelism of a NonIndexed Job", limits(nil, nil, n(math.MaxInt32)), ""},
		{"maxFailedIndexes = completions", indexed(5, limits(n(0), n(5), n(1))), ""},
		{"maxFailedIndexes > completions", indexed(5, limits(n(0), n(6), n(1))), "Invalid spec.maxFailedIndexes"},
		{"10^5 completions", indexed(100_000, limits(n(1), n(100_000), n(100_000))), ""},
		{"10^5 completions, any number may fail", indexed(100_000, limits(n(1), nil, n(100_000))), ""},
		{"10^5+1 completions", indexed(100_001, limits(n(1), n(10_000), n(10_000))), ""},
		{"10^5+1 completions, parallelism", indexed(100_001, limits(n(1), n(10_000), n(10_001))), "Invalid spec.parallelism"},
		{"10^5+1 completions, maxFailedIndexes", indexed(100_001, limits(n(1), n(10_001), n(10_000))), "Invalid spec.maxFailedIndexes"},
		{"10^5+1 completions, any number may fail", indexed(100_001, limits(n(1), nil, n(1))), "Required spec.maxFailedIndexes"},
		{"10^5+1 completions without a limit per index", indexed(100_001, limits(nil, nil, n(100_000))), ""},
		{"maxFailedIndexes alone", indexed(5, limits(nil, n(1), n(1))), "Required spec.backoffLimitPerIndex"},
		{"20 rules", policy(slices.Repeat([]batch.PodFailurePolicyRule{codes(1)}, 20)...), ""},
		{"21 rules", policy(slices.Repeat([]batch.PodFailurePolicyRule{codes(1)}, 21)...), "TooMany " + rules},
		{"255 codes", policy(codes(upTo(255)...)), ""},
		{"256 codes", policy(codes(upTo(256)...)), "TooMany " + rules + "[0].onExitCodes.values"},
		{"20 conditions", policy(conditions(20)), ""},
		{"21 conditions", policy(conditions(20), conditions(21)), "TooMany " + rules + "[1].onPodConditions"},
		{"a duplicate code", policy(codes(1, 2, 2)), "Duplicate " + rules + "[0].onExitCodes.values[2]"},
		{"a duplicate code later", policy(codes(1, 2, 1)), "Duplicate " + rules + "[0].onExitCodes.values[2], Invalid " + rules + "[0].onExitCodes.values"},
		{"20 success rules", indexed(5, success(slices.Repeat([]batch.SuccessPolicyRule{count(1)}, 20)...)), ""},
		{"21 success rules", indexed(5, success(slices.Repeat([]batch.SuccessPolicyRule{count(1)}, 21)...)), "TooMany " + met},
		{"no success rules", indexed(5, success()), "Required " + met},
		{"success rules of a NonIndexed Job", success(count(1)), "Invalid spec.successPolicy"},
		{"indexes of 64 KiB", indexed(math.MaxInt32, success(indexes(strings.Repeat("0", 65_536)))), ""},
		{"indexes above 64 KiB", indexed(math.MaxInt32, success(indexes(strings.Repeat("0", 65_537)))), "TooLong " + met + "[0].succeededIndexes"},
		{"the last index", indexed(5, success(indexes("0-4"))), ""},
		{"the index after", indexed(5, success(indexes("0-5"))), "Invalid " + met + "[0].succeededIndexes"},
		{"every index there is", indexed(math.MaxInt32, success(indexes("0-2147483646"))), ""},
		{"success policy without completions", func(s *batch.JobSpec) {
			s.CompletionMode, s.Completions = batch.IndexedCompletion, nil
			success(batch.SuccessPolicyRule{SucceededIndexes: ptr("0-2"), SucceededCount: n(4)})(s)
		}, "Required spec.completions, Invalid " + met + "[0].succeededCount"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := validSpec()
			tt.change(s)
			if got := typesAndFields(s.Validate()); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func typesAndFields(err error) string {
	var all []string
	if err != nil {
		for _, e := range err.(field.Errors) {
			all = append(all, fmt.Sprintf("%s %s", e.Type, e.Field))
		}
	}
	return strings.Join(all, ", ")
}

// The number of another rule is no name, because an unnamed rule has its number in its
// reason. Other numbers are names.
func TestNumbersAsRuleNames(t *testing.T) {
	for name, valid := range map[string]bool{"0": true, "1": false, "2": true, "01": true} {
		rule := batch.PodFailurePolicyRule{Action: batch.ActionFailJob, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{1}}}
		named := rule
		named.Name = name
		job := batch.Job{Spec: batch.JobSpec{
			PodFailurePolicy: &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{named, rule}},
			Template:         batch.PodTemplateSpec{Spec: batch.PodSpec{RestartPolicy: batch.RestartPolicyNever}},
		}}
		if err := job.Spec.Validate(); (err == nil) != valid {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

func TestValidateUpdate(t *testing.T) {
	n := ptr[int32]
	job := func(changes ...func(*batch.JobSpec)) *batch.JobSpec {
		s := validSpec()
		s.CompletionMode, s.Completions, s.Parallelism = batch.IndexedCompletion, n(3), n(3)
		for _, change := range changes {
			change(s)
		}
		return s
	}
	size := func(completions, parallelism *int32) func(*batch.JobSpec) {
		return func(s *batch.JobSpec) { s.Completions, s.Parallelism = completions, parallelism }
	}
	policy := func(p *batch.PodFailurePolicy) func(*batch.JobSpec) {
		return func(s *batch.JobSpec) { s.PodFailurePolicy, s.PodReplacementPolicy = p, batch.PodReplacementFailed }
	}
	rule := func(container *string, values ...int32) *batch.PodFailurePolicy {
		return &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{Action: batch.ActionCount,
			OnExitCodes: &batch.OnExitCodes{ContainerName: container, Operator: batch.OpIn, Values: values}}}}
	}
	success := func(p *batch.SuccessPolicy) func(*batch.JobSpec) {
		return func(s *batch.JobSpec) { s.SuccessPolicy = p }
	}
	nonIndexed := func(s *batch.JobSpec) { s.CompletionMode = batch.NonIndexedCompletion }
	for _, tt := range []struct {
		name     string
		old, new *batch.JobSpec
		want     string
	}{
		{"nothing", job(), job(), ""},
		{"what may change", job(), job(func(s *batch.JobSpec) {
			s.Parallelism, s.BackoffLimit, s.ActiveDeadlineSeconds, s.Suspend, s.TTLSecondsAfterFinished = n(1), n(1), ptr[int64](1), true, n(1)
		}), ""},
		{"resize", job(), job(size(n(5), n(5))), ""},
		{"resize with another parallelism", job(), job(size(n(5), n(3))), "Invalid spec.completions"},
		{"resize to the default parallelism", job(), job(size(n(1), nil)), ""},
		{"resize with the default parallelism", job(), job(size(n(2), nil)), "Invalid spec.completions"},
		{"no completions any more", job(), job(size(nil, n(3))), "Required spec.completions"},
		{"resize of a NonIndexed Job", job(nonIndexed), job(nonIndexed, size(n(5), n(5))), "Invalid spec.completions"},
		{"no completions any more, NonIndexed", job(nonIndexed), job(nonIndexed, size(nil, n(3))), "Invalid spec.completions"},
		{"mode", job(nonIndexed), job(), "Invalid spec.completionMode"},
		{"policy added", job(), job(policy(rule(nil, 1))), "Invalid spec.podFailurePolicy"},
		{"policy removed", job(policy(rule(nil, 1))), job(), "Invalid spec.podFailurePolicy"},
		{"policy kept", job(policy(rule(ptr("a"), 1))), job(policy(rule(ptr("a"), 1))), ""},
		{"policy: a code", job(policy(rule(nil, 1))), job(policy(rule(nil, 2))), "Invalid spec.podFailurePolicy"},
		{"policy: a container", job(policy(rule(nil, 1))), job(policy(rule(ptr("a"), 1))), "Invalid spec.podFailurePolicy"},
		{"policy: no list for an empty one", job(policy(&batch.PodFailurePolicy{})), job(policy(&batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{}})), ""},
		{"limit per index", job(func(s *batch.JobSpec) { s.BackoffLimitPerIndex = n(1) }), job(func(s *batch.JobSpec) { s.BackoffLimitPerIndex = n(2) }), "Invalid spec.backoffLimitPerIndex"},
		{"success policy added", job(), job(success(&batch.SuccessPolicy{Rules: []batch.SuccessPolicyRule{{SucceededCount: n(1)}}})), "Invalid spec.successPolicy"},
		{"success policy: indexes", job(success(&batch.SuccessPolicy{Rules: []batch.SuccessPolicyRule{{SucceededIndexes: ptr("1")}}})),
			job(success(&batch.SuccessPolicy{Rules: []batch.SuccessPolicyRule{{SucceededIndexes: ptr("2")}}})), "Invalid spec.successPolicy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := typesAndFields(tt.new.ValidateUpdate(tt.old)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
