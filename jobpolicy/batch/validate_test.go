package batch_test

import (
	"encoding/json"
	"errors"
	"math"
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
