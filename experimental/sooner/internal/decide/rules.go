package decide

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/field"
)

// Rules is the policy of a pod that has opted in. The first rule that matches an exit
// decides. Its Delay is the exit's curve, or else Curve. An exit without a curve, or
// whose rule gives up, is left to the kubelet.
type Rules struct {
	Rules []backoff.Rule
	Curve *backoff.Policy
}

// ParseRules reads JSON or YAML with the fields restartPolicyRules and curve. The error
// wraps field.Errors if fields are wrong.
func ParseRules(text []byte) (*Rules, error) {
	var in struct {
		Rules []backoff.Rule `json:"restartPolicyRules"`
		Curve *curve         `json:"curve"`
	}
	text, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return nil, err
	}
	r := &Rules{Rules: in.Rules, Curve: (*backoff.Policy)(in.Curve)}
	return r, r.validate()
}

// curve is a Policy whose ResetAfter defaults to the kubelet's.
type curve backoff.Policy

// UnmarshalJSON accepts the JSON of a backoff.Policy.
func (c *curve) UnmarshalJSON(text []byte) error {
	c.ResetAfter = backoff.CrashLoop().ResetAfter
	return (*backoff.Policy)(c).UnmarshalJSON(text)
}

func (r *Rules) validate() error {
	var all []error
	all = append(all, backoff.ExitPolicy{Rules: r.Rules}.Validate())
	for i, rule := range r.Rules {
		if rule.Action == backoff.ActionRestartAll {
			all = append(all, field.Errors{{
				Field: fmt.Sprintf("restartPolicyRules[%d].action", i), Value: rule.Action,
				Type: field.NotSupported, Detail: "must be Restart or GiveUp",
			}})
		}
	}
	if r.Curve != nil {
		if err := r.Curve.Validate(); err != nil {
			all = append(all, fmt.Errorf("curve: %w", err))
		}
	}
	return errors.Join(all...)
}

// follows reports whether a decision by these rules has a curve.
func (r *Rules) follows(d backoff.Decision) bool {
	if d.Action != backoff.ActionRestart {
		return false
	}
	return r.Curve != nil || d.Rule >= 0 && r.Rules[d.Rule].Delay != nil
}
