package main

import (
	"fmt"
	"io"
	"os"

	"github.com/restartkit/restart/examples/internal/terminal"
)

// tell says something on standard error, in a line.
func tell(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "supervise: %s\n", terminal.Escape(fmt.Sprintf(format, args...)))
}

// complain says what is wrong, in one line or several.
func complain(err error) {
	fmt.Fprintf(os.Stderr, "supervise: %s\n", terminal.EscapeLines(err.Error()))
}
