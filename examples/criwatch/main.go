// Command criwatch prints the lifecycle events of a node's containers, from any
// CRI runtime.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/restartkit/restart/examples/internal/flags"
	"github.com/restartkit/restart/examples/internal/terminal"
)

// The exit codes of this program.
const (
	exitEnded  = 0
	exitFailed = 1
	exitBad    = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends it at once, even if its output is stuck
	os.Exit(criwatch(ctx, os.Args[1:], os.Stdout, os.Stderr, terminal.Colours(os.Stdout)))
}

// criwatch is the program. It runs until ctx ends and returns the exit code.
func criwatch(ctx context.Context, args []string, stdout, stderr io.Writer, colour bool) int {
	o, err := parseOptions(args, stdout)
	if err != nil {
		return flags.Refused("criwatch", err, stderr, exitFailed)
	}
	if err := watchRuntime(ctx, o, newWriter(o.format, stdout, colour), slog.New(slog.NewTextHandler(stderr, nil))); err != nil {
		fmt.Fprintf(stderr, "criwatch: %s\n", terminal.Escape(err.Error()))
		return exitFailed
	}
	return exitEnded
}

// watchRuntime connects and watches until ctx ends.
func watchRuntime(ctx context.Context, o *options, out writer, log *slog.Logger) error {
	conn, err := dial(o.endpoint)
	if err != nil {
		return fmt.Errorf("endpoint %q: %w", o.endpoint, err)
	}
	defer conn.Close()
	n := newNode(conn)
	name, err := n.greet(ctx, o.endpoint)
	if ctx.Err() != nil {
		return nil // interrupted
	}
	if err != nil {
		return err
	}
	if o.limit > 0 {
		limited, cancel := context.WithTimeout(ctx, o.limit)
		defer cancel()
		ctx = limited
	}
	log.Info("watching", "runtime", name, "endpoint", o.endpoint)
	w, err := newWatch(n, o, out, log)
	if err != nil {
		return err
	}
	return w.run(ctx)
}
