// Package terminal tells what can be done with a program's output.
package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Live reports whether w is a terminal on which lines can be taken back.
func Live(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// Colours reports whether w is a terminal whose user wants colours.
func Colours(w io.Writer) bool { return Live(w) && os.Getenv("NO_COLOR") == "" }
