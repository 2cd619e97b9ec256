package screen

import (
	"io"
	"os"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/term"
)

// Colour is a colour of text. The zero value is the default.
type Colour string

// Colours for good states, states to watch, bad states and remarks, and bold text.
const (
	Green  Colour = "32"
	Yellow Colour = "33"
	Red    Colour = "31"
	Cyan   Colour = "36"
	Bold   Colour = "1"
)

// Style says how text is written to an output. The zero value writes it as it is.
type Style struct {
	Width   int  // columns of the terminal; 0 for lines of any length
	Colours bool // unless NO_COLOR is set, or the terminal cannot show them
}

// StyleOf returns the style for an output.
func StyleOf(w io.Writer) Style {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return Style{}
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return Style{Width: width, Colours: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// Paint returns text in a colour, or as it is without colours.
func (s Style) Paint(c Colour, text string) string {
	if !s.Colours || c == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// Wrap breaks a text at spaces so that it fits beside an indent, unless a word is wider.
func (s Style) Wrap(text string, indent int) (lines []string) {
	if s.Width == 0 {
		return []string{text}
	}
	const least = 20
	room := max(s.Width-indent, least)
	line, begun := "", false
	for word := range strings.SplitSeq(text, " ") {
		switch {
		case !begun:
			line, begun = word, true
		case Width(line)+1+Width(word) > room:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// columns measures text that may have colours.
var columns = displaywidth.Options{ControlSequences: true}

// Width returns the columns that text takes. Colours take none.
func Width(text string) int { return columns.String(text) }

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
			widths[i] = max(widths[i], Width(cell))
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
		width = max(width, Width(line))
	}
	return width
}

// Pad adds spaces to text up to a width in columns.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-Width(text), 0))
}

// Shorten shortens text to a width in columns.
func Shorten(text string, width int) string { return columns.TruncateString(text, width, "…") }
