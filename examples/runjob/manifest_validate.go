package main

import (
	"errors"
	"strings"
)

// validation says what to do about unknown and duplicate fields.
type validation string

const (
	strictly validation = "strict" // they are mistakes
	warn     validation = "warn"
	ignore   validation = "ignore"
)

func (v *validation) String() string { return string(*v) }

// Set reads the values of kubectl's --validate.
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

// validated turns what only strict validation refuses into mistakes or warnings.
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
