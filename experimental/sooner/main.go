// Command sooner restarts crashing containers on a node earlier than the kubelet would,
// by rules of their pods, next to an unmodified kubelet.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
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
	case errors.Is(err, errPrinted):
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "sooner: %v\nSee sooner -h.\n", err)
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
	var others sync.WaitGroup
	defer others.Wait()
	defer stop()
	n, err := dial(o.endpoint)
	if err != nil {
		return err
	}
	defer n.close()
	a := newAgent(n, log, newMetrics(), o.limits)
	a.rules, a.namespaces, a.dryRun = o.rules, o.namespaces, o.dryRun
	a.say = func(line string) { fmt.Fprintln(stdout, line) }
	if o.manifests != "" {
		a.manifests = newManifests(o.manifests, o.node)
	}
	wake := make(chan struct{}, 1)
	if o.inCluster {
		config, err := restConfig(o.kubeconfig)
		if err != nil {
			return err
		}
		if a.cluster, err = newCluster(config, o, wake); err != nil {
			return err
		}
		synced, wait, err := a.cluster.watch(ctx, func(err error) { a.failed("watch", err) })
		if err != nil {
			return err
		}
		a.synced = synced
		others.Go(wait)
		others.Go(func() { a.verifyNode(ctx) })
	}
	for _, s := range []struct {
		flag, address string
		handler       http.Handler
	}{
		{flagMetrics, o.metricsAddress, metricsHandler(a.metrics)},
		{flagProbes, o.probeAddress, a.health.probes()},
	} {
		end, err := serveHTTP(s.flag, s.address, s.handler)
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
