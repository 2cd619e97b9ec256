package document

import (
	"fmt"
	"strings"

	"github.com/restartkit/restart/internal/quote"
)

// Mistake is something in a document that does not fit.
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

// Text returns the mistake without its line and path.
func (m Mistake) Text() string {
	switch value := m.Value.(type) {
	case nil:
		return m.Detail
	case string:
		return fmt.Sprintf("is %s, %s", quote.Text(value), m.Detail)
	default:
		return fmt.Sprintf("is %v, %s", value, m.Detail)
	}
}

// String returns the mistake as one line, as in
// "line 6: spec.completionz: unknown field: did you mean completions?". It may have
// control characters of the document.
func (m Mistake) String() string {
	text := m.Text()
	if m.Path != "" {
		text = m.Path + ": " + text
	}
	if m.Line > 0 {
		text = fmt.Sprintf("line %d: %s", m.Line, text)
	}
	return text
}

// Mistakes are the mistakes in a document, by line.
type Mistakes []Mistake

// Error returns the mistakes, one per line.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, one := range m {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}
