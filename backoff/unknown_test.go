package backoff_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/field"
	"pgregory.net/rapid"
)

// The names of an object's fields, written down a second time.
var (
	policyJSON = []string{"initial", "max", "factor", "jitter", "resetAfter", "free"}
	codesJSON  = []string{"operator", "values", "ranges"}
	ruleJSON   = []string{"name", "action", "exitCodes", "reasons", "signals", "ranLess", "ranAtLeast", "attempts", "delay", "limit", "window"}
)

// strayFields returns the paths of all fields in the JSON of a list of rules that are
// not among the names above.
func strayFields(text []byte) (paths []string) {
	var rules []any
	if json.Unmarshal(text, &rules) != nil {
		return nil
	}
	stray := func(path string, object any, known []string) {
		fields, _ := object.(map[string]any)
		for name := range fields {
			if !slices.Contains(known, name) {
				paths = append(paths, path+name)
			}
		}
	}
	for i, rule := range rules {
		path := fmt.Sprintf("restartPolicyRules[%d].", i)
		stray(path, rule, ruleJSON)
		if r, ok := rule.(map[string]any); ok {
			stray(path+"exitCodes.", r["exitCodes"], codesJSON)
			stray(path+"delay.", r["delay"], policyJSON)
		}
	}
	slices.Sort(paths)
	return paths
}

// unknownIn returns the paths of the unknown fields among the mistakes.
func unknownIn(err error) (paths []string) {
	for _, e := range fieldErrorsOf(err) {
		if e.Type == field.Unknown {
			paths = append(paths, e.Field)
		}
	}
	slices.Sort(paths)
	return paths
}

func TestUnknownFieldsAreReportedWithASuggestion(t *testing.T) {
	type validated interface{ Validate() error }
	for _, tt := range []struct {
		into validated
		text string
		want []string
	}{
		{&backoff.Policy{}, `{"initial": "1s", "max": "5s"}`, nil},
		{&backoff.Policy{}, `{"initial": "1s", "max": "5s", "maxx": "1m"}`, []string{"maxx: unknown field: did you mean max?"}},
		{&backoff.Policy{}, `{"initial": "1s", "max": "5s", "Factor": 3, "restAfter": null}`,
			[]string{"Factor: unknown field: did you mean factor?", "restAfter: unknown field: did you mean resetAfter?"}},
		{&backoff.Policy{}, `{"Initial": "1s", "max": "5s"}`,
			[]string{"Initial: invalid value 0s: must be > 0", "Initial: unknown field: did you mean initial?"}},
		{&backoff.Policy{}, `{"initial": "1s", "max": "5s", "": 1, "a b": 1, "colour": 1, "` + strings.Repeat("x", 70) + `": 1}`,
			[]string{`"": unknown field`, `"a b": unknown field`, "colour: unknown field", `"` + strings.Repeat("x", 64) + `" and 6 more bytes: unknown field`}},
		{&backoff.ExitPolicy{}, `{"name": "web", "image": "nginx", "restartPolicyRules": [
			{"action": "Restart", "reasons": ["Error"], "limt": 5},
			{"action": "Restart", "exitCodes": {"operator": "In", "valuse": [1]}, "delay": {"initial": "1s", "max": "5s", "Factor": 1, "maxx": "1m"}, "windows": "1h"}]}`,
			[]string{
				"restartPolicyRules[0].limt: unknown field: did you mean limit?",
				"restartPolicyRules[1].exitCodes.valuse: unknown field: did you mean values?",
				"restartPolicyRules[1].delay.Factor: unknown field: did you mean factor?",
				"restartPolicyRules[1].delay.maxx: unknown field: did you mean max?",
				"restartPolicyRules[1].windows: unknown field: did you mean window?",
			}},
	} {
		if err := json.Unmarshal([]byte(tt.text), tt.into); err != nil {
			t.Errorf("%s: %v", tt.text, err)
		}
		if got := errorLines(tt.into.Validate()); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.text, got, tt.want)
		}
	}
}

