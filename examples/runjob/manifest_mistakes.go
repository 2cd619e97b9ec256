package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/examples/internal/document"
	"github.com/restartkit/restart/examples/internal/terminal"
)

// mistake is one mistake in a manifest.
type mistake struct {
	line int // 0: it is not from a line
	text string
}

// newMistake returns a mistake on a line or, if that is 0, in a value of -set.
func newMistake(line int, text string) mistake {
	if line == 0 {
		text = "-set " + text
	}
	return mistake{line, text}
}

// mistakes are all mistakes in a manifest, in the order of the file.
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

// shortened returns the first of many mistakes, and how many more there are, omitted
// ones included.
func (m mistakes) shortened(omitted int) mistakes {
	if len(m) > document.MaxReported {
		omitted += len(m) - document.MaxReported
		m = m[:document.MaxReported]
	}
	if omitted > 0 {
		m = append(slices.Clone(m), mistake{text: fmt.Sprintf("and %d more", omitted)})
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

// complain prints what is wrong with a manifest, one mistake a line.
func complain(w io.Writer, manifest string, err error) {
	var lines []string
	switch err := err.(type) {
	case mistakes:
		for _, one := range err {
			lines = append(lines, one.String())
		}
	case backoff.FieldErrors:
		for i := range err {
			lines = append(lines, err[i].Error())
		}
	default:
		fmt.Fprintf(w, "runjob: %s\n", terminal.Escape(fmt.Sprintf("%s: %v", manifest, err)))
		return
	}
	fmt.Fprintf(w, "runjob: %s: nothing was started:\n", terminal.Escape(manifest))
	for _, line := range lines {
		fmt.Fprintf(w, "  %s\n", terminal.Escape(line))
	}
}
