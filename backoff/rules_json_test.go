package backoff

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const richManifest = `{"name": "main", "image": "busybox", "restartPolicy": "OnFailure", "restartPolicyRules": [
	{"name": "oom", "action": "Restart", "reasons": ["OOMKilled"], "limit": 3, "window": "1h"},
	{"name": "busy", "action": "Restart", "exitCodes": {"operator": "In", "values": [75]}, "delay": {"initial": "5s", "max": "5s"}},
	{"name": "killed", "action": "GiveUp", "exitCodes": {"operator": "In", "ranges": ["128-159"]}, "signals": ["SIGKILL"], "ranLess": "90s", "ranAtLeast": "1ms", "attempts": 4}]}`

func richPolicy() ContainerPolicy {
	return ContainerPolicy{RestartPolicy: RestartPolicyOnFailure, Rules: Rules{
		{Name: "oom", Action: Restart, Reasons: []string{"OOMKilled"}, Limit: 3, Window: time.Hour},
		{Name: "busy", Action: Restart, ExitCodes: &ExitCodes{Operator: OperatorIn, Values: []int32{75}}, Delay: &Policy{Initial: 5 * second, Max: 5 * second}},
		{Name: "killed", Action: GiveUp, ExitCodes: &ExitCodes{Operator: OperatorIn, Ranges: []CodeRange{{128, 159}}}, Signals: []string{"SIGKILL"},
			RanLess: 90 * second, RanAtLeast: time.Millisecond, Attempts: 4},
	}}
}

// A manifest with all of our fields fills a ContainerPolicy, by way of a container that
// embeds one too.
func TestManifestFillsRules(t *testing.T) {
	var container struct {
		Name string `json:"name"`
		ContainerPolicy
	}
	if err := json.Unmarshal([]byte(richManifest), &container); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(richPolicy(), container.ContainerPolicy); diff != "" || container.Name != "main" {
		t.Error(diff)
	}
	if err := container.Validate(); err != nil {
		t.Error(err)
	}
}

// Rules and policies come out of JSON as they went in.
func TestRulesGoThroughJSON(t *testing.T) {
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
		var back ContainerPolicy
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, back); diff != "" {
			t.Fatalf("%s: %s", text, diff)
		}
		p, again := policies().Draw(t, "curve"), Policy{}
		if text, err = json.Marshal(p); err == nil {
			err = json.Unmarshal(text, &again)
		}
		if err != nil || p != again {
			t.Fatalf("%s: %+v, want %+v: %v", text, again, p, err)
		}
	})
}

// Every value of a wrong form is named with its path, durations as numbers too, and
// what is right is read.
func TestWrongFormsAreNamedAtOnce(t *testing.T) {
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
	var c ContainerPolicy
	err := json.Unmarshal([]byte(text), &c)
	got := errorLines(err)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(c.Rules) != 6 || c.Rules[1].Action != GiveUp || c.Rules[1].ExitCodes.Ranges[0] != (CodeRange{1, 2}) {
		t.Errorf("read %+v", c.Rules)
	}
	for _, text := range []string{`{"initial": 10000000000, "max": "5m"}`, `[]`, `"5s"`} {
		var p Policy
		if err := json.Unmarshal([]byte(text), &p); err == nil || !strings.HasPrefix(err.Error(), "backoff: Policy.UnmarshalJSON: ") {
			t.Errorf("%s: %v", text, err)
		}
	}
	var r Rule
	if err := json.Unmarshal([]byte(`{"ranLess": 90}`), &r); err == nil || err.Error() != `backoff: Rule.UnmarshalJSON: ranLess: invalid value 90: must be a duration in quotes, such as "90s"` {
		t.Error(err)
	}
}

// A Policy that an earlier version wrote is refused with the new names, and not read as
// a zero one.
func TestOldNamesOfAPolicyAreRefused(t *testing.T) {
	for text, want := range map[string][]string{
		`{"Initial":10000000000,"Max":300000000000,"Factor":0,"Jitter":0,"ResetAfter":0,"Free":0}`: {
			`Initial: invalid value 10000000000: must be spelled initial, and durations are texts, such as "90s"`,
			`Max: invalid value 300000000000: must be spelled max, and durations are texts, such as "90s"`,
			`Factor: invalid value 0: must be spelled factor, and durations are texts, such as "90s"`,
			`Jitter: invalid value 0: must be spelled jitter, and durations are texts, such as "90s"`,
			`ResetAfter: invalid value 0: must be spelled resetAfter, and durations are texts, such as "90s"`,
			`Free: invalid value 0: must be spelled free, and durations are texts, such as "90s"`,
		},
		`{"initial":"1s","Max":"2s"}`: {`Max: invalid value "2s": must be spelled max, and durations are texts, such as "90s"`},
	} {
		var p Policy
		if got := errorLines(json.Unmarshal([]byte(text), &p)); !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s", text, strings.Join(got, "\n"))
		}
	}
	var c ContainerPolicy
	err := json.Unmarshal([]byte(`{"restartPolicyRules":[{"delay":{"Initial":1,"future":2}}]}`), &c)
	if got := errorLines(err); len(got) != 1 || !strings.HasPrefix(got[0], "restartPolicyRules[0].delay.Initial: ") {
		t.Errorf("%q", got)
	}
}

// errorLines returns the field.Errors of an error, a line each.
func errorLines(err error) (lines []string) {
	for _, e := range fieldErrorsOf(err) {
		lines = append(lines, e.Error())
	}
	return lines
}

// Whatever the text, reading rules panics on nothing, and what was read without an
// error is written and read again the same.
func FuzzRulesJSON(f *testing.F) {
	for _, text := range []string{richManifest, `{}`, `{"restartPolicyRules":[{"exitCodes":{"ranges":["1-2"]},"delay":{}}]}`, `{"restartPolicyRules":[null,{"delay":null}]}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var c, back ContainerPolicy
		if json.Unmarshal([]byte(text), &c) != nil {
			return
		}
		err := c.Validate()
		c.Decide(137)
		written, werr := json.Marshal(c)
		if werr == nil {
			werr = json.Unmarshal(written, &back)
		}
		if werr != nil {
			t.Fatalf("%s: %v", written, werr)
		}
		if again := back.Validate(); (err == nil) != (again == nil) {
			t.Fatalf("%v, then %v", err, again)
		}
	})
}
