package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/restartkit/restart/examples/internal/document"
)

// mistake is one thing that is wrong with a manifest.
type mistake struct {
	line int // 0: it is not from a line
	text string
}

// newMistake returns a mistake on a line or, if that is 0, in what -set has given.
func newMistake(line int, text string) mistake {
	if line == 0 {
		text = "-set " + text
	}
	return mistake{line, text}
}

// mistakes are all that is wrong with a manifest, in the order of the file.
type mistakes []mistake

func (m mistakes) Error() string {
	lines := make([]string, len(m))
	for i, one := range m {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// sorted returns the mistakes in the order of their lines.
func (m mistakes) sorted() mistakes {
	return slices.SortedStableFunc(slices.Values(m), func(a, b mistake) int { return cmp.Compare(a.line, b.line) })
}

// shortened returns the first of many mistakes, and how many more there are beside
// those that were left out before.
func (m mistakes) shortened(untold int) mistakes {
	if len(m) > document.MostTold {
		untold += len(m) - document.MostTold
		m = m[:document.MostTold]
	}
	if untold > 0 {
		m = append(slices.Clone(m), mistake{text: fmt.Sprintf("and %d more", untold)})
	}
	return m
}

// String returns the mistake with its line.
func (m mistake) String() string {
	if m.line > 0 {
		return fmt.Sprintf("line %d: %s", m.line, m.text)
	}
	return m.text
}
