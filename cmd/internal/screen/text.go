package screen

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Colour is a colour of text. The zero value is the default.
type Colour string

// Colours for good states, states to watch and bad states.
const (
	Green  Colour = "32"
	Yellow Colour = "33"
	Red    Colour = "31"
)

// Paint returns text in a colour, or as it is if the screen has none.
func (s *Screen) Paint(c Colour, text string) string {
	if !s.colours || c == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// gap is the number of spaces between two columns, as in kubectl.
const gap = 3

// Columns aligns the cells of the first table that is at most width columns wide, or of the
// last one if none is. A width of 0 has no limit.
func Columns(width int, tables ...[][]string) []string {
	var lines []string
	for _, cells := range tables {
		lines = align(cells)
		if width <= 0 || widest(lines) <= width {
			break
		}
	}
	return lines
}

func align(table [][]string) []string {
	var widths []int
	for _, cells := range table {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	lines := make([]string, len(table))
	for n, cells := range table {
		var line strings.Builder
		for i, cell := range cells {
			line.WriteString(Pad(cell, widths[i]+gap))
		}
		lines[n] = strings.TrimRight(line.String(), " ")
	}
	return lines
}

func widest(lines []string) (width int) {
	for _, line := range lines {
		width = max(width, ansi.StringWidth(line))
	}
	return width
}

// Pad adds spaces to text up to a width in columns.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}

// Shorten shortens text to a width in columns.
func Shorten(text string, width int) string { return ansi.Truncate(text, width, "…") }

// Wait formats a time to wait, rounded for people.
func Wait(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Age formats the time since something in a few letters, like ages in kubectl.
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 10*time.Minute:
		return d.Round(time.Second).String()
	case d < 3*time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/day)
}
