// Package terminal detects the capabilities of a program's output and formats text for
// it.
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

// Size returns the columns and lines of a terminal, or 80 and 24 if unknown.
func Size(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// upAndErase moves the cursor up one line and erases that line. Erasing the whole
// screen at once would leave a copy in the history of some terminals.
const upAndErase = "\x1b[A" + eraseLine

const eraseLine = "\x1b[2K"

// EraseLine returns the escape sequence that erases a line of text before the cursor,
// even if wrapped by a narrower terminal, and moves the cursor to its start.
func EraseLine(text string, width int) string {
	return eraseLine + strings.Repeat(upAndErase, Lines(text, width)-1) + "\r"
}

// EraseAbove returns the escape sequence that erases a line of text above the cursor
// and moves the cursor to its start.
func EraseAbove(text string, width int) string {
	return strings.Repeat(upAndErase, Lines(text, width)) + "\r"
}

// EraseScreen returns the escape sequence that erases the terminal and moves the cursor
// to its first line.
func EraseScreen(height int) string {
	return home + eraseLine + strings.Repeat("\x1b[B"+eraseLine, max(height-1, 0)) + home
}

const home = "\x1b[H"

// Lines returns the number of terminal lines taken by a line of text.
func Lines(text string, width int) int { return max((Width(text)+width-1)/width, 1) }

// Colour is the escape sequence of a text colour. The zero value means the default.
type Colour string

// Colours for good states, states to watch and bad states.
const (
	Green  Colour = "\x1b[32m"
	Yellow Colour = "\x1b[33m"
	Red    Colour = "\x1b[31m"
)

// Paint returns text in the colour.
func (c Colour) Paint(text string) string {
	if c == "" || text == "" {
		return text
	}
	return string(c) + text + "\x1b[0m"
}
