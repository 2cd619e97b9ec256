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
	{"name": "killed", "action": "GiveUp", "exitCodes": {"operator": "In", "ranges": ["128-159"]}, "signals": ["SIGKILL"], "ranLessThan": "90s", "ranAtLeast": "1ms", "minFailures": 4}]}`

func richPolicy() backoff.ExitPolicy {
	return backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyOnFailure, Rules: []backoff.Rule{
		{Name: "oom", Action: backoff.ActionRestart, Reasons: []string{"OOMKilled"}, Limit: 3, Window: time.Hour},
		{Name: "busy", Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{75}}, Delay: &backoff.Policy{Initial: 5 * second, Max: 5 * second}},
		{Name: "killed", Action: backoff.ActionGiveUp, ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Ranges: []backoff.CodeRange{{128, 159}}}, Signals: []string{"SIGKILL"},
			RanLessThan: 90 * second, RanAtLeast: time.Millisecond, MinFailures: 4},
	}}
}

// A manifest with all additional fields can be read into an ExitPolicy.
func TestManifestFillsRules(t *testing.T) {
	var c backoff.ExitPolicy
	if err := json.Unmarshal([]byte(richManifest), &c); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(richPolicy(), c); diff != "" {
		t.Error(diff)
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

// The fields of a policy beside its rules.
func TestPolicyHasDurationsAsText(t *testing.T) {
	const text = `{"restartPolicy":"OnFailure","delay":{"initial":"1s","max":"1m0s","freeFailures":2},"limit":3,"retries":5,"window":"1h0m0s","giveUpFor":"24h0m0s"}`
	want := backoff.ExitPolicy{
		RestartPolicy: backoff.RestartPolicyOnFailure, Delay: &backoff.Policy{Initial: second, Max: minute, FreeFailures: 2},
		Limit: 3, Retries: 5, Window: time.Hour, GiveUpFor: 24 * time.Hour,
	}
	var got backoff.ExitPolicy
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if again, err := json.Marshal(got); err != nil || string(again) != text {
		t.Errorf("%s, %v", again, err)
	}
}

// Unknown fields of rules, curves and exit codes are refused with a suggestion. Those
// beside the rules belong to the container, unless they look misspelled.
func TestUnknownFieldsAreRefusedWithASuggestion(t *testing.T) {
	for _, tt := range []struct {
		into any
		text string
		want []string
	}{
		{&backoff.Policy{}, `{"initial": "1s", "max": "5s"}`, nil},
		{&backoff.Policy{}, `{"initial": "1s", "max": "5s", "maxx": "1m"}`, []string{"maxx: unknown field: did you mean max?"}},
		{&backoff.Policy{}, `{"initial": "1s", "max": "5s", "Factor": 3, "restAfter": null}`,
			[]string{"Factor: unknown field: did you mean factor?", "restAfter: unknown field: did you mean resetAfter?"}},
		{&backoff.Policy{}, `{"Initial": "1s", "max": "5s"}`, []string{"Initial: unknown field: did you mean initial?"}},
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
		{&backoff.ExitPolicy{}, `{"restartPolcy": "Never", "restartPolicyRule": [], "retires": 3, "delay": {"max": 5}}`,
			[]string{
				`delay.max: invalid value 5: must be a duration in quotes, such as "90s"`,
				"restartPolcy: unknown field: did you mean restartPolicy?",
				"restartPolicyRule: unknown field: did you mean restartPolicyRules?",
				"retires: unknown field: did you mean retries?",
			}},
		{&backoff.ExitPolicy{}, `{"args": [], "command": [], "env": [], "envFrom": [], "image": "", "imagePullPolicy": "", "lifecycle": {}, "livenessProbe": {}, "name": "",
			"ports": [], "readinessProbe": {}, "resizePolicy": [], "resources": {}, "securityContext": {}, "startupProbe": {}, "stdin": true, "stdinOnce": true,
			"terminationMessagePath": "", "terminationMessagePolicy": "", "tty": true, "volumeDevices": [], "volumeMounts": [], "workingDir": ""}`, nil},
	} {
		err := json.Unmarshal([]byte(tt.text), tt.into)
		if got := errorLines(err); !slices.Equal(got, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.text, got, tt.want)
		}
	}
}

// States of later versions have more fields.
func TestStatesIgnoreUnknownFields(t *testing.T) {
	for text, into := range map[string]any{
		`{"exit": {"code": 1, "newer": 1}, "newer": {}, "rules": [{"rule": 0, "newer": 1}], "history": [{"newer": 1}]}`: &backoff.State{},
		`{"failures": 1, "delay": "1s", "updated": "2030-01-01T12:00:00Z", "newer": 1}`:                                 &backoff.TrackerState{},
		`{"failures": 1, "newer": 1}`: &backoff.Streak{},
	} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if out, err := json.Marshal(into); err != nil || strings.Contains(string(out), "newer") {
			t.Errorf("%s, %v", out, err)
		}
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
		{"name": 7, "action": "Restart", "ranLessThan": 90, "ranAtLeast": "soon", "minFailures": 1.5, "limit": "3", "window": 3600},
		{"action": "GiveUp", "exitCodes": {"operator": 1, "values": [1, "2", 1e10], "ranges": ["1-2", "3", "2..4", "-1-5", 5]}, "limit": null},
		"x", null,
		{"delay": {"initial": 5, "max": "5", "factor": "2", "freeFailures": {}, "resetAfter": null}, "signals": ["SIGHUP", 9], "reasons": "Error"},
		{"delay": 5, "exitCodes": []}]}`
	want := []string{
		`restartPolicyRules[0].name: invalid value 7: must be a string`,
		`restartPolicyRules[0].ranLessThan: invalid value 90: must be a duration in quotes, such as "90s"`,
		`restartPolicyRules[0].ranAtLeast: invalid value "soon": must be a duration in quotes, such as "90s"`,
		`restartPolicyRules[0].minFailures: invalid value 1.5: must be an integer`,
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
		`restartPolicyRules[4].delay.freeFailures: invalid value: must be an integer`,
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
	if err := json.Unmarshal([]byte(`{"ranLessThan": 90}`), &r); err == nil || err.Error() != `backoff: Rule.UnmarshalJSON: ranLessThan: invalid value 90: must be a duration in quotes, such as "90s"` {
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
	for _, text := range []string{richManifest, `{}`, `{"restartPolicyRules":[{"exitCodes":{"ranges":["1-2"]},"delay":{}}],"delay":{"max":"1h"},"window":"1s","giveUpFor":"0s"}`, `{"restartPolicyRules":[null,{"delay":null}]}`,
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
		if stray := strayFields(container(text)); len(stray) > 0 {
			t.Fatalf("%s: %q was read", text, stray)
		}
	})
}

// container returns the rules in the JSON of a container.
func container(text string) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &fields) != nil {
		return nil
	}
	return fields["restartPolicyRules"]
}

// The names of an object's fields, written down a second time.
var (
	policyJSON = []string{"initial", "max", "factor", "jitter", "resetAfter", "freeFailures"}
	codesJSON  = []string{"operator", "values", "ranges"}
	ruleJSON   = []string{"name", "action", "exitCodes", "reasons", "signals", "ranLessThan", "ranAtLeast", "minFailures", "uncounted", "delay", "limit", "window"}
)

// strayFields returns the paths of all fields in the JSON of a list of rules that
// the names above lack.
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