// Unknown fields are found wherever they are, also after the policy was stored, and
// change nothing else.
func TestUnknownFieldsOfRulesSurviveJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clean := richPolicies().Draw(t, "policy")
		text, err := json.Marshal(clean.Rules)
		if err != nil {
			t.Fatal(err)
		}
		var objects []any
		if err := json.Unmarshal(text, &objects); err != nil {
			t.Fatal(err)
		}
		added := 0
		litter := func(object any) {
			fields, ok := object.(map[string]any)
			if !ok {
				return
			}
			names := rapid.SampledFrom([]string{"limt", "Limit", "maxx", "operater", "range", "Name", "x-y_0", "restartPolicyRules"})
			values := rapid.SampledFrom([]any{nil, 5.0, "<5s>", []any{true}, map[string]any{"limt": 1.0}})
			more := rapid.MapOfN(names, values, 0, 2).Draw(t, "unknown")
			maps.Copy(fields, more)
			added += len(more)
		}
		for _, o := range objects {
			rule := o.(map[string]any)
			codes, delay := rule["exitCodes"], rule["delay"]
			litter(o)
			litter(codes)
			litter(delay)
		}
		if text, err = json.Marshal(objects); err != nil {
			t.Fatal(err)
		}
		read := func(text []byte) (c backoff.ExitPolicy) {
			if err := json.Unmarshal(text, &c.Rules); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			return c
		}
		first := read(text)
		want := strayFields(text)
		if got := unknownIn(first.Validate()); !slices.Equal(got, want) || len(got) != added {
			t.Fatalf("%s: reported %q, want %q", text, got, want)
		}
		stored, err := json.Marshal(first.Rules)
		if err != nil {
			t.Fatal(err)
		}
		second := read(stored)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("%s: %s", stored, diff)
		}
		var back []any
		if err := json.Unmarshal(stored, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(objects, back); diff != "" {
			t.Fatalf("%s: %s", stored, diff)
		}
		for i := range second.Rules {
			r := &second.Rules[i]
			r.Unknown = ""
			if r.ExitCodes != nil {
				r.ExitCodes.Unknown = ""
			}
			if r.Delay != nil {
				r.Delay.Unknown = ""
			}
		}
		if again, err := json.Marshal(second.Rules); err != nil || string(again) != string(mustMarshal(t, clean.Rules)) {
			t.Fatalf("%s without unknown fields: %s, %v", text, again, err)
		}
	})
}

