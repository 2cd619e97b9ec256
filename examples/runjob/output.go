package main

import (
	"os"

	"github.com/restartkit/restart/examples/internal/process"
)

// output passes on what the processes write, line by line with a prefix.
type output struct {
	print func(prefix string, line []byte)
}

// stream is the output of one process.
type stream struct {
	child  *os.File // the end to hand to the process
	finish func()   // returns when what the process wrote, which has ended or was never started, is printed
}

// open returns a stream whose lines are printed under that prefix: as they come
// or, by way of a file that outlives this program, all at the end.
func (o *output) open(prefix, file string) (*stream, error) {
	if file != "" {
		child, err := os.Create(file)
		return &stream{child, func() { o.replay(prefix, file) }}, err
	}
	out, err := process.OpenOutput(func(line []byte) { o.print(prefix, line) })
	if err != nil {
		return nil, err
	}
	return &stream{out.Child, out.Finish}, nil
}

// replay prints a file, if it is there, and removes it.
func (o *output) replay(prefix, file string) {
	f, err := os.Open(file)
	if err != nil {
		return
	}
	process.EachLine(f, func(line []byte) { o.print(prefix, line) })
	f.Close()
	_ = os.Remove(file)
}
