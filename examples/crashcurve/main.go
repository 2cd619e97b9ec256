// Command crashcurve shows what a restart backoff does to a node before it is
// rolled out: how often crashing pods are restarted, and what that costs the API
// server.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

const usage = `Usage: crashcurve [flags]

Calculates in advance how often pods that crash or end are restarted under a
backoff, prints tables and draws restarts against time.

Without flags of its own it reproduces the figures of KEP-4603 (Tune
CrashLoopBackOff); with any of -policy, -baseline, -run, -mix, -until, -windows
and -log it compares policies of your own, by default today's, the reduced one
and today's under a maximum of 1s.

  crashcurve -o curves.svg
  crashcurve -figure maximum -o maximum.png
  crashcurve -policy today -policy mine=1s/30s,free=1 -run 10s -o mine.svg
  crashcurve -pods 110 -run 10s -mix 0.3

A policy is [NAME=]CURVE[,OPTION=VALUE]... with CURVE a preset (%s)
or INITIAL/MAX such as 1s/60s, and the options
  max=60s     an operator's cap; pulls the initial delay down to it
  factor=1.5  growth per failure, 1 or at least 1.01; 2 if not given
  free=1      restarts at once before the curve begins
  reset=10m   a run longer than this starts the curve over
  run=10s     how long each run lasts, instead of -run

Windows exclude their start and include their end. Exit codes: 0, 1 if a file
cannot be written, 2 if a flag is wrong.

Flags:
`

// The exit codes of this program.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(crashcurve(os.Args[1:], os.Stdout, os.Stderr))
}

// crashcurve is the program; it returns the exit code.
func crashcurve(args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "crashcurve: %v\nTry crashcurve -h.\n", err)
		return exitUsage
	}
	if err := produce(o, stdout); err != nil {
		fmt.Fprintf(stderr, "crashcurve: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// produce prints the tables and writes the picture.
func produce(o *options, stdout io.Writer) error {
	var tables bytes.Buffer
	for i := range o.figures {
		if i > 0 {
			tables.WriteByte('\n')
		}
		printFigure(&tables, &o.figures[i])
	}
	if o.claims {
		tables.WriteByte('\n')
		printClaims(&tables)
	}
	if _, err := stdout.Write(tables.Bytes()); err != nil {
		return err
	}
	if o.output == "" {
		return nil
	}
	picture, err := render(o.figures, o.format)
	if err != nil {
		return err
	}
	return os.WriteFile(o.output, picture, 0o644)
}
