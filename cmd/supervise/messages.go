package main

import (
	"fmt"
	"io"
	"os"

	"github.com/restartkit/restart/cmd/internal/terminal"
)

// logf writes a line of supervise to w, standard error.
func logf(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "supervise: %s\n", terminal.Escape(fmt.Sprintf(format, args...)))
}

// complain writes an error to standard error, in one line or several.
func complain(err error) {
	fmt.Fprintf(os.Stderr, "supervise: %s\n", terminal.EscapeLines(err.Error()))
}
