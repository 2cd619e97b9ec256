// Package lint reviews the specification of a Job before it runs.
//
// [Check] finds valid but surely unintended settings, such as a rule that no pod
// reaches, a drained node that fails the Job, or an ignored failure that nothing ends:
//
//	for _, finding := range lint.Check(&job.Spec) {
//		fmt.Println(finding)
//	}
//
// [WorstCase] bounds how many pods a Job runs, how long it waits and how large its
// status grows. [CheckFor] adds the fields that an older cluster drops, refuses or
// ignores.
//
// Check cannot know whether a program hangs. A pod that neither fails nor succeeds counts
// towards no limit, so [KindEndless] does not cover it, and only the activeDeadlineSeconds
// of the Job or of its pods end it. Set one of them unless the program limits its own time.
//
// To use the package beside backoff/lint, import it as joblint.
package lint

import (
	"fmt"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// Check returns the valid but surely unintended parts of a specification, in the order
// of its fields. It applies the defaults, and does not modify s.
//
// Rules of a pod failure policy are compared in pairs. A rule that Check reports as
// unreachable decides on no pod with the template's containers, whatever its conditions
// and whatever containers are injected at admission. A rule may be unreachable without
// a finding if several rules before it together match its pods. In specifications
// rejected by Validate, Check reads only the first 20 rules of each policy, and of each
// rule only the first 255 exit codes and 20 conditions.
func Check(s *batch.JobSpec) []Finding {
	if s == nil {
		return nil
	}
	c := &checker{spec: *s}
	c.spec.Default()
	c.spec.PodFailurePolicy = withinBounds(c.spec.PodFailurePolicy)
	c.policy()
	c.successPolicy()
	c.limits()
	return c.findings
}

// Finding is a valid but surely unintended part of a specification.
type Finding struct {
	Kind     Kind
	Rule     int    // index of the rule, -1 if none
	Field    string // path, as in field.Error
	Severity Severity
	Text     string // one sentence with the effect and the remedy
}

// String returns the finding as one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s: %s (%s)", f.Field, f.Severity, f.Text, f.Kind)
}

// Severity is the severity of a finding.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"   // the version that CheckFor is asked about refuses the Job
	SeverityWarning Severity = "warning" // the Job can end or go on against the specification
	SeverityNotice  Severity = "notice"  // worth knowing; the Job runs as specified
)

// Kind is the kind of a finding.
type Kind string

// The kinds of findings.
const (
	KindUnreachable      Kind = "unreachable"       // a rule that decides on no pod
	KindShadowed         Kind = "shadowed"          // codes or patterns decided by earlier rules
	KindDuplicate        Kind = "duplicate"         // a pattern listed twice
	KindImpossibleCode   Kind = "impossible-code"   // exit codes that only Windows has
	KindUnknownCondition Kind = "unknown-condition" // a condition that Kubernetes never sets
	KindDrain            Kind = "drain"             // a drained node fails the Job, or counts although a rule ignores it
	KindEndless          Kind = "endless"           // ignored failures of the Job's own programs that nothing ends; does not cover programs that hang
	KindSuccessNever     Kind = "success-never"     // a success rule that cannot be met
	KindSuccessAlways    Kind = "success-always"    // a success rule met by any success
	KindOnFailure        Kind = "on-failure"        // a limit per index that misses failures
	KindDeadline         Kind = "deadline"          // a deadline that passes before the limit of failures can be reached
	KindSize             Kind = "size"              // a status that can outgrow an API object

	// The kinds that only CheckFor and CheckJobFor find.
	KindVersion Kind = "version" // a field that the cluster drops, refuses or ignores
	KindEvicted Kind = "evicted" // evicted pods that count as succeeded
)

// checker collects the findings in a specification.
type checker struct {
	spec     batch.JobSpec // with defaults
	findings []Finding
}

func (c *checker) add(kind Kind, severity Severity, rule int, field, text string) {
	c.findings = append(c.findings, Finding{Kind: kind, Rule: rule, Field: field, Severity: severity, Text: text})
}
