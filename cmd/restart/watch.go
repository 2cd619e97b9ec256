package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/restartkit/restart/cmd/internal/criwatch"
	"github.com/restartkit/restart/cmd/internal/screen"
)

func watchCommand() *cobra.Command {
	o := criwatch.Options{Relist: time.Second, Evented: 5 * time.Minute}
	c := &cobra.Command{
		Use:   "watch [flags]",
		Short: "Show lifecycle events and exits of a node's containers",
		Long: `watch prints what happens to the containers of a CRI runtime (containerd,
CRI-O): each start, exit and removal, with the exit code, the time by the
runtime's clock, and how long ago that was. The sandbox of a pod counts as a
container. Opening the runtime's socket usually takes root.

Without --endpoint, watch takes CONTAINER_RUNTIME_ENDPOINT from the environment,
or looks for the socket of CRI-O, cri-dockerd, k3s, k0s, MicroK8s or containerd.
It follows the runtime's stream of events, compares it with a full list now and
then, and reconnects when the runtime restarts. Without a stream, or with --poll,
it lists everything each second.

With --state, the next watch continues where this one ended, also after kill -9.
In a file that is appended to (>>), each line is then exactly once. On a pipe or a
terminal, the lines of the last event may appear again after a kill, announced on
standard error. Of a container that both came and went while no watch was
running, the runtime tells nothing.

Events, and at the end counters under the names of KEP-3386's metrics, go to
standard output, and troubles with the runtime to standard error. SIGINT and
SIGTERM end watch; a second signal ends it at once.`,
		SuggestFor: []string{"events", "criwatch", "cri"},
		Annotations: map[string]string{exitCodes: `  0  ended by a signal or --for
  1  no runtime answers at the start
  2  a flag or the state is wrong
  3  the output or the state could not be written`},
		Example: `  restart watch
  restart watch --endpoint unix:///run/crio/crio.sock --for 1h
  restart watch -o json --state watch.state >> events.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runWatch(c, o) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.Endpoint, "endpoint", "", "`URL` of the runtime's socket, such as unix:///run/containerd/containerd.sock")
	flags.StringVarP(&o.Format, "output", "o", "text", "`format`: text, or json for one object per line")
	flags.StringVar(&o.State, "state", "", "`FILE` that makes the next watch continue this one")
	flags.DurationVar(&o.For, "for", 0, "`time` to watch (default until a signal)")
	flags.DurationVar(&o.Stats, "stats", 0, "`time` between prints of the counters (default only at the end)")
	flags.BoolVar(&o.Poll, "poll", false, "do not use the runtime's stream of events")
	flags.DurationVar(&o.Relist, "relist-period", o.Relist, "`time` between full lists without a stream")
	flags.DurationVar(&o.Evented, "evented-period", o.Evented, "`time` between full lists with a stream")
	return c
}

func runWatch(c *cobra.Command, o criwatch.Options) error {
	endpoint, err := criwatch.ParseEndpoint(cmp.Or(o.Endpoint, os.Getenv("CONTAINER_RUNTIME_ENDPOINT"), criwatch.FindEndpoint()))
	switch {
	case err != nil:
		return usageError("--%w", err)
	case o.Format != "text" && o.Format != "json":
		return usageError("-o %s: must be text or json", o.Format)
	case o.Relist <= 0:
		return usageError("--relist-period %v: must be above 0", o.Relist)
	case o.Evented <= 0:
		return usageError("--evented-period %v: must be above 0", o.Evented)
	case o.Stats < 0:
		return usageError("--stats %v: must not be below 0", o.Stats)
	case o.Stats > 0 && o.State != "":
		return usageError("--stats and --state: choose one, since lines of counters cannot be told apart after a kill")
	case o.For < 0:
		return usageError("--for %v: must not be below 0", o.For)
	}
	o.Endpoint = endpoint
	o.Colour = screen.StyleOf(os.Stdout).Colours
	o.Size = func() (int64, bool) {
		info, err := os.Stdout.Stat()
		if err != nil || !info.Mode().IsRegular() {
			return 0, false
		}
		return info.Size(), true
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once, even if its output is stuck
	err = criwatch.Watch(ctx, o, c.OutOrStdout(), slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)))
	switch {
	case errors.Is(err, criwatch.ErrOutput):
		return nil // the program's output keeps the error
	case errors.Is(err, criwatch.ErrState):
		return usageError("--state: %w", err)
	case errors.Is(err, criwatch.ErrUnsaved):
		return &exitError{code: exitUnwritten, err: err}
	}
	return err
}
