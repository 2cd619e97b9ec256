// Command criwatch prints the lifecycle events of a node's containers, from any CRI
// runtime, and restarts exited containers.
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
	"time"

	"github.com/restartkit/restart/cmd/internal/flags"
	"github.com/restartkit/restart/cmd/internal/policyfile"
	"github.com/restartkit/restart/cmd/internal/printer"
	"github.com/restartkit/restart/cmd/internal/statefolder"
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
	if wrong := (badPolicy{}); errors.As(err, &wrong) {
		fmt.Fprintf(stderr, "criwatch: %s\n", terminal.EscapeLines(err.Error()))
		return exitBad
	}
	if err != nil {
		return flags.Refused("criwatch", err, stderr)
	}
	if o.policy != nil {
		err = restartContainers(ctx, o, stdout, stderr, colour)
	} else {
		err = watchRuntime(ctx, o, newWriter(o.format, stdout, colour), slog.New(slog.NewTextHandler(stderr, nil)))
	}
	switch {
	case err == nil:
		return exitEnded
	case errors.Is(err, syscall.EPIPE): // its reader has ended
		return exitUnwritten
	}
	fmt.Fprintf(stderr, "criwatch: %s\n", terminal.Escape(err.Error()))
	switch {
	case errors.Is(err, errBadState):
		return exitBad
	case errors.As(err, &flags.Unwritten{}):
		return exitUnwritten
	}
	return exitFailed
}

// watchRuntime connects to the runtime and watches until ctx ends.
func watchRuntime(ctx context.Context, o *options, out writer, log *slog.Logger) error {
	return connected(ctx, o, log, func(ctx context.Context, n *node) error {
		w, err := newWatch(n, o, pleg.ExitOptions[string]{IncludePast: true}, out, log)
		if err != nil {
			return err
		}
		if err := w.run(ctx); err != nil {
			return flags.Unwritten{Err: err}
		}
		return nil
	})
}

// errBadState marks an unusable state, which has its own exit code.
var errBadState = errors.New("nothing was restarted")

// restartContainers connects to the runtime and restarts containers until ctx ends.
// Slow readers of the output or the log do not hold it up.
func restartContainers(ctx context.Context, o *options, stdout, stderr io.Writer, colour bool) error {
	out, messages := printer.New(), printer.New() // two, so that unread output holds up no message
	rows, notes := newRowWriter(o.format, out.To(stdout), colour), messages.To(stderr)
	log := slog.New(slog.NewTextHandler(notes, nil))
	for _, text := range append(o.warnings, policyfile.Notes(o.policy.resolution, o.policy.Called)...) {
		log.Info(text)
	}
	err := connected(ctx, o, log, func(ctx context.Context, n *node) error {
		about := identityOf(n.runtime, o.endpoint)
		exits := pleg.ExitOptions[string]{IncludePast: true}
		var s *statefolder.Store
		var before *restartState
		if o.state != "" {
			var err error
			if s, err = statefolder.OpenStore(o.state, "criwatch", stateVersion); err == nil {
				defer s.Close()
				before, err = readState(s, about)
			}
			if err != nil {
				return fmt.Errorf("%w: %w", errBadState, err)
			}
			if before != nil {
				exits.Resume = before.Position
			}
		}
		w, err := newWatch(n, o, exits, nil, log)
		if err != nil {
			return err
		}
		l, err := newCrashLoop(w, o.policy, rows, s, about, before)
		if err != nil {
			return fmt.Errorf("%w: %w", errBadState, err)
		}
		if o.explain {
			l.notes = notes
		}
		l.run(ctx)
		if s != nil && s.Unsaved() {
			return flags.Unwritten{Err: errors.New("the state could not be written")}
		}
		return nil
	})
	for _, p := range []*printer.Printer{out, messages} {
		p.EndWithin(time.Second)
		p.Finish(nil)
	}
	if lost := rows.out.Err(); err == nil && lost != nil {
		return flags.Unwritten{Err: lost}
	}
	return err
}

// connected connects to the runtime and calls do with a context that ends with ctx or
// after the time of -for.
func connected(ctx context.Context, o *options, log *slog.Logger, do func(context.Context, *node) error) error {
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
	return do(ctx, n)
}
