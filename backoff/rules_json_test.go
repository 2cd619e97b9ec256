package backoff_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/backoff"
	"pgregory.net/rapid"
)

const richManifest = `{"name": "main", "image": "busybox", "restartPolicy": "OnFailure", "restartPolicyRules": [
	{"name": "oom", "action": "Restart", "reasons": ["OOMKilled"], "limit": 3, "window": "1h"},
	{"name": "busy", "action": "Restart", "exitCodes": {"operator": "In", "values": [75]}, "delay": {"initial": "5s", "max": "5s"}},
	{"name": "killed", "action": "GiveUp", "exitCodes": {"operator": "In", "ranges": ["128-159"]}, "signals": ["SIGKILL"], "ranLess": "90s", "ranAtLeast": "1ms", "attempts": 4}]}`

func richPolicy() backoff.ExitPolicy {
	return backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure, Rules: backoff.Rules{
		{Name: "oom", Action: backoff.ActionRestart, Reasons: []string{"OOMKilled"}, Limit: 3, Window: time.Hour},
		{Name: "busy", Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{75}}, Delay: &backoff.Policy{Initial: 5 * second, Max: 5 * second}},
		{Name: "killed", Action: backoff.ActionGiveUp, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Ranges: []backoff.CodeRange{{128, 159}}}, Signals: []string{"SIGKILL"},
			RanLessThan: 90 * second, RanAtLeast: time.Millisecond, MinFailures: 4},
	}}
}

// A manifest with all additional fields can be read into an ExitPolicy, also into one
// embedded in a container.
func TestManifestFillsRules(t *testing.T) {
	var container struct {
		Name string `json:"name"`
		backoff.ExitPolicy
	}
	if err := json.Unmarshal([]byte(richManifest), &container); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(richPolicy(), container.ExitPolicy); diff != "" || container.Name != "main" {
		t.Error(diff)
	}
	if err := container.Validate(); err != nil {
		t.Error(err)
	}
}

func TestRulesRoundTripThroughJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := richPolicies().Draw(t, "policy")
		for i := range c.Rules { // absent and empty are the same
			if codes := c.Rules[i].ExitCodes; codes != nil && len(codes.Values) == 0 {
				codes.Values = nil
			}
			if len(c.Rules[i].Reasons) == 0 {
				c.Rules[i].Reasons = nil
			}
		}
		if len(c.Rules) == 0 {
			c.Rules = nil
		}
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var back backoff.ExitPolicy
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, back); diff != "" {
			t.Fatalf("%s: %s", text, diff)
		}
		p, again := policies().Draw(t, "curve"), backoff.Policy{}
		if text, err = json.Marshal(p); err == nil {
			err = json.Unmarshal(text, &again)
		}
		if err != nil || p != again {
			t.Fatalf("%s: %+v, want %+v: %v", text, again, p, err)
		}
	})
}

