package backoff

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/restartkit/restart/field"
	"pgregory.net/rapid"
)

func TestFirstMatchingRuleDecides(t *testing.T) {
	rule := func(a Action, op Operator, values ...int32) Rule {
		return Rule{Action: a, ExitCodes: &ExitCodes{Operator: op, Values: values}}
	}
	for _, tt := range []struct {
		name   string
		policy RestartPolicy
		rules  []Rule
		code   int32
		action Action
		rule   int
	}{
		{"empty is Always", "", nil, 0, Restart, -1},
		{"Always", RestartPolicyAlways, nil, 0, Restart, -1},
		{"OnFailure, failed", RestartPolicyOnFailure, nil, -1, Restart, -1},
		{"OnFailure, succeeded", RestartPolicyOnFailure, nil, 0, Stop, -1},
		{"Never", RestartPolicyNever, nil, 1, Stop, -1},
		{"unknown policy", "always", nil, 0, Restart, -1},
		{"In hits", RestartPolicyNever, []Rule{rule(Restart, OperatorIn, 41, 42)}, 42, Restart, 0},
		{"In misses", RestartPolicyNever, []Rule{rule(Restart, OperatorIn, 41, 42)}, 43, Stop, -1},
		{"NotIn hits", RestartPolicyNever, []Rule{rule(Restart, OperatorNotIn, 0)}, 1, Restart, 0},
		{"NotIn misses", RestartPolicyNever, []Rule{rule(Restart, OperatorNotIn, 0)}, 0, Stop, -1},
		{"In nothing", RestartPolicyNever, []Rule{rule(Restart, OperatorIn)}, 0, Stop, -1},
		{"NotIn nothing", RestartPolicyNever, []Rule{rule(Restart, OperatorNotIn)}, 0, Restart, 0},
		{"first match wins", RestartPolicyNever, []Rule{rule(Restart, OperatorIn, 1), rule(RestartAll, OperatorIn, 2), rule(Restart, OperatorIn, 2)}, 2, RestartAll, 1},
		{"no exit codes", RestartPolicyNever, []Rule{{Action: Restart}, rule(Restart, OperatorIn, 2)}, 2, Restart, 1},
		{"unknown operator", RestartPolicyNever, []Rule{rule(Restart, "Exists", 2), rule(RestartAll, OperatorIn, 2)}, 2, RestartAll, 1},
		{"unknown action ends the search", RestartPolicyNever, []Rule{rule("Reboot", OperatorIn, 2), rule(Restart, OperatorIn, 2)}, 2, Stop, -1},
		{"Stop is no rule's action", RestartPolicyAlways, []Rule{rule(Stop, OperatorIn, 2)}, 2, Restart, -1},
		{"GiveUp is", RestartPolicyAlways, []Rule{rule(GiveUp, OperatorIn, 2)}, 2, GiveUp, 0},
	} {
		action, index := ContainerPolicy{RestartPolicy: tt.policy, Rules: tt.rules}.Decide(tt.code)
		if action != tt.action || index != tt.rule {
			t.Errorf("%s: %s by %d, want %s by %d", tt.name, action, index, tt.action, tt.rule)
		}
	}
}

// slowDecide is the rule of KEP-5307 alone, spelled out: collect what matches, look at
// the first, else ask the restart policy.
func slowDecide(c ContainerPolicy, code int32) (Action, int) {
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
		return Stop, -1
	case "OnFailure":
		if code == 0 {
			return Stop, -1
		}
	}
	return Restart, -1
}

func codes() *rapid.Generator[int32] {
	return rapid.OneOf(rapid.Int32Range(0, 3), rapid.Int32())
}

// containerPolicies draws policies, valid or not.
func containerPolicies() *rapid.Generator[ContainerPolicy] {
	return rapid.Custom(func(t *rapid.T) ContainerPolicy {
		rules := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Rule {
			r := Rule{Action: rapid.SampledFrom([]Action{Restart, RestartAll, Restart, RestartAll, Stop, "Reboot", ""}).Draw(t, "action")}
			if rapid.IntRange(0, 9).Draw(t, "codes?") > 0 {
				r.ExitCodes = &ExitCodes{
					Operator: rapid.SampledFrom([]Operator{OperatorIn, OperatorNotIn, OperatorIn, OperatorNotIn, "Exists", ""}).Draw(t, "operator"),
					Values:   rapid.SliceOfN(codes(), 0, 4).Draw(t, "values"),
				}
			}
			return r
		}), 0, 4).Draw(t, "rules")
		policy := rapid.SampledFrom([]RestartPolicy{"", "Always", "OnFailure", "Never", "Sometimes"}).Draw(t, "policy")
		return ContainerPolicy{RestartPolicy: policy, Rules: rules}
	})
}

func TestDecideAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := containerPolicies().Draw(t, "policy")
		code := codes().Draw(t, "code")
		action, rule := c.Decide(code)
		if a, r := slowDecide(c, code); action != a || rule != r {
			t.Fatalf("%s by %d, want %s by %d", action, rule, a, r)
		}
	})
}

// A container of a manifest fills a ContainerPolicy, and comes out as it went in.
func TestManifestFillsContainerPolicy(t *testing.T) {
	const manifest = `{"name": "main", "image": "busybox", "restartPolicy": "Never", "restartPolicyRules": [
		{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}},
		{"action": "RestartAllContainers", "exitCodes": {"operator": "NotIn"}}]}`
	var c ContainerPolicy
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
	if empty, _ := json.Marshal(ContainerPolicy{}); string(empty) != "{}" {
		t.Errorf("the zero value is %s", empty)
	}
}

// Validate reports everything at once, each with its path, in order.
func TestContainerPolicyErrorsNameEachPath(t *testing.T) {
	full := ContainerPolicy{RestartPolicy: "OnFailure", Rules: slices.Repeat([]Rule{{Action: RestartAll,
		ExitCodes: &ExitCodes{Operator: OperatorNotIn, Values: make([]int32, 255)}}}, 20)}
	for _, good := range []ContainerPolicy{{}, full, {Rules: full.Rules}} {
		if err := good.Validate(); err != nil {
			t.Error(err)
		}
	}
	bad := ContainerPolicy{RestartPolicy: "Sometimes", Rules: slices.Repeat(full.Rules[:1], 21)}
	bad.Rules[1] = Rule{Action: "Reboot", ExitCodes: &ExitCodes{Operator: "Exists", Values: make([]int32, 256)}}
	bad.Rules[3] = Rule{Action: Stop}
	bad.Rules[4] = Rule{Action: Restart, ExitCodes: &ExitCodes{}}
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
