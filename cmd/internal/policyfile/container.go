package policyfile

import (
	"fmt"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/backoff/lint"
)

// Container holds a container's restart fields of core/v1, whose rules have the additions
// of package backoff, and a curve. Embed it in a container's struct.
type Container struct {
	RestartPolicy backoff.RestartPolicy `json:"restartPolicy"`
	Rules         []backoff.Rule        `json:"restartPolicyRules"`
	Curve         *curve                `json:"curve"`
}

// curve is a Policy whose ResetAfter defaults to the kubelet's.
type curve backoff.Policy

// UnmarshalJSON accepts the JSON of a backoff.Policy.
func (c *curve) UnmarshalJSON(text []byte) error {
	c.ResetAfter = backoff.CrashLoop().ResetAfter
	return (*backoff.Policy)(c).UnmarshalJSON(text)
}

// Read returns the policy and curve of the object at path. A nil curve means the
// node's. Mistakes are added to found.
func (c *Container) Read(path string, found *Findings) (backoff.ExitPolicy, *backoff.Policy) {
	policy := backoff.ExitPolicy{RestartPolicy: c.RestartPolicy, Rules: c.Rules}
	found.AddAll(path, policy.Validate())
	own := (*backoff.Policy)(c.Curve)
	if own != nil {
		found.AddAll(path+".curve", own.Validate())
	}
	return policy, own
}

// Lint returns the findings of lint.Check on a container's policy and effective curve,
// as warnings.
func Lint(name string, policy backoff.ExitPolicy, curve backoff.Policy) (warnings []string) {
	policy.Delay = &curve
	for _, f := range lint.Check(policy) {
		warnings = append(warnings, fmt.Sprintf("%s: %v", name, f))
	}
	return warnings
}
