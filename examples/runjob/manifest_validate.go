package main

import (
	"errors"
	"strings"
)

// validation is what becomes of fields that are not known or given twice.
type validation string

const (
	strictly validation = "strict" // they are mistakes
	warn     validation = "warn"
	ignore   validation = "ignore"
)

func (v *validation) String() string { return string(*v) }

// Set takes what kubectl's --validate does.
func (v *validation) Set(text string) error {
	switch strings.ToLower(text) {
	case "strict", "true":
		*v = strictly
	case "warn":
		*v = warn
	case "ignore", "false":
		*v = ignore
	default:
		return errors.New("must be strict, warn or ignore")
	}
	return nil
}

// validated makes mistakes or warnings of what only strict validation minds.
func (m *manifest) validated(how validation, wrong, lenient mistakes) mistakes {
	switch how {
	case strictly:
		return append(wrong, lenient...)
	case warn:
		if len(wrong) > 0 {
			for _, one := range lenient {
				wrong = append(wrong, mistake{one.line, "warning: " + one.text})
			}
		}
		for _, one := range lenient.shortened(0) {
			m.warnings = append(m.warnings, one.String())
		}
	}
	return wrong
}
