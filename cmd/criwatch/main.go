// Command criwatch prints the lifecycle events of a node's containers, from any CRI
// runtime.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/restartkit/restart/cmd/internal/flags"
	"github.com/restartkit/restart/cmd/internal/terminal"
	"github.com/restartkit/restart/pleg"
)

// Exit codes.
const (
	exitEnded     = flags.ExitOK
	exitFailed    = 1
	exitBad       = flags.ExitUsage
	exitUnwritten = flags.ExitUnwritten
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)                            // a second signal ends the program at once, even if its output is stuck
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the write fails, too
	os.Exit(criwatch(ctx, os.Args[1:], os.Stdout, os.Stderr, terminal.Colours(os.Stdout)))
}

// criwatch runs the program until ctx ends and returns the exit code.
func criwatch(ctx context.Context, args []string, stdout, stderr io.Writer, colour bool) int {
	o, err := parseOptions(args, stdout)
	if err != nil {
		return flags.Refused("criwatch", err, stderr)
	}
	err = watchRuntime(ctx, o, newWriter(o.format, stdout, colour), slog.New(slog.NewTextHandler(stderr, nil)))
	switch {
	case err == nil:
		return exitEnded
	case errors.Is(err, syscall.EPIPE): // its reader has ended
		return exitUnwritten
	}
	fmt.Fprintf(stderr, "criwatch: %s\n", terminal.Escape(err.Error()))
	if errors.As(err, &flags.Unwritten{}) {
		return exitUnwritten
	}
	return exitFailed
}

// watchRuntime connects to the runtime and watches until ctx ends, or for the time of -for.
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
	w, err := newWatch(n, o, pleg.ExitOptions[string]{IncludePast: true}, out, log)
	if err != nil {
		return err
	}
	if err := w.run(ctx); err != nil {
		return flags.Unwritten{Err: err}
	}
	return nil
}
