// Command crashcurve shows how a restart backoff affects a node, before the backoff is
// rolled out. It calculates how often crashing pods restart and how many API requests
// that costs.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/restartkit/restart/cmd/internal/flags"
	"github.com/restartkit/restart/cmd/internal/terminal"
	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

// Exit codes.
const (
	exitOK        = flags.ExitOK
	exitUsage     = flags.ExitUsage
	exitUnwritten = flags.ExitUnwritten
)

func main() {
	os.Exit(crashcurve(os.Args[1:], os.Stdout, os.Stderr))
}

// crashcurve runs the program and returns its exit code.
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
