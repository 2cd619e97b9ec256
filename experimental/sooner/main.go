// Command sooner restarts crashing containers on a node earlier than the kubelet would,
// by rules of their pods, next to an unmodified kubelet.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(25) // it allocates little, and every node runs it: TestCost
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1) // more threads mostly wake each other: TestCost
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the program until ctx is done and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stdout, os.Getenv)
	switch {
	case errors.Is(err, flag.ErrHelp), errors.Is(err, errVersion):
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "sooner: %v\nTry sooner -h.\n", err)
		return exitUsage
	case o.check:
		return check(ctx, o, stdout)
	}
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	if err := serve(ctx, o, log, stdout); err != nil {
		log.Error("ended", "err", err)
		return exitFailed
	}
	return exitOK
}

// serve runs the agent.
func serve(ctx context.Context, o *options, log *slog.Logger, stdout io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	n, err := dial(o.endpoint)
	if err != nil {
		return err
	}
	defer n.close()
	a := newAgent(n, log, newMetrics())
	a.rules, a.dryRun = o.rules, o.dryRun
	a.say = func(line string) { fmt.Fprintln(stdout, line) }
	if o.manifests != "" {
		a.manifests = newManifests(o.manifests, o.node)
	}
	wake := make(chan struct{}, 1)
	if o.cluster(os.Getenv) {
		config, err := restConfig(o.kubeconfig)
		if err != nil {
			return err
		}
		if a.cluster, err = newCluster(config, o.node, o.rules, wake); err != nil {
			return err
		}
		synced, wait, err := a.cluster.watch(ctx, func(err error) { a.failed("watch", err) })
		if err != nil {
			return err
		}
		defer wait()
		defer stop()
		if a.manifests == nil {
			a.synced = synced // static pods do not wait
		}
	}
	if o.metricsListen != "" {
		end, err := serveMetrics(o.metricsListen, a.metrics)
		if err != nil {
			return err
		}
		defer end()
	}
	now := make(chan os.Signal, 1)
	signal.Notify(now, syscall.SIGUSR1)
	defer signal.Stop(now)
	log.Info("started", "version", thisVersion(), "node", o.node, "runtime", o.endpoint, "dry-run", o.dryRun)
	a.run(ctx, wake, now)
	return nil
}

// serveMetrics serves /metrics until end is called.
func serveMetrics(address string, m *metrics) (end func(), err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("-metrics-listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	go s.Serve(l)
	return func() { s.Close() }, nil
}
