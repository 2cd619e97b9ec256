package terminal

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Width returns how many columns of a terminal text takes. The text must not have
// control characters.
func Width(text string) int { return uniseg.StringWidth(text) }

// Pad returns text with spaces after it, width columns wide.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-Width(text), 0))
}

// ellipsis stands for what is left out. It is one column wide.
const ellipsis = "…"

// Shorten returns text in at most width columns. It keeps the beginning and the end,
// since similar names often differ there.
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

// Cut returns text in at most width columns. It keeps the beginning.
func Cut(text string, width int) string {
	switch {
	case Width(text) <= width:
		return text
	case width < 1:
		return ""
	}
	return beginning(text, width-1) + ellipsis
}

// beginning returns as much of text as fits into width columns.
func beginning(text string, width int) string {
	taken, used := 0, 0
	for g := uniseg.NewGraphemes(text); g.Next() && used+g.Width() <= width; {
		_, taken = g.Positions()
		used += g.Width()
	}
	return text[:taken]
}

// end returns as much of the end of text as fits into width columns.
func end(text string, width int) string {
	left := Width(text)
	g := uniseg.NewGraphemes(text)
	for left > width && g.Next() {
		left -= g.Width()
	}
	_, from := g.Positions()
	return text[from:]
}

// Align returns one line for each row, with aligned cells. A column is as wide as its
// widest cell, with gap spaces after it.
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

// Columns aligns lines that are written one after the other. The zero value has
// columns of no width, without a gap.
type Columns struct {
	Gap    int   // spaces between two columns
	Widths []int // of the columns so far
}

// Line returns the cells as a line aligned with the lines before, without spaces at its
// end. A cell that is wider than its column widens it for the following lines.
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
