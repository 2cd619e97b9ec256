// Package lint says in advance what a Job's specification comes to: [Check] finds
// what is valid but surely not meant, such as a rule that no failed pod reaches or
// a drained node that fails the Job, and [WorstCase] returns how many pods a Job
// can run, how long it can wait and how large its status can grow. [CheckFor] adds what
// an older cluster drops or refuses.
//
// Nothing here changes its arguments. The functions are safe for concurrent use
// by multiple goroutines while nobody changes what they were given.
package lint

import (
	"fmt"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Finding is something in a specification that is valid but surely not meant. It prints
// as one line. A Finding is a plain value.
type Finding struct {
	Kind     Kind
	Rule     int    // index of the rule that it is about, -1 if it is about none
	Field    string // path of the field, as in field.Error
	Severity Severity
	Text     string // one sentence: what happens, and what to do about it
}

// String returns the finding as one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s: %s (%s)", f.Field, f.Severity, f.Text, f.Kind)
}

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	SeverityWarning Severity = "warning" // the Job can end, or go on, where the specification says otherwise
	SeverityNotice  Severity = "notice"  // a part of the specification has no effect
)

// Kind says what kind of finding it is.
type Kind string

// What Check looks for.
const (
	KindUnreachable    Kind = "unreachable"     // a rule that decides on no pod
	KindShadowed       Kind = "shadowed"        // listed codes or patterns on which earlier rules decide
	KindDuplicate      Kind = "duplicate"       // a pattern that is there twice
	KindImpossibleCode Kind = "impossible-code" // exit codes that no container on Linux has
	KindDrain          Kind = "drain"           // a drained node fails the Job
	KindSuccessNever   Kind = "success-never"   // a success rule that cannot be met
	KindSuccessAlways  Kind = "success-always"  // a success rule that any success meets
	KindOnFailure      Kind = "on-failure"      // a limit per index that does not see failures
	KindSize           Kind = "size"            // a status that can outgrow an API object
	KindVersion        Kind = "version"         // a field that the cluster drops, refuses or ignores; from CheckFor alone
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

// checker gathers the findings in one specification.
type checker struct {
	spec     batch.JobSpec // with defaults
	findings []Finding
}

func (c *checker) add(kind Kind, severity Severity, rule int, field, text string) {
	c.findings = append(c.findings, Finding{Kind: kind, Rule: rule, Field: field, Severity: severity, Text: text})
}

// mostRules is how many rules a valid policy of either kind has.
const mostRules = 20

// maxObjectBytes is what etcd takes for one object by default.
const maxObjectBytes = 3 << 19

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
