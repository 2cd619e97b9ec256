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

Calculates how often a node's pods are restarted under a backoff, before it is
rolled out, and how many API requests that makes. Prints tables; -o draws
restarts against time.

  crashcurve -o curves.svg
        the figures of KEP-4603 (Tune CrashLoopBackOff)
  crashcurve -figure maximum -o maximum.png
        one of them
  crashcurve -policy today -policy mine=1s/30s,free=1 -run 10s -o mine.svg
        two policies, for pods that run for 10s and end
  crashcurve -pods 110 -run 10s -mix 0.3
        a node of which 30 %% of the pods crash at once

Any of -policy, -baseline, -run, -mix, -until, -windows and -log asks for a
figure of your own. Without -policy it compares today's delays, the reduced ones
of KEP-4603, and today's under a maximum of 1s.

A policy is [NAME=]CURVE[,OPTION=VALUE]... CURVE is INITIAL/MAX, such as 1s/60s,
or a preset: %s. The options:
  max=60s     an operator's maximum; an initial delay above it becomes as short
  factor=1.5  growth per failure, 1 or at least 1.01; 2 if not given
  free=1      restarts at once before the curve begins
  reset=10m   a run longer than this starts the curve over
  run=10s     how long each run lasts, instead of -run

A restart at the end of a window is counted in it, one at its start is not, but
for the first window.

Exit codes:
  0  all was printed and written
  1  the tables or the picture cannot be written
  2  a flag is wrong

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
		return flags.Refused("crashcurve", err, stderr, exitFailed)
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
