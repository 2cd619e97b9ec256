package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// A beside repeats a command while specs run.
type beside struct {
	cancel context.CancelFunc
	ended  chan error
	stderr io.Writer
}

// startCommand starts to repeat the command of the options, if any. What it prints goes
// into the file path.
func startCommand(ctx context.Context, o options, path, kubeconfig string) (*beside, error) {
	ctx, cancel := context.WithCancel(ctx)
	b := &beside{cancel: cancel, ended: make(chan error, 1), stderr: o.stderr}
	if o.beside == "" {
		b.ended <- nil
		return b, nil
	}
	log, err := os.Create(path)
	if err != nil {
		cancel()
		return nil, err
	}
	go func() {
		b.ended <- errors.Join(b.repeat(ctx, o.beside, kubeconfig, log), log.Close())
	}()
	return b, nil
}

// repeat runs the command again and again until ctx is done. It returns an error that
// counts failures and quotes the first.
func (b *beside) repeat(ctx context.Context, command, kubeconfig string, log io.Writer) error {
	runs, failures := 0, 0
	var first error
	for ctx.Err() == nil {
		cmd := exec.CommandContext(ctx, "sh", "-c", command)
		inGroup(cmd)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		errs := &tail{limit: 1024}
		cmd.Stdout, cmd.Stderr = log, io.MultiWriter(log, errs)
		err := cmd.Run()
		if ctx.Err() != nil {
			break // it was killed
		}
		runs++
		if err != nil {
			if failures++; first == nil {
				first = fmt.Errorf("%w\n%s", err, errs.text)
			}
		}
	}
	fmt.Fprintf(b.stderr, "beside the specs, the command ran %d times and failed %d times\n", runs, failures)
	if first != nil {
		return fmt.Errorf("the command beside the specs failed %d times, first: %w", failures, first)
	}
	return nil
}

// stop ends the command.
func (b *beside) stop() error {
	b.cancel()
	return <-b.ended
}
