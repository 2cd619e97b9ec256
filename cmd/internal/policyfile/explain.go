package policyfile

import "github.com/restartkit/restart/backoff"

// Explain returns lines for a person: what follows from an exit and why, then how each
// rule of the policy was answered.
func Explain(d backoff.Decision, policy backoff.ExitPolicy, e backoff.Exit) []string {
	lines := []string{d.Reason(policy, e)}
	for _, step := range d.Explain(policy, e) {
		lines = append(lines, "  "+step.String())
	}
	return lines
}
