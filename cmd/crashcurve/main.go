// Command crashcurve shows what a restart backoff does to a node before it is
// rolled out: how often crashing pods are restarted, and what that costs the API
// server.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/restartkit/restart/cmd/internal/flags"
	"github.com/restartkit/restart/cmd/internal/picture"
	"github.com/restartkit/restart/cmd/internal/terminal"
)

// The exit codes of this program.
const (
	exitOK        = flags.ExitOK
	exitUsage     = flags.ExitUsage
	exitUnwritten = flags.ExitUnwritten
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
	var tables bytes.Buffer
	printFigure(&tables, &o.figure)
	_, err = stdout.Write(tables.Bytes())
	if err == nil && o.output != "" {
		err = writePicture(o, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "crashcurve: %s\n", terminal.Escape(err.Error()))
		return exitUnwritten
	}
	return exitOK
}

// writePicture writes the picture and prints its path.
func writePicture(o *options, stderr io.Writer) error {
	path, err := picture.Write(o.output, o.figure.draw().SVG(picture.SVGOptions{Prefix: "cc", Dark: true}))
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "crashcurve: wrote %s\n", terminal.Escape(path))
	return nil
}
