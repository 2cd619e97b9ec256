// Command kubectl-backoff is a kubectl plugin that explains restarts: why containers and
// Jobs wait, when they start and what ends them. It only reads.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
)

func main() {
	klog.LogToStderr(false) // client-go's own messages would mix with the output
	klog.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	args := os.Args[1:]
	// kubectl asks a program of this name for completions.
	if name := filepath.Base(os.Args[0]); strings.HasPrefix(name, "kubectl_complete-") {
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	os.Exit(run(ctx, streams, time.Now, args))
}
