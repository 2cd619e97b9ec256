package jobfile

import (
	"errors"
	"strings"
)

// Validation says what to do about unknown and duplicate fields.
type Validation string

const (
	// Strict, Warn and Ignore are the levels of kubectl's --validate.
	Strict Validation = "strict" // they are mistakes
	Warn   Validation = "warn"
	Ignore Validation = "ignore"
)

// String returns the level.
func (v *Validation) String() string { return string(*v) }

// Set reads the values of kubectl's --validate.
func (v *Validation) Set(text string) error {
	switch strings.ToLower(text) {
	case "strict", "true":
		*v = Strict
	case "warn":
		*v = Warn
	case "ignore", "false":
		*v = Ignore
	default:
		return errors.New("must be strict, warn or ignore")
	}
	return nil
}

// validated turns what only strict validation refuses into mistakes or warnings.
func (m *Manifest) validated(how Validation, wrong, lenient Mistakes) Mistakes {
	switch how {
	case Strict:
		return append(wrong, lenient...)
	case Warn:
		if len(wrong) > 0 {
			for _, one := range lenient {
				wrong = append(wrong, Mistake{one.Line, "warning: " + one.Text})
			}
		}
		for _, one := range lenient.Shortened(0) {
			m.Warnings = append(m.Warnings, one.String())
		}
	}
	return wrong
}
