package terminal

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Width returns the number of terminal columns taken by text, which must not contain
// control characters.
func Width(text string) int { return uniseg.StringWidth(text) }

// Pad appends spaces to text up to width columns.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-Width(text), 0))
}

// ellipsis replaces omitted text. It is one column wide.
const ellipsis = "…"

// Shorten shortens text to at most width columns. It keeps the beginning and the end.
func Shorten(text string, width int) string {
	switch {
	case Width(text) <= width:
		return text
	case width < 1:
		return ""
	}
	tail := (width - 1) / 2
	return beginning(text, width-1-tail) + ellipsis + end(text, tail)
}

// Cut shortens text to at most width columns. It keeps the beginning.
func Cut(text string, width int) string {
	switch {
	case Width(text) <= width:
		return text
	case width < 1:
		return ""
	}
	return beginning(text, width-1) + ellipsis
}

// beginning returns the longest beginning of text that fits into width columns.
func beginning(text string, width int) string {
	taken, used := 0, 0
	for g := uniseg.NewGraphemes(text); g.Next() && used+g.Width() <= width; {
		_, taken = g.Positions()
		used += g.Width()
	}
	return text[:taken]
}

// end returns the longest end of text that fits into width columns.
func end(text string, width int) string {
	left := Width(text)
	g := uniseg.NewGraphemes(text)
	for left > width && g.Next() {
		left -= g.Width()
	}
	_, from := g.Positions()
	return text[from:]
}

// Align returns one line per row, with columns as wide as their widest cells and gap
// spaces between them.
func Align(rows [][]string, gap int) []string {
	c := Columns{Gap: gap}
	for _, row := range rows {
		c.widen(row)
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		lines[i] = c.Line(row)
	}
	return lines
}

// Columns aligns lines written one at a time. The zero value has no gap.
type Columns struct {
	Gap    int   // spaces between columns
	Widths []int // of the columns
}

// Line returns the cells as a line aligned with previous lines, without trailing
// spaces. A wider cell widens its column for later lines.
func (c *Columns) Line(cells []string) string {
	c.widen(cells)
	var line strings.Builder
	for i, cell := range cells {
		if i > 0 {
			line.WriteString(strings.Repeat(" ", c.Gap))
		}
		line.WriteString(Pad(cell, c.Widths[i]))
	}
	return strings.TrimRight(line.String(), " ")
}

func (c *Columns) widen(cells []string) {
	for i, cell := range cells {
		if i == len(c.Widths) {
			c.Widths = append(c.Widths, 0)
		}
		c.Widths[i] = max(c.Widths[i], Width(cell))
	}
}
