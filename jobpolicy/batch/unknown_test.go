package batch_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/jobpolicy/batch"
	"pgregory.net/rapid"
)

// Fields of a newer Kubernetes in a Job and in a rule survive a round trip.
func TestUnknownFieldsSurviveARoundTrip(t *testing.T) {
	const text = `{"kind":"Job","spec":{"parallelism":2,"podFailurePolicy":{"rules":[{"action":"FailJob","name":"bug","onExitCodes":{"operator":"In","values":[3]},"severity":{"level":[1,2.50]}}]},` +
		`"scheduling":{"schedulingPolicy":{"gang":{"minCount":2}}},"selector":{"matchLabels":{"a":"b"}},"template":{"spec":{"restartPolicy":"Never"}},"big":12345678901234567890}}`
	var j batch.Job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		t.Fatal(err)
	}
	if len(j.Spec.Unknown) != 3 || string(j.Spec.Unknown["big"]) != "12345678901234567890" || len(j.Spec.PodFailurePolicy.Rules[0].Unknown) != 1 {
		t.Errorf("kept %s", j.Spec.Unknown)
	}
	written, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(written, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// A specification without such fields is written as before, and reading into it
	// again drops earlier unknown fields.
	if err := json.Unmarshal([]byte(`{"parallelism":1}`), &j.Spec); err != nil || j.Spec.Unknown != nil {
		t.Errorf("%v, %v", j.Spec.Unknown, err)
	}
	// A known field in Unknown is not written twice, even with another case.
	j.Spec = batch.JobSpec{Unknown: map[string]json.RawMessage{"parallelism": []byte("9"), "Suspend": []byte("true"), "new": []byte("1")}}
	if text, err := json.Marshal(j.Spec); err != nil || string(text) != `{"new":1}` {
		t.Errorf("%s, %v", text, err)
	}
}

// Unknown fields do not affect known ones.
func TestFieldsOfAnotherTypeAreErrors(t *testing.T) {
	var spec batch.JobSpec
	if err := json.Unmarshal([]byte(`{"parallelism":"two"}`), &spec); err == nil {
		t.Error("a text as parallelism is no error")
	}
	var rule batch.PodFailurePolicyRule
	if err := json.Unmarshal([]byte(`{"action":1}`), &rule); err == nil {
		t.Error("a number as action is no error")
	}
}

func TestUnknownFieldsLeaveKnownOnesUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := batch.JobSpec{}
		n := rapid.Int32().Draw(t, "n")
		spec.Parallelism, spec.Suspend, spec.ManagedBy = &n, rapid.Bool().Draw(t, "suspend"), rapid.StringMatching("[a-z]*").Draw(t, "managedBy")
		spec.Unknown = map[string]json.RawMessage{}
		for _, name := range rapid.SliceOfDistinct(rapid.StringMatching("x[a-z]{0,3}"), rapid.ID).Draw(t, "unknown") {
			spec.Unknown[name] = json.RawMessage(`{"a":1}`)
		}
		if len(spec.Unknown) == 0 {
			spec.Unknown = nil
		}
		text, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		var back batch.JobSpec
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(spec, back); diff != "" {
			t.Fatal(diff)
		}
	})
}
