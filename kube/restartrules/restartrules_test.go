package restartrules_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/kube/restartrules"
)

const secondAfter42 = `{"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}, "delay": {"initial": "1s", "max": "1s"}}]}`

func TestRulesAreReadFromJSONAndYAML(t *testing.T) {
	second := &backoff.Policy{Initial: time.Second, Max: time.Second}
	after42 := []backoff.Rule{{
		Action:    backoff.ActionRestart,
		ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{42}},
		Delay:     second,
	}}
	// The kubelet forgets after ten minutes, and so does a curve that does not say.
	minute := &backoff.Policy{Initial: 10 * time.Second, Max: time.Minute, ResetAfter: 10 * time.Minute}
	for text, want := range map[string]restartrules.Rules{
		secondAfter42: {Rules: after42},
		"restartPolicyRules:\n- action: Restart\n  exitCodes: {operator: In, values: [42]}\n  delay:\n    initial: 1s\n    max: 1s\n": {Rules: after42},
		"curve: {initial: 10s, max: 1m}":              {Curve: minute},
		`{"curve": null, "restartPolicyRules": null}`: {Rules: []backoff.Rule{}},
		"":   {},
		"{}": {},
		"---\ncurve: {initial: 10s, max: 1m}\n...\n":        {Curve: minute},
		`{"curve": {"initial": "10s", "max": "1m"}}` + "\n": {Curve: minute},
	} {
		got, err := restartrules.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"{":                              "line 1",
		"[]":                             "must be an object",
		"true":                           "must be an object",
		"curve: {initial: 1s\nmax":       "line",
		`{"nope": 1}`:                    "nope: unknown field",
		`{"Curve": {"initial": "1s"}}`:   "Curve: unknown field: did you mean curve?",
		`{"restartPolicyRule": []}`:      "did you mean restartPolicyRules?",
		`{"curve": {"nope": "1s"}}`:      "curve.nope: unknown field",
		`{"curve": 1}`:                   "curve: invalid value 1: must be an object",
		`{"curve": {"initial": "-1s"}}`:  "curve.initial: invalid value -1s",
		`{"curve": {"initial": "soon"}}`: `curve.initial: invalid value "soon"`,
		`{"curve": {}, "curve": {}}`:     `"curve" already set`,
		`{"curve": {"initial": "9s", "max": "1s"}}`:       "curve.max",
		`{"restartPolicyRules": {}}`:                      "restartPolicyRules: invalid value: must be a list of rules",
		`{"restartPolicyRules": [null]}`:                  "restartPolicyRules[0]: invalid value: must be a rule",
		`{"restartPolicyRules": [{"action": "Explode"}]}`: "restartPolicyRules[0].action: unsupported value",
		`{"restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}]}`: `restartPolicyRules[0].action: unsupported value "RestartAllContainers": must be Restart or GiveUp`,
		`{"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "Near", "values": [1]}}]}`:            "restartPolicyRules[0].exitCodes.operator",
		`{"restartPolicyRules": [{"action": "Restart", "delay": {"initial": "-1s"}}]}`:                                 "restartPolicyRules[0].delay.initial",
		"a: &a [1]\nb: *a":                 "line 2: an alias is not allowed",
		"---\n---\n":                       "another document",
		`{"curve": null}{"curve": null}`:   "document",
		strings.Repeat(" ", 64<<10) + "{}": "more than 65536",
		"curve: \xff":                      "",
	} {
		r, err := restartrules.Parse(text)
		if err == nil || r != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: %v, %v, want %q in it", text, r, err, want)
		}
	}
}

