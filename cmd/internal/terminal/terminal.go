// Package terminal finds out what a program's output can show, and formats text for it.
package terminal

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Live reports whether w is a terminal on which lines can be erased.
func Live(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// Colours reports whether w is a terminal whose user wants colours.
func Colours(w io.Writer) bool { return Live(w) && os.Getenv("NO_COLOR") == "" }

// Size returns the columns and lines of a terminal.
func Size(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// upAndErase moves the cursor to the line above, and erases that. Erasing the whole
// screen at once would leave a copy of it in the history of some terminals.
const upAndErase = "\x1b[A" + eraseLine

const eraseLine = "\x1b[2K"

// EraseLine returns what erases a line of text that the cursor stands behind, and moves
// the cursor to its beginning. A terminal that has become narrower has wrapped the line.
func EraseLine(text string, width int) string {
	return eraseLine + strings.Repeat(upAndErase, Lines(text, width)-1) + "\r"
}

// EraseAbove returns what erases a line of text that the cursor stands below, and moves
// the cursor to its beginning.
func EraseAbove(text string, width int) string {
	return strings.Repeat(upAndErase, Lines(text, width)) + "\r"
}

// EraseScreen returns what erases all lines of a terminal, and moves the cursor to its
// first.
func EraseScreen(height int) string {
	return home + eraseLine + strings.Repeat("\x1b[B"+eraseLine, max(height-1, 0)) + home
}

const home = "\x1b[H"

// Lines returns how many lines of a terminal text takes, with the end of its line.
func Lines(text string, width int) int { return max((Width(text)+width-1)/width, 1) }

// Colour is the escape sequence of a colour of characters. The zero value is the
// terminal's own.
type Colour string

// The colours of what is good, to be watched and bad.
const (
	Green  Colour = "\x1b[32m"
	Yellow Colour = "\x1b[33m"
	Red    Colour = "\x1b[31m"
)

// Paint returns text in that colour.
func (c Colour) Paint(text string) string {
	if c == "" || text == "" {
		return text
	}
	return string(c) + text + "\x1b[0m"
}
