package jobfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/restartkit/restart/cmd/internal/document"
)

// Mistake is one mistake in a manifest.
type Mistake struct {
	Line int // 0: it is not from a line
	Text string
}

// newMistake returns a mistake on a line or, if that is 0, in a value of -set.
func newMistake(line int, text string) Mistake {
	if line == 0 {
		text = "-set " + text
	}
	return Mistake{line, text}
}

// Mistakes are all mistakes in a manifest, in the order of the file.
type Mistakes []Mistake

// Error returns the mistakes, one a line.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, one := range m {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Sorted returns the mistakes in the order of their lines.
func (m Mistakes) Sorted() Mistakes {
	return slices.SortedStableFunc(slices.Values(m), func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
}

// Shortened returns the first of many mistakes, and how many more there are, omitted
// ones included.
func (m Mistakes) Shortened(omitted int) Mistakes {
	if len(m) > document.MaxReported {
		omitted += len(m) - document.MaxReported
		m = m[:document.MaxReported]
	}
	if omitted > 0 {
		m = append(slices.Clone(m), Mistake{Text: fmt.Sprintf("and %d more", omitted)})
	}
	return m
}

// String returns the mistake with its line.
func (m Mistake) String() string {
	if m.Line > 0 {
		return fmt.Sprintf("line %d: %s", m.Line, m.Text)
	}
	return m.Text
}
