package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Mistake is a mistake in the value at a path.
type Mistake struct {
	Path   string // as commands[0].name; "": the whole document, or Detail names it
	Line   int    // 0: unknown
	Value  any    // nil if it does not help
	Detail string
	Fault  Fault
	Meant  string // the known field that is most like an unknown one, or ""
}

// Fault is the kind of a mistake.
type Fault int

const (
	Wrong   Fault = iota // a value that cannot be what it has to
	Unknown              // a field that the type does not have
	Again                // a field that is given more than once
)

// Strict reports whether only strict validation refuses the mistake.
func (m Mistake) Strict() bool { return m.Fault != Wrong }

// String returns the mistake as one line. Parts that come from the document may have
// control characters.
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

// Mistakes are all mistakes in a file.
type Mistakes []Mistake

// MaxReported is how many mistakes of a file a program should report: more than a
// person corrects at once.
const MaxReported = 100

// Error returns the mistakes, one a line.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, one := range m {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Report returns the first mistakes in the order of their lines, and how many more
// there are, omitted ones included.
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
