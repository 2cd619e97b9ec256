package jobfile

import (
	"errors"
	"strings"

	"github.com/restartkit/restart/cmd/internal/document"
)

// Validation is the treatment of unknown and duplicate fields.
type Validation string

const (
	// Strict, Warn and Ignore are the levels of kubectl's --validate.
	Strict Validation = "strict" // refuse them
	Warn   Validation = "warn"
	Ignore Validation = "ignore"
)

// String returns the level.
func (v *Validation) String() string { return string(*v) }

// Set parses a value of kubectl's --validate.
func (v *Validation) Set(text string) error {
	switch level := strings.ToLower(text); level {
	case "strict", "warn", "ignore":
		*v = Validation(level)
	case "true":
		*v = Strict
	case "false":
		*v = Ignore
	default:
		return errors.New("must be strict, warn or ignore")
	}
	return nil
}

// validated adds the mistakes refused only by strict validation to the mistakes or the
// warnings.
func (m *Manifest) validated(how Validation, wrong, lenient document.Mistakes) document.Mistakes {
	switch how {
	case Strict:
		return append(wrong, lenient...)
	case Warn:
		for _, one := range lenient.Report(0) {
			m.Warnings = append(m.Warnings, one.String())
		}
		for _, one := range lenient {
			if len(wrong) > 0 {
				one.Detail = "warning: " + one.Detail
				wrong = append(wrong, one)
			}
		}
	}
	return wrong
}
