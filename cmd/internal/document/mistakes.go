package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Mistake is a mistake in a document.
type Mistake struct {
	Path   string // such as commands[0].name; "" for the whole document or if Detail has it
	Line   int    // 0 if unknown
	Value  any    // nil if not useful
	Detail string
	Fault  Fault
	Meant  string // known field most similar to an unknown one, or ""
}

// Fault is the kind of a mistake.
type Fault int

const (
	Wrong   Fault = iota // an invalid value
	Unknown              // a field unknown to the type
	Again                // a duplicate field
)

// Strict reports whether only strict validation refuses the mistake.
func (m Mistake) Strict() bool { return m.Fault != Wrong }

// String returns the mistake as one line, possibly with control characters from the
// document.
func (m Mistake) String() string {
	text := m.Detail
	if s, ok := m.Value.(string); ok {
		text = fmt.Sprintf("is %q, %s", s, text)
	} else if m.Value != nil {
		text = fmt.Sprintf("is %v, %s", m.Value, text)
	}
	if m.Path != "" {
		text = m.Path + ": " + text
	}
	if m.Line > 0 {
		text = fmt.Sprintf("line %d: %s", m.Line, text)
	}
	return text
}

// Mistakes are the mistakes in a file.
type Mistakes []Mistake

// MaxReported is the maximum number of mistakes to report, more than users correct at
// once.
const MaxReported = 100

// Error returns the mistakes, one per line.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, one := range m {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Report returns the first MaxReported mistakes by line. A last element counts the
// others, including omitted ones.
func (m Mistakes) Report(omitted int) Mistakes {
	m = slices.SortedStableFunc(slices.Values(m), func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
	if len(m) > MaxReported {
		omitted += len(m) - MaxReported
		m = m[:MaxReported]
	}
	if omitted > 0 {
		m = append(m, Mistake{Detail: fmt.Sprintf("and %d more", omitted)})
	}
	return m
}
