// Command playground serves a page that explains restart policies. The page checks a
// Job, tries failed pods on it, simulates it, and compares delay curves. It runs this
// library, compiled to WebAssembly.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/restartkit/restart/cmd/internal/flags"
	"github.com/restartkit/restart/cmd/internal/terminal"
)

const usage = `Usage: playground [flags]

Builds the page and serves it on this machine until interrupted. Open the
printed address. Once loaded, the page makes no request; your input stays in the
page and in the links that you copy from it.
`

const moreUsage = `
The go command builds the page from the source folder of this program, so that
folder must exist. The first build takes a while.

Exit codes:
  0  interrupted, or the files of -o are written
  1  the page cannot be built or served
  2  a flag is wrong
  3  the files of -o or the output cannot be written

Examples:
  playground
  playground -o public    # for any web server: plain files, nothing runs there

More: https://github.com/restartkit/restart/tree/main/cmd#playground
`

// Exit codes.
const (
	exitOK        = flags.ExitOK
	exitFailed    = 1
	exitUnwritten = flags.ExitUnwritten
)

// usualAddress is the default address. If it is in use, the page is served on another
// port, so links to the page mostly stay valid.
const usualAddress = "127.0.0.1:8017"

// options holds the flags.
type options struct {
	address string
	chosen  bool // by the flag
	output  string
}

func parseOptions(args []string, stdout io.Writer) (*options, error) {
	var o options
	set := flags.New("playground", usage, moreUsage)
	set.StringVar(&o.address, "addr", usualAddress, "`host:port` to listen on; port 0 picks a free one")
	set.StringVar(&o.output, "o", "", "`folder` to write the page's files to, instead of serving them")
	set.Group("Flags")
	if err := set.Parse(args, stdout); err != nil {
		return nil, err
	}
	given := set.Given()
	o.chosen = given["addr"]
	switch {
	case set.NArg() > 0:
		return nil, fmt.Errorf("no arguments are needed beside the flags; got %q", set.Args())
	case given["o"] && o.output == "":
		return nil, errors.New("-o: the folder has no name")
	case given["o"] && o.chosen:
		return nil, errors.New("-o and -addr: choose one")
	}
	return &o, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(playground(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// playground runs the program until ctx ends and returns the exit code.
func playground(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stdout)
	if err != nil {
		return flags.Refused("playground", err, stderr)
	}
	err = run(ctx, o, stdout, stderr)
	if ctx.Err() != nil {
		if o.output == "" || err == nil {
			return exitOK
		}
		err = unwritten(errors.New("interrupted; the files are not all written"))
	}
	if err != nil {
		fmt.Fprintf(stderr, "playground: %s\n", terminal.EscapeLines(err.Error()))
		if errors.As(err, &flags.Unwritten{}) {
			return exitUnwritten
		}
		return exitFailed
	}
	return exitOK
}

// run serves or writes the page. It checks that it can do so before the slow build.
func run(ctx context.Context, o *options, stdout, stderr io.Writer) error {
	var listener net.Listener
	var err error
	if o.output != "" {
		err = unwritten(prepare(o.output))
	} else {
		listener, err = o.listen()
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(stderr, "playground: building the page")
	s, err := build(ctx)
	switch {
	case err != nil && listener != nil:
		listener.Close()
		return err
	case err != nil:
		return err
	case listener != nil:
		return s.serve(ctx, listener, stdout)
	}
	return unwritten(s.write(o.output, stdout))
}

// unwritten marks an error of writing the page's files.
func unwritten(err error) error {
	if err == nil {
		return nil
	}
	return flags.Unwritten{Err: err}
}
