package main

import (
	"fmt"
	"strings"

	"github.com/restartkit/restart/cmd/internal/jobfile"
	"github.com/restartkit/restart/cmd/internal/terminal"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/lint"
)

// dryRun describes a valid Job, with its notes and its worst case.
func dryRun(engine jobpolicy.Engine, m *manifest) (string, error) {
	facts, err := jobfile.WorstCase(engine, &m.Job.Spec)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	line := func(format string, args ...any) { b.WriteString(terminal.Escape(fmt.Sprintf(format, args...)) + "\n") }
	line("job %s/%s is valid", m.Job.Namespace, m.Job.Name)
	for _, note := range m.notes() {
		line("%s", note)
	}
	for _, reason := range m.missing() {
		line("its pods would wait: CreateContainerConfigError: %s", reason)
	}
	line("worst case:")
	for _, fact := range facts {
		line("  %-8s %s", fact.Name, fact.Text)
	}
	return b.String(), nil
}

// notes returns the warnings, unused fields and lint findings of a valid Job.
func (m *manifest) notes() (notes []string) {
	for _, warning := range m.Warnings {
		notes = append(notes, "warning: "+warning)
	}
	if len(m.Ignored) > 0 {
		notes = append(notes, "not used here: "+strings.Join(m.Ignored, ", "))
	}
	for _, finding := range lint.Check(&m.Job.Spec) {
		notes = append(notes, finding.String())
	}
	return notes
}
