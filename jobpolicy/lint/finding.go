package lint

import (
	"fmt"

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
