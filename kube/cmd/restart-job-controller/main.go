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

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // also if the Lease was lost
	exitUsage  = 2
)

func main() {
	// A second signal ends the program at once.
	os.Exit(run(ctrl.SetupSignalHandler(), os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the program until ctx is done and returns the exit code. After an error the
// process must end at once, because the Lease may be lost while requests are under way.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp), errors.Is(err, errVersion):
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "restart-job-controller: %v\nTry restart-job-controller --help.\n", err)
		return exitUsage
	}
	logger := zap.New(zap.UseFlagOptions(&o.zap), zap.WriteTo(stderr))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger) // client-go's
	if err := control(ctx, o); err != nil {
		logger.Error(err, "ended")
		return exitFailed
	}
	logger.Info("ended")
	return exitOK
}

// control runs Jobs, while this process leads, until ctx is done.
func control(ctx context.Context, o *options) error {
	cluster, err := config.GetConfigWithContext(o.context)
	if err != nil {
		return fmt.Errorf("configuration of the cluster: %w", err)
	}
	manager, err := newManager(cluster, o)
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}
