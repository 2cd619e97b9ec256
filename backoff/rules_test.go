package backoff_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/field"
	"pgregory.net/rapid"
)

func TestFirstMatchingRuleDecides(t *testing.T) {
	rule := func(a backoff.Action, op backoff.Operator, values ...int32) backoff.Rule {
		return backoff.Rule{Action: a, ExitCodes: &backoff.ExitCodes{Operator: op, Values: values}}
	}
	for _, tt := range []struct {
		name   string
		policy backoff.RestartPolicy
		rules  []backoff.Rule
		code   int32
		action backoff.Action
		rule   int
	}{
		{"empty is Always", "", nil, 0, backoff.ActionRestart, -1},
		{"Always", backoff.RestartPolicyAlways, nil, 0, backoff.ActionRestart, -1},
		{"OnFailure, failed", backoff.RestartPolicyOnFailure, nil, -1, backoff.ActionRestart, -1},
		{"OnFailure, succeeded", backoff.RestartPolicyOnFailure, nil, 0, backoff.ActionStop, -1},
		{"Never", backoff.RestartPolicyNever, nil, 1, backoff.ActionStop, -1},
		{"unknown policy", "always", nil, 0, backoff.ActionRestart, -1},
		{"In hits", backoff.RestartPolicyNever, []backoff.Rule{rule(backoff.ActionRestart, backoff.OperatorIn, 41, 42)}, 42, backoff.ActionRestart, 0},
		{"In misses", backoff.RestartPolicyNever, []backoff.Rule{rule(backoff.ActionRestart, backoff.OperatorIn, 41, 42)}, 43, backoff.ActionStop, -1},
		{"NotIn hits", backoff.RestartPolicyNever, []backoff.Rule{rule(backoff.ActionRestart, backoff.OperatorNotIn, 0)}, 1, backoff.ActionRestart, 0},
		{"NotIn misses", backoff.RestartPolicyNever, []backoff.Rule{rule(backoff.ActionRestart, backoff.OperatorNotIn, 0)}, 0, backoff.ActionStop, -1},
		{"In nothing", backoff.RestartPolicyNever, []backoff.Rule{rule(backoff.ActionRestart, backoff.OperatorIn)}, 0, backoff.ActionStop, -1},
		{"NotIn nothing", backoff.RestartPolicyNever, []backoff.Rule{rule(backoff.ActionRestart, backoff.OperatorNotIn)}, 0, backoff.ActionRestart, 0},
		{"first match wins", backoff.RestartPolicyNever, []backoff.Rule{rule(backoff.ActionRestart, backoff.OperatorIn, 1), rule(backoff.ActionRestartAll, backoff.OperatorIn, 2), rule(backoff.ActionRestart, backoff.OperatorIn, 2)}, 2, backoff.ActionRestartAll, 1},
		{"no exit codes", backoff.RestartPolicyNever, []backoff.Rule{{Action: backoff.ActionRestart}, rule(backoff.ActionRestart, backoff.OperatorIn, 2)}, 2, backoff.ActionRestart, 1},
		{"unknown operator", backoff.RestartPolicyNever, []backoff.Rule{rule(backoff.ActionRestart, "Exists", 2), rule(backoff.ActionRestartAll, backoff.OperatorIn, 2)}, 2, backoff.ActionRestartAll, 1},
		{"unknown action ends the search", backoff.RestartPolicyNever, []backoff.Rule{rule("Reboot", backoff.OperatorIn, 2), rule(backoff.ActionRestart, backoff.OperatorIn, 2)}, 2, backoff.ActionStop, -1},
		{"Stop is no rule's action", backoff.RestartPolicyAlways, []backoff.Rule{rule(backoff.ActionStop, backoff.OperatorIn, 2)}, 2, backoff.ActionRestart, -1},
		{"GiveUp is", backoff.RestartPolicyAlways, []backoff.Rule{rule(backoff.ActionGiveUp, backoff.OperatorIn, 2)}, 2, backoff.ActionGiveUp, 0},
	} {
		action, index := backoff.ExitPolicy{RestartPolicy: tt.policy, Rules: tt.rules}.DecideExit(backoff.Exit{Code: tt.code}, 1)
		if action != tt.action || index != tt.rule {
			t.Errorf("%s: %s by %d, want %s by %d", tt.name, action, index, tt.action, tt.rule)
		}
	}
}

// slowDecide is the rule of KEP-5307 taken literally: collect the matching rules, take
// the first, otherwise apply the restart policy.
func slowDecide(c backoff.ExitPolicy, code int32) (backoff.Action, int) {
	var matching []int
	for i, r := range c.Rules {
		if r.ExitCodes == nil {
			continue
		}
		listed := slices.Contains(r.ExitCodes.Values, code)
		if r.ExitCodes.Operator == "In" && listed || r.ExitCodes.Operator == "NotIn" && !listed {
			matching = append(matching, i)
		}
	}
	if len(matching) > 0 {
		first := c.Rules[matching[0]]
		if first.Action == "Restart" || first.Action == "RestartAllContainers" {
			return first.Action, matching[0]
		}
	}
	switch c.RestartPolicy {
	case "Never":
		return backoff.ActionStop, -1
	case "OnFailure":
		if code == 0 {
			return backoff.ActionStop, -1
		}
	}
	return backoff.ActionRestart, -1
}

