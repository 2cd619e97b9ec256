// Package lint says in advance what a Job's specification comes to: [Check] finds
// what is valid but surely not meant, such as a rule that no failed pod reaches or
// a drained node that fails the Job, and [WorstCase] returns how many pods a Job
// can run, how long it can wait and how large its status can grow. [CheckFor] adds what
// an older cluster drops or refuses. Beside package lint of backoff import it as
//
//	import joblint "github.com/restartkit/restart/jobpolicy/lint"
//
// Nothing here changes its arguments. The functions are safe for concurrent use
// by multiple goroutines while nobody changes what they were given.
package lint

import (
	"fmt"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Check returns what in a specification is valid but surely not meant, in the
// order of the fields. It fills in the defaults itself, so a specification
// straight from a manifest will do; a nil one has no findings. Check is exact
// about rules that decide on no pod: there is a finding if and only if no pod that has the
// template's containers reaches the rule, whatever its conditions and whatever other
// containers an admission webhook has injected. A rule cannot name those, since Validate
// takes only names of the template. Of a specification that Validate refuses, Check looks
// at the first 20 rules of each policy.
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

// limits looks at limits that do not work out.
func (c *checker) limits() {
	if c.spec.BackoffLimitPerIndex != nil && c.spec.Template.Spec.RestartPolicy == batch.RestartPolicyOnFailure {
		c.add(KindOnFailure, SeverityWarning, -1, "spec.backoffLimitPerIndex",
			"under OnFailure containers are restarted in place, and no limit per index sees that; use restartPolicy Never")
	}
	if bound, err := WorstCase(jobpolicy.Engine{}, &c.spec); err == nil && bound.IndexBytes > maxObjectBytes {
		c.add(KindSize, SeverityWarning, -1, "spec.parallelism", fmt.Sprintf(
			"the indexes in the status can grow to %d bytes, and an API object to %d; lower parallelism or completions", bound.IndexBytes, maxObjectBytes))
	}
}

// maxObjectBytes is what etcd takes for one object by default.
const maxObjectBytes = 3 << 19
