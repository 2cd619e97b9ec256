// Package policyfile reads the common parts of YAML and JSON files with restart
// policies. It reports all mistakes at once, with their lines.
package policyfile

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/restartkit/restart/cmd/internal/document"
	"github.com/restartkit/restart/cmd/internal/terminal"
	"github.com/restartkit/restart/field"
)

// Findings are the mistakes and warnings of a document.
type Findings struct {
	Mistakes document.Mistakes
	Warnings document.Mistakes // unknown fields that may belong to the kubelet

	whole *document.Node
	at    document.Paths  // paths of the mistakes
	meant map[string]bool // rules with an invalid condition
}

// condition matches a rule and a field of the rule in a path.
var condition = regexp.MustCompile(`^(.*\.restartPolicyRules\[\d+\])\.(\w+)`)

// noteCondition remembers a rule whose condition has a mistake.
func (f *Findings) noteCondition(m document.Mistake) {
	if parts := condition.FindStringSubmatch(m.Path); parts != nil {
		switch cmp.Or(m.Meant, parts[2]) {
		case "exitCodes", "reasons", "signals", "ranLessThan", "ranAtLeast", "minFailures":
			f.meant[parts[1]] = true
		}
	}
}

// Add adds a mistake, unless the value already has one.
func (f *Findings) Add(path string, value any, detail string) {
	if !f.at.Cover(path) {
		f.Mistakes = append(f.Mistakes, document.Mistake{Path: path, Line: f.whole.LineOf(path), Value: value, Detail: detail})
		f.at[path] = true
	}
}

// AddAll adds the field.Errors in err, relative to path. Files spell a curve's fields
// like the Go names with a small first letter.
func (f *Findings) AddAll(path string, err error) {
	var errs field.Errors
	errors.As(err, &errs)
	for _, e := range errs {
		if e.Type == field.TooMany {
			e.Value, e.Detail = nil, fmt.Sprintf("has %v items, %s", e.Value, e.Detail)
		}
		if rule, ok := strings.CutSuffix(e.Field, ".exitCodes"); ok && e.Type == field.Required && f.meant[path+"."+rule] {
			continue // its condition is already reported
		}
		name := strings.ToLower(e.Field[:1]) + e.Field[1:]
		f.Add(path+"."+name, e.Value, e.Detail)
	}
}

// Decode decodes a document into file as far as possible, and returns the mistakes. In
// a KubeletConfiguration, unknown fields are only warnings, since they may belong to
// the kubelet, except in the list own of the program.
func Decode[F any](whole *document.Node, own string, file *F) (*Findings, error) {
	found := &Findings{whole: whole, at: make(document.Paths), meant: make(map[string]bool)}
	_, mistakes, err := document.Decode(whole, document.TypeFor[F](), file)
	for _, m := range mistakes {
		found.noteCondition(m)
		if m.Fault == document.Unknown && whole.Field("kind").Text() == kubeletConfiguration && !strings.HasPrefix(m.Path, own+"[") {
			found.Warnings = append(found.Warnings, m)
		} else {
			found.Mistakes = append(found.Mistakes, m)
			found.at[m.Path] = true
		}
	}
	return found, err
}

// ReadFile reads a file, or standard input if name is -, with read. It returns
// warnings, and an error that lists every mistake after the words in follows, such as
// "nothing was started".
func ReadFile(name, follows string, read func(*document.Node) (*Findings, error)) (warnings []string, err error) {
	var found *Findings
	whole, err := document.Read(name)
	if err == nil {
		found, err = read(whole)
	}
	name = document.NameOf(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", terminal.Escape(name), err)
	}
	for _, m := range found.Warnings {
		warnings = append(warnings, terminal.Escape(name+": "+m.String()+", dropped"))
	}
	if len(found.Mistakes) == 0 {
		return warnings, nil
	}
	lines := []string{terminal.Escape(name) + ": " + follows + ":"}
	for _, m := range found.Mistakes.Report(0) {
		lines = append(lines, terminal.Escape(m.String()))
	}
	return warnings, errors.New(strings.Join(lines, "\n  "))
}