// Whoever may create a pod can write a text that is wrong in thousands of places.
func TestErrorsAreBounded(t *testing.T) {
	rule := `{"action": "Explode", "exitCodes": {"operator": "Near", "values": [1]}}`
	for name, text := range map[string]string{
		"empty rules":      `{"restartPolicyRules": [` + strings.Repeat("{},", 20_000) + `{}]}`,
		"21 rules":         `{"restartPolicyRules": [` + strings.Repeat(rule+",", 20) + rule + `]}`,
		"20 rules":         `{"restartPolicyRules": [` + strings.Repeat(rule+",", 19) + rule + `]}`,
		"values":           `{"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [` + strings.Repeat(`"",`, 20_000) + `1]}}]}`,
		"reasons":          `{"restartPolicyRules": [{"action": "Restart", "reasons": [` + strings.Repeat(`"",`, 20_000) + `""]}]}`,
		"unknown fields":   "{" + strings.Repeat(`"a": 1,`, 8_000) + `"b": 2}`,
		"different fields": "{" + manyFields(5_000) + `"b": 2}`,
		"nested":           strings.Repeat("[", 60_000),
	} {
		r, err := restartrules.Parse(text)
		if err == nil || r != nil || len(err.Error()) > 1000 {
			t.Errorf("%s: %v, %.2000v", name, r, err)
		}
		var errs field.Errors
		if errors.As(err, &errs) && (len(errs) > 8 || cap(errs) > 16) {
			t.Errorf("%s: %d mistakes are kept, room for %d", name, len(errs), cap(errs))
		}
	}
}

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"f%d": 1,`, i)
	}
	return b.String()
}

func TestDelayIsTheRulesOrTheCurve(t *testing.T) {
	own, all := &backoff.Policy{Initial: 1}, &backoff.Policy{Initial: 2}
	rules := []backoff.Rule{{Action: backoff.ActionRestart, Delay: own}, {Action: backoff.ActionRestart}}
	for _, tt := range []struct {
		curve  *backoff.Policy
		action backoff.Action
		rule   int
		want   *backoff.Policy
	}{
		{all, backoff.ActionRestart, 0, own},
		{all, backoff.ActionRestart, 1, all},
		{all, backoff.ActionRestart, -1, all},
		{nil, backoff.ActionRestart, 0, own},
		{nil, backoff.ActionRestart, 1, nil},
		{nil, backoff.ActionRestart, -1, nil},
		{all, backoff.ActionRestart, 2, all}, // of a decision by other rules
		{all, backoff.ActionGiveUp, 0, nil},
		{all, backoff.ActionStop, -1, nil},
	} {
		r := restartrules.Rules{Rules: rules, Curve: tt.curve}
		if got := r.Delay(tt.action, tt.rule); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
		if p := r.ExitPolicy(); p.Delay != tt.curve || len(p.Rules) != 2 {
			t.Errorf("%+v", p)
		}
	}
}

// FuzzParse checks that rules which parse are valid, and parse again from their own
// JSON to the same.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		secondAfter42, "", "{}", "null", "[]", "curve: {initial: 10s, max: 5m}", "curve:\n  initial: 10s\n  max: 1m\n  freeFailures: 3\n",
		`{"restartPolicyRules": [{"name": "a", "action": "GiveUp", "reasons": ["OOMKilled"], "minFailures": 3}, {"action": "Restart", "signals": ["SIGKILL"], "limit": 3, "window": "1h"}]}`,
		`{"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "NotIn", "ranges": ["128-159"]}, "ranLessThan": "1s"}], "curve": {"initial": "1s", "max": "1m", "factor": 1.5, "jitter": 0.2}}`,
		`{"curve": {"initial": "1s", "max": "1s"}}{"curve": 1}`, "&a [*a, *a]", "\xff", "a: b: c", "{\"curve\": {\"initial\": 1}}", "---\n---\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := restartrules.Parse(text)
		if err != nil {
			if err.Error() == "" || len(err.Error()) > 4000 {
				t.Errorf("an error of %d bytes: %.200s", len(err.Error()), err)
			}
			return
		}
		if len(r.Rules) > restartrules.MaxRules || r.ExitPolicy().Validate() != nil {
			t.Errorf("%+v is not valid", r)
		}
		encoded, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		second, err := restartrules.Parse(string(encoded))
		if err != nil {
			t.Fatalf("%s: %v", encoded, err)
		}
		again, err := json.Marshal(second)
		if err != nil || string(again) != string(encoded) {
			t.Fatalf("%s, then %s, %v", encoded, again, err)
		}
	})
}