func mustMarshal(t *rapid.T, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A Policy with unknown fields is invalid wherever a Policy is used.
func TestUnknownFieldsMakeAPolicyInvalid(t *testing.T) {
	var p backoff.Policy
	if err := json.Unmarshal([]byte(`{"initial": "1s", "max": "1m", "fre": 3}`), &p); err != nil {
		t.Fatal(err)
	}
	const want = "fre: unknown field: did you mean free?"
	_, restarter := backoff.NewRestarter(p, backoff.RestarterOptions[string]{})
	_, tracker := backoff.NewTracker[string](p, backoff.TrackerOptions{})
	retry := backoff.Retry(t.Context(), p, func(context.Context) error { return nil }, backoff.RetryOptions{})
	for name, err := range map[string]error{"NewRestarter": restarter, "NewTracker": tracker, "Retry": retry} {
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r, err := backoff.NewRestarter(backoff.CrashLoop(), backoff.RestarterOptions[string]{
		PolicyFor: func(key string, _ backoff.Exit) backoff.Policy {
			if key == "own" {
				return p
			}
			return backoff.Policy{}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	rule := backoff.ExitPolicy{Rules: backoff.Rules{{Action: backoff.ActionRestart, MinFailures: 1, Delay: &p}}}
	for _, tt := range []struct {
		key     string
		policy  backoff.ExitPolicy
		invalid bool
	}{{"own", backoff.ExitPolicy{}, true}, {"rule", rule, true}, {"none", backoff.ExitPolicy{}, false}} {
		d := r.Exited(tt.key, tt.policy, backoff.Exit{Run: 1, Code: 1})
		if d.PolicyInvalid != tt.invalid || d.Delay != 10*time.Second {
			t.Errorf("%s: %+v", tt.key, d)
		}
	}
}

// Decoding replaces earlier unknown fields, and a known field takes precedence over one
// that was set as unknown.
func TestUnknownFieldsAreThoseLastDecoded(t *testing.T) {
	var r backoff.Rule
	for _, text := range []string{`{"limt": 5, "exitCodes": {"x": 1}}`, `{"limit": 5, "exitCodes": {"operator": "In"}}`} {
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
	}
	if r.Unknown != "" || r.ExitCodes.Unknown != "" || r.Limit != 5 {
		t.Errorf("%+v, %+v", r, r.ExitCodes)
	}
	for unknown, want := range map[string]string{
		`{"limit":7}`:              `{"limit":5}`,
		`{"limit":7,"a":{ "b":1}}`: `{"limit":5,"a":{"b":1}}`,
	} {
		text, err := json.Marshal(backoff.Rule{Limit: 5, Unknown: unknown})
		if err != nil || string(text) != want {
			t.Errorf("%s: %s, %v, want %s", unknown, text, err, want)
		}
	}
	if text, err := json.Marshal(backoff.Rule{Unknown: `{"a":1}`}); err != nil || string(text) != `{"a":1}` {
		t.Errorf("%s, %v", text, err)
	}
}

// An Unknown that no JSON decodes to is a mistake itself.
func TestUnknownIsAnObjectWithFields(t *testing.T) {
	for _, unknown := range []string{"limt", "{}", "null", "[1]", "{", " "} {
		p := backoff.Policy{Initial: 1, Max: 1, Unknown: unknown}
		want := fmt.Sprintf("Unknown: invalid value %q: must be empty or a JSON object with fields", unknown)
		if got := errorLines(p.Validate()); !slices.Equal(got, []string{want}) {
			t.Errorf("got %q, want %q", got, want)
		}
		rules := backoff.Rules{{Action: backoff.ActionRestart, MinFailures: 1, Delay: &p}}
		want = "restartPolicyRules[0].delay." + want
		if got := errorLines(backoff.ExitPolicy{Rules: rules}.Validate()); !slices.Equal(got, []string{want}) {
			t.Errorf("got %q, want %q", got, want)
		}
		if _, err := json.Marshal(p); (err == nil) != (unknown == "{}" || unknown == "null") {
			t.Errorf("%s: %v", unknown, err)
		}
	}
}

// A strict decoder finds misspelled fields of a container, and Validate those of its
// rules.
func TestStrictDecodingFindsMisspelledRules(t *testing.T) {
	for text, want := range map[string]string{
		`{"name": "web", "restartPolicyRules": [{"limt": 5}]}`: "",
		`{"name": "web", "restartPolcyRules": []}`:             `json: unknown field "restartPolcyRules"`,
		`{"name": "web", "restartPolcy": "Never"}`:             `json: unknown field "restartPolcy"`,
	} {
		var container struct {
			Name string `json:"name"`
			backoff.ExitPolicy
		}
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&container)
		if want == "" {
			if got := unknownIn(container.Validate()); err != nil || !slices.Equal(got, []string{"restartPolicyRules[0].limt"}) {
				t.Errorf("%s: %v, %q", text, err, got)
			}
		} else if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// States of later versions have more fields.
func TestStatesIgnoreUnknownFields(t *testing.T) {
	const state = `{"last": {"code": 1, "newer": 1, "finished": "2030-01-01T12:00:00Z"}, "newer": {},
		"decision": {"action": "Restart", "delay": "10s", "failures": 1, "rule": -1, "newer": 1, "notBefore": "2030-01-01T12:00:10Z"},
		"rules": [{"rule": 0, "failures": 1, "keep": "1h", "reset": "1h", "newer": 1}],
		"history": [{"exit": {"code": 2, "newer": 1, "finished": "2030-01-01T11:00:00Z"}, "newer": 1,
			"decision": {"action": "Restart", "delay": "10s", "failures": 1, "rule": -1, "newer": 1, "notBefore": "2030-01-01T11:00:10Z"}}]}`
	for text, into := range map[string]any{
		state: &backoff.RestarterState{},
		`{"failures": 1, "delay": "1s", "updated": "2030-01-01T12:00:00Z", "newer": 1}`: &backoff.TrackerState{},
	} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if out, err := json.Marshal(into); err != nil || strings.Contains(string(out), "newer") {
			t.Errorf("%s, %v", out, err)
		}
	}
	r, err := backoff.NewRestarter(backoff.CrashLoop(), backoff.RestarterOptions[string]{History: 1})
	if err != nil {
		t.Fatal(err)
	}
	var s backoff.RestarterState
	if err := errors.Join(json.Unmarshal([]byte(state), &s), r.Restore("web", s)); err != nil {
		t.Error(err)
	}
}
