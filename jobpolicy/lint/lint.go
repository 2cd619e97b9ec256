// Package lint reviews the specification of a Job. [Check] finds valid but surely
// unintended settings, such as an unreachable rule or a drained node that fails the
// Job. [WorstCase] returns how many pods a Job can run, how long it can wait and how
// large its status can grow. [CheckFor] adds the fields that an older cluster drops or
// refuses. To use it with package backoff/lint, import it as
//
//	import joblint "github.com/restartkit/restart/jobpolicy/lint"
package lint

import (
	"fmt"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Check returns the valid but surely unintended parts of a specification, in the order
// of its fields. It applies the defaults.
//
// Check reports a rule as unreachable if and only if no pod with the template's
// containers can reach it, with any conditions and any containers injected at
// admission. In specifications rejected by Validate, it reads only the first 20 rules
// of each policy.
func Check(s *batch.JobSpec) []Finding {
	if s == nil {
		return nil
	}
	c := &checker{spec: *s}
	c.spec.Default()
	c.policy()
	c.successPolicy()
	c.limits()
	return c.findings
}

// limits checks for ineffective and excessive limits.
func (c *checker) limits() {
	if c.spec.BackoffLimitPerIndex != nil && c.spec.Template.Spec.RestartPolicy == batch.RestartPolicyOnFailure {
		c.add(KindOnFailure, SeverityWarning, -1, "spec.backoffLimitPerIndex",
			"restarts in place under OnFailure do not count towards the limit per index; use restartPolicy Never")
	}
	if bound, err := WorstCase(jobpolicy.Engine{}, &c.spec); err == nil && bound.IndexBytes > maxObjectBytes {
		c.add(KindSize, SeverityWarning, -1, "spec.parallelism", fmt.Sprintf(
			"the index fields of the status can grow to %d bytes, but an API object only to %d; lower parallelism or completions", bound.IndexBytes, maxObjectBytes))
	}
}

// maxObjectBytes is etcd's default limit for one object.
const maxObjectBytes = 3 << 19
