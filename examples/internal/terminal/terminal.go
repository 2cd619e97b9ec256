// Package terminal finds out what a program's output can show, and formats text for it.
package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Live reports whether w is a terminal on which lines can be erased.
func Live(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// Colours reports whether w is a terminal whose user wants colours.
func Colours(w io.Writer) bool { return Live(w) && os.Getenv("NO_COLOR") == "" }

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