func codes() *rapid.Generator[int32] {
	return rapid.OneOf(rapid.Int32Range(0, 3), rapid.Int32())
}

// containerPolicies draws policies, valid or not.
func containerPolicies() *rapid.Generator[backoff.ExitPolicy] {
	return rapid.Custom(func(t *rapid.T) backoff.ExitPolicy {
		rules := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) backoff.Rule {
			r := backoff.Rule{Action: rapid.SampledFrom([]backoff.Action{backoff.ActionRestart, backoff.ActionRestartAll, backoff.ActionRestart, backoff.ActionRestartAll, backoff.ActionStop, "Reboot", ""}).Draw(t, "action")}
			if rapid.IntRange(0, 9).Draw(t, "codes?") > 0 {
				r.ExitCodes = &backoff.ExitCodes{
					Operator: rapid.SampledFrom([]backoff.Operator{backoff.OperatorIn, backoff.OperatorNotIn, backoff.OperatorIn, backoff.OperatorNotIn, "Exists", ""}).Draw(t, "operator"),
					Values:   rapid.SliceOfN(codes(), 0, 4).Draw(t, "values"),
				}
			}
			return r
		}), 0, 4).Draw(t, "rules")
		policy := rapid.SampledFrom([]backoff.RestartPolicy{"", "Always", "OnFailure", "Never", "Sometimes"}).Draw(t, "policy")
		return backoff.ExitPolicy{RestartPolicy: policy, Rules: rules}
	})
}

func TestDecideAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := containerPolicies().Draw(t, "policy")
		code := codes().Draw(t, "code")
		action, rule := c.DecideExit(backoff.Exit{Code: code}, 1)
		if a, r := slowDecide(c, code); action != a || rule != r {
			t.Fatalf("%s by %d, want %s by %d", action, rule, a, r)
		}
	})
}

// A container of a manifest round-trips through an ExitPolicy.
func TestManifestFillsAnExitPolicy(t *testing.T) {
	const manifest = `{"name": "main", "image": "busybox", "restartPolicy": "Never", "restartPolicyRules": [
		{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}},
		{"action": "RestartAllContainers", "exitCodes": {"operator": "NotIn"}}]}`
	var c backoff.ExitPolicy
	if err := json.Unmarshal([]byte(manifest), &c); err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	got, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"restartPolicy":"Never","restartPolicyRules":[` +
		`{"action":"Restart","exitCodes":{"operator":"In","values":[42]}},` +
		`{"action":"RestartAllContainers","exitCodes":{"operator":"NotIn"}}]}`
	if string(got) != want {
		t.Errorf("got %s", got)
	}
	if empty, _ := json.Marshal(backoff.ExitPolicy{}); string(empty) != "{}" {
		t.Errorf("the zero value is %s", empty)
	}
}

// Validate lists every mistake with its path, in order.
func TestExitPolicyErrorsNameEachPath(t *testing.T) {
	full := backoff.ExitPolicy{RestartPolicy: "OnFailure", Rules: slices.Repeat([]backoff.Rule{{Action: backoff.ActionRestartAll,
		ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorNotIn, Values: make([]int32, 255)}}}, 20)}
	for _, good := range []backoff.ExitPolicy{{}, full, {Rules: full.Rules}} {
		if err := good.Validate(); err != nil {
			t.Error(err)
		}
	}
	bad := backoff.ExitPolicy{RestartPolicy: "Sometimes", Rules: slices.Repeat(full.Rules[:1], 21)}
	bad.Rules[1] = backoff.Rule{Action: "Reboot", ExitCodes: &backoff.ExitCodes{Operator: "Exists", Values: make([]int32, 256)}}
	bad.Rules[3] = backoff.Rule{Action: backoff.ActionStop}
	bad.Rules[4] = backoff.Rule{Action: backoff.ActionRestart, ExitCodes: &backoff.ExitCodes{}}
	want := []string{
		`restartPolicy: unsupported value "Sometimes": must be Always, OnFailure or Never`,
		`restartPolicyRules: too many items 21: must be at most 20`,
		`restartPolicyRules[1].action: unsupported value "Reboot": must be Restart, RestartAllContainers or GiveUp`,
		`restartPolicyRules[1].exitCodes.operator: unsupported value "Exists": must be In or NotIn`,
		`restartPolicyRules[1].exitCodes.values: too many items 256: must be at most 255`,
		`restartPolicyRules[3].action: unsupported value "Stop": must be Restart, RestartAllContainers or GiveUp`,
		`restartPolicyRules[3].exitCodes: required: must be given, or another condition`,
		`restartPolicyRules[4].exitCodes.operator: unsupported value "": must be In or NotIn`,
	}
	var errs field.Errors
	errors.As(bad.Validate(), &errs)
	var got []string
	for _, e := range errs {
		got = append(got, e.Error())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
