// Command crashcurve shows what a restart backoff does to a node before it is
// rolled out: how often crashing pods are restarted, and what that costs the API
// server.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/restartkit/restart/examples/internal/flags"
	"github.com/restartkit/restart/examples/internal/terminal"
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
	if err != nil {
		return flags.Refused("crashcurve", err, stderr)
	}
	err = printTables(o, stdout)
	if err == nil && o.output != "" {
		err = writePicture(o, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "crashcurve: %s\n", terminal.Escape(err.Error()))
		return exitFailed
	}
	return exitOK
}

func printTables(o *options, stdout io.Writer) error {
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
	_, err := stdout.Write(tables.Bytes())
	return err
}

// writePicture writes the picture, and says where it is: not everyone knows which
// folder the program was started in ("go -C" changes it).
func writePicture(o *options, stderr io.Writer) error {
	picture, err := render(o.figures, o.format)
	if err != nil {
		return err
	}
	path, err := filepath.Abs(o.output)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, picture, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "crashcurve: wrote %s\n", terminal.Escape(path))
	return nil
}
