package main

import (
	"bytes"

	"github.com/restartkit/restart/cmd/internal/printer"
	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/cmd/internal/terminal"
)

// output passes on what the processes write, line by line with a prefix. Their lines
// cannot steer the terminal or look like lines of runjob.
type output struct {
	printer *printer.Printer
	print   func(prefix string, line []byte)
	colours bool // as the processes set them
}

// open returns a Source that prints the lines of a process with that prefix.
func (o *output) open(prefix string) *printer.Source {
	return o.printer.Source(func(line []byte) { o.line(prefix, line) })
}

// replay prints output that another run has not printed.
func (o *output) replay(prefix, text string) {
	process.EachLine(text, func(line []byte) { o.line(prefix, line) })
}

func (o *output) line(prefix string, line []byte) {
	o.print(prefix, []byte(terminal.EscapeLine(string(bytes.TrimRight(line, "\r\n")), o.colours)))
}
