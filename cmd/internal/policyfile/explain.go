package policyfile

import "github.com/restartkit/restart/backoff"

// Explain returns lines that explain a decision. The first has the decision and its
// reason, the others the result of each rule.
func Explain(d backoff.Decision, policy backoff.ExitPolicy, e backoff.Exit) []string {
	lines := []string{d.Reason(policy, e)}
	for _, step := range d.Explain(policy, e) {
		lines = append(lines, "  "+step.String())
	}
	return lines
}
