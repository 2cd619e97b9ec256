package main

import (
	"bytes"

	"github.com/restartkit/restart/cmd/internal/printer"
	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/cmd/internal/terminal"
)

// output prints the lines of processes, each with a prefix. Lines of a process cannot
// control the terminal or pass for lines of runjob.
type output struct {
	printer *printer.Printer
	print   func(prefix string, line []byte)
	colours bool // keep the colours of the processes
}

// open returns a Source that prints a process's lines with the prefix.
func (o *output) open(prefix string) *printer.Source {
	return o.printer.Source(func(line []byte) { o.line(prefix, line) })
}

// replay prints output left over from an earlier run.
func (o *output) replay(prefix, text string) {
	process.EachLine(text, func(line []byte) { o.line(prefix, line) })
}

func (o *output) line(prefix string, line []byte) {
	o.print(prefix, []byte(terminal.EscapeLine(string(bytes.TrimRight(line, "\r\n")), o.colours)))
}
