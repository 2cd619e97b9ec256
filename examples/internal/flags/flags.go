// Package flags reads a program's flags, and tells what is wrong with them, as all
// the programs here do.
package flags

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/restartkit/restart/examples/internal/terminal"
)

// Set is the flags of a program. It is not safe for concurrent use.
type Set struct {
	*flag.FlagSet
	usage string
}

// New returns the flags of a program, none so far. The usage stands above their
// descriptions.
func New(program, usage string) *Set {
	s := &Set{flag.NewFlagSet(program, flag.ContinueOnError), usage}
	s.SetOutput(io.Discard) // whoever calls Parse says what is wrong
	return s
}

// Parse reads the arguments. If they ask for help, it is written to stdout; the
// error is then flag.ErrHelp, or says that it could not be written.
func (s *Set) Parse(args []string, stdout io.Writer) error {
	err := s.FlagSet.Parse(args)
	if !errors.Is(err, flag.ErrHelp) {
		return s.explained(err)
	}
	var help bytes.Buffer
	help.WriteString(s.usage)
	s.SetOutput(&help)
	s.PrintDefaults()
	if _, err := stdout.Write(help.Bytes()); err != nil {
		return &writeError{err}
	}
	return err
}

// explained says what a value must be where package flag only says that it could
// not be read.
func (s *Set) explained(err error) error {
	if err == nil {
		return nil
	}
	text, unclear := strings.CutSuffix(err.Error(), ": parse error")
	if !unclear {
		return err
	}
	s.VisitAll(func(f *flag.Flag) {
		value, ok := f.Value.(flag.Getter)
		if !ok || !strings.HasSuffix(text, " -"+f.Name) {
			return
		}
		switch value.Get().(type) {
		case bool:
			err = errors.New(text + ": must be true or false")
		case int:
			err = errors.New(text + ": must be a whole number")
		case float64:
			err = errors.New(text + ": must be a number")
		case time.Duration:
			err = errors.New(text + ": must have a unit, as 10s or 5m")
		}
	})
	return err
}

// Given returns the names of the flags that were given.
func (s *Set) Given() map[string]bool {
	given := make(map[string]bool)
	s.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return given
}

// writeError is the error of a help text that nobody got.
type writeError struct{ error }

// The exit codes of a program that ends before it has done anything.
const (
	exitHelped = 0
	exitUsage  = 2
)

// Refused returns the exit code of a program that stops at that error of Parse, or of
// what it makes of the flags, after it has said on stderr what is wrong: 0 if help
// was asked for, unwritten if it could not be written.
func Refused(program string, err error, stderr io.Writer, unwritten int) int {
	if errors.Is(err, flag.ErrHelp) {
		return exitHelped
	}
	fmt.Fprintf(stderr, "%s: %s\n", program, terminal.EscapeLines(err.Error()))
	if failed := (*writeError)(nil); errors.As(err, &failed) {
		return unwritten
	}
	fmt.Fprintf(stderr, "Try %s -h.\n", program)
	return exitUsage
}
