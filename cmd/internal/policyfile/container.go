package policyfile

import (
	"fmt"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/backoff/lint"
)

// Container are the fields of a container that say when it is restarted: those of
// core/v1, with all that package backoff adds to its rules, and a curve. Embed it in
// what a program reads of a container.
type Container struct {
	backoff.ExitPolicy
	Curve *curve `json:"curve"`
}

// curve is a Policy that starts over as a kubelet's does, unless it says otherwise.
type curve backoff.Policy

// UnmarshalJSON reads what backoff.Policy reads.
func (c *curve) UnmarshalJSON(text []byte) error {
	c.ResetAfter = backoff.CrashLoop().ResetAfter
	return (*backoff.Policy)(c).UnmarshalJSON(text)
}

// Read returns the policy and the curve, nil if the node's is meant. The fields are
// those of the object at path.
func (c *Container) Read(path string, found *Findings) (backoff.ExitPolicy, *backoff.Policy) {
	found.AddAll(path, c.ExitPolicy.Validate())
	own := (*backoff.Policy)(c.Curve)
	if own != nil {
		found.AddAll(path+".curve", own.Validate())
	}
	return c.ExitPolicy, own
}

// Lint returns what in a policy is surely not meant, as warnings about the container
// of that name. curve is the one in force.
func Lint(name string, policy backoff.ExitPolicy, curve backoff.Policy) (warnings []string) {
	for _, f := range lint.Check(policy, curve) {
		warnings = append(warnings, fmt.Sprintf("%s: %v", name, f))
	}
	return warnings
}
