package policyfile

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/backoff/lint"
	"github.com/restartkit/restart/cmd/internal/document"
)

// Container are the fields of a container that say when it is restarted: those of
// core/v1, with all that package backoff adds to its rules, and a curve. Embed it in
// what a program reads of a container.
type Container struct {
	backoff.ExitPolicy
	Curve *struct {
		Initial    document.Duration  `json:"initial"`
		Max        document.Duration  `json:"max"`
		ResetAfter *document.Duration `json:"resetAfter"`
		Factor     float64            `json:"factor"`
		Jitter     float64            `json:"jitter"`
		Free       int32              `json:"free"`
	} `json:"curve"`
}

// Read returns the policy and the curve, nil if the node's is meant. The fields are
// those of the object at path.
func (c *Container) Read(path string, found *Findings) (backoff.ExitPolicy, *backoff.Policy) {
	found.AddAll(path, c.ExitPolicy.Validate())
	if c.Curve == nil {
		return c.ExitPolicy, nil
	}
	curve := &backoff.Policy{
		Initial:      time.Duration(c.Curve.Initial),
		Max:          time.Duration(c.Curve.Max),
		ResetAfter:   backoff.CrashLoop().ResetAfter, // unless it says otherwise, as everywhere in a kubelet
		Factor:       c.Curve.Factor,
		Jitter:       c.Curve.Jitter,
		FreeFailures: int(c.Curve.Free),
	}
	if c.Curve.ResetAfter != nil {
		curve.ResetAfter = time.Duration(*c.Curve.ResetAfter)
	}
	found.AddAll(path+".curve", curve.Validate())
	return c.ExitPolicy, curve
}

// Lint returns what in a policy is surely not meant, as warnings about the container
// of that name. curve is the one in force.
func Lint(name string, policy backoff.ExitPolicy, curve backoff.Policy) (warnings []string) {
	for _, f := range lint.Check(policy, curve) {
		warnings = append(warnings, fmt.Sprintf("%s: %v", name, f))
	}
	return warnings
}