// Every malformed value is listed with its path, including durations as numbers, and
// correct values are read.
func TestUnmarshalReportsEveryMalformedValue(t *testing.T) {
	const text = `{"restartPolicyRules": [
		{"name": 7, "action": "Restart", "ranLess": 90, "ranAtLeast": "soon", "attempts": 1.5, "limit": "3", "window": 3600},
		{"action": "GiveUp", "exitCodes": {"operator": 1, "values": [1, "2", 1e10], "ranges": ["1-2", "3", "2..4", "-1-5", 5]}, "unknown": {}},
		"x", null,
		{"delay": {"initial": 5, "max": "5", "factor": "2", "free": {}, "resetAfter": null}, "signals": ["SIGHUP", 9], "reasons": "Error"},
		{"delay": 5, "exitCodes": []}]}`
	want := []string{
		`restartPolicyRules[0].name: invalid value 7: must be a string`,
		`restartPolicyRules[0].ranLess: invalid value 90: must be a duration in quotes, such as "90s"`,
		`restartPolicyRules[0].ranAtLeast: invalid value "soon": must be a duration in quotes, such as "90s"`,
		`restartPolicyRules[0].attempts: invalid value 1.5: must be an integer`,
		`restartPolicyRules[0].limit: invalid value "3": must be an integer`,
		`restartPolicyRules[0].window: invalid value 3600: must be a duration in quotes, such as "90s"`,
		`restartPolicyRules[1].exitCodes.operator: invalid value 1: must be a string`,
		`restartPolicyRules[1].exitCodes.values[1]: invalid value "2": must be an integer`,
		`restartPolicyRules[1].exitCodes.values[2]: invalid value 1e10: must be an integer`,
		`restartPolicyRules[1].exitCodes.ranges[1]: invalid value "3": must be a range in quotes, such as "128-159"`,
		`restartPolicyRules[1].exitCodes.ranges[2]: invalid value "2..4": must be a range in quotes, such as "128-159"`,
		`restartPolicyRules[1].exitCodes.ranges[3]: invalid value "-1-5": must be a range in quotes, such as "128-159"`,
		`restartPolicyRules[1].exitCodes.ranges[4]: invalid value 5: must be a range in quotes, such as "128-159"`,
		`restartPolicyRules[2]: invalid value "x": must be an object`,
		`restartPolicyRules[4].reasons: invalid value "Error": must be a list`,
		`restartPolicyRules[4].signals[1]: invalid value 9: must be a string`,
		`restartPolicyRules[4].delay.initial: invalid value 5: must be a duration in quotes, such as "90s"`,
		`restartPolicyRules[4].delay.max: invalid value "5": must be a duration in quotes, such as "90s"`,
		`restartPolicyRules[4].delay.factor: invalid value "2": must be a number`,
		`restartPolicyRules[4].delay.free: invalid value: must be an integer`,
		`restartPolicyRules[5].exitCodes: invalid value: must be an object`,
		`restartPolicyRules[5].delay: invalid value 5: must be an object`,
	}
	var c backoff.ExitPolicy
	err := json.Unmarshal([]byte(text), &c)
	got := errorLines(err)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(c.Rules) != 6 || c.Rules[1].Action != backoff.ActionGiveUp || c.Rules[1].ExitCodes.Ranges[0] != (backoff.CodeRange{1, 2}) {
		t.Errorf("read %+v", c.Rules)
	}
	for _, text := range []string{`{"initial": 10000000000, "max": "5m"}`, `[]`, `"5s"`} {
		var p backoff.Policy
		if err := json.Unmarshal([]byte(text), &p); err == nil || !strings.HasPrefix(err.Error(), "backoff: Policy.UnmarshalJSON: ") {
			t.Errorf("%s: %v", text, err)
		}
	}
	var r backoff.Rule
	if err := json.Unmarshal([]byte(`{"ranLess": 90}`), &r); err == nil || err.Error() != `backoff: Rule.UnmarshalJSON: ranLess: invalid value 90: must be a duration in quotes, such as "90s"` {
		t.Error(err)
	}
}

// errorLines returns the field.Errors of an error, a line each.
func errorLines(err error) (lines []string) {
	for _, e := range fieldErrorsOf(err) {
		lines = append(lines, e.Error())
	}
	return lines
}

// Reading rules never panics, rules read without an error round-trip, and every field
// is either read or reported.
func FuzzRulesJSON(f *testing.F) {
	for _, text := range []string{richManifest, `{}`, `{"restartPolicyRules":[{"exitCodes":{"ranges":["1-2"]},"delay":{}}]}`, `{"restartPolicyRules":[null,{"delay":null}]}`,
		`{"restartPolicyRules":[{"limt":5,"exitCodes":{"valuse":[1]},"delay":{"maxx":"5s","":{"<\u2028":[]}}}],"restartPolcyRules":[]}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var c, back backoff.ExitPolicy
		if json.Unmarshal([]byte(text), &c) != nil {
			return
		}
		err := c.Validate()
		c.DecideExit(backoff.Exit{Code: 137}, 1)
		written, werr := json.Marshal(c)
		if werr == nil {
			werr = json.Unmarshal(written, &back)
		}
		if werr != nil {
			t.Fatalf("%s: %v", written, werr)
		}
		if again := back.Validate(); fmt.Sprint(err) != fmt.Sprint(again) {
			t.Fatalf("%v, then %v", err, again)
		}
		if again, err := json.Marshal(back); err != nil || string(again) != string(written) {
			t.Fatalf("%s, then %s: %v", written, again, err)
		}
		var container map[string]json.RawMessage
		var rules backoff.Rules
		if json.Unmarshal([]byte(text), &container) != nil || json.Unmarshal(container["restartPolicyRules"], &rules) != nil {
			return
		}
		got, want := unknownIn(backoff.ExitPolicy{Rules: rules}.Validate()), strayFields(container["restartPolicyRules"])
		if len(got) != len(want) {
			t.Fatalf("%s: reported %q, want %q", text, got, want)
		}
	})
}
