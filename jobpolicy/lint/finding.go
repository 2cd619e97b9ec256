package lint

import (
	"fmt"

	"github.com/restartkit/restart/jobpolicy/batch"
)

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
	SeverityWarning Severity = "warning" // the Job can end or go on against the specification
	SeverityNotice  Severity = "notice"  // part of the specification has no effect
)

// Kind is the kind of a finding.
type Kind string

// The kinds of findings.
const (
	KindUnreachable    Kind = "unreachable"     // a rule that decides on no pod
	KindShadowed       Kind = "shadowed"        // codes or patterns decided by earlier rules
	KindDuplicate      Kind = "duplicate"       // a pattern listed twice
	KindImpossibleCode Kind = "impossible-code" // exit codes impossible on Linux
	KindDrain          Kind = "drain"           // a drained node fails the Job
	KindSuccessNever   Kind = "success-never"   // a success rule that cannot be met
	KindSuccessAlways  Kind = "success-always"  // a success rule met by any success
	KindOnFailure      Kind = "on-failure"      // a limit per index that misses failures
	KindSize           Kind = "size"            // a status that can outgrow an API object
	KindVersion        Kind = "version"         // a field that the cluster drops, refuses or ignores; only from CheckFor
)

// checker collects the findings in a specification.
type checker struct {
	spec     batch.JobSpec // with defaults
	findings []Finding
}

func (c *checker) add(kind Kind, severity Severity, rule int, field, text string) {
	c.findings = append(c.findings, Finding{Kind: kind, Rule: rule, Field: field, Severity: severity, Text: text})
}

// mostRules is the maximum number of rules in a valid policy of either kind.
const mostRules = 20
