// Command restart-job-controller runs the Jobs of a cluster that name it in
// spec.managedBy, by the rules of jobpolicy.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitLost   = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the program until ctx is done and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp), errors.Is(err, errVersion):
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "restart-job-controller: %v\nTry restart-job-controller -h.\n", err)
		return exitUsage
	}
	logger := newLogger(stderr, o.logFormat, o.verbosity)
	ctx = klog.NewContext(ctx, logger)
	said := make(chan struct{})
	unsaid := context.AfterFunc(ctx, func() { // an unresponsive API server can delay the end
		defer close(said)
		logger.Info("finishing pending requests; a second signal ends the program at once")
	})
	defer func() {
		if !unsaid() {
			<-said
		}
	}()
	switch err := control(ctx, o); {
	case errors.Is(err, errLeaseLost):
		logger.Error(err, "ended")
		return exitLost
	case err != nil:
		logger.Error(err, "ended")
		return exitFailed
	}
	logger.Info("ended")
	return exitOK
}

// control runs Jobs, while this process leads, until ctx is done. After errLeaseLost
// the process must end at once, because requests may still be under way.
func control(ctx context.Context, o *options) (err error) {
	c, err := connect(o)
	if err != nil {
		return err
	}
	r := newReplica(c, o)
	s := servers{ctx: ctx}
	defer func() {
		patience := 5 * time.Second
		if errors.Is(err, errLeaseLost) {
			patience = 0
		}
		s.stop(patience)
	}()
	if err := r.serve(&s); err != nil {
		return err
	}
	return r.run(ctx)
}
