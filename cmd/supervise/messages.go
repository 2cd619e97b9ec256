package main

import (
	"fmt"
	"io"
	"os"

	"github.com/restartkit/restart/cmd/internal/terminal"
)

// logf writes a line with the prefix "supervise: " to w.
func logf(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "supervise: %s\n", terminal.Escape(fmt.Sprintf(format, args...)))
}

// complain writes an error, of one or more lines, to standard error.
func complain(err error) {
	fmt.Fprintf(os.Stderr, "supervise: %s\n", terminal.EscapeLines(err.Error()))
}
