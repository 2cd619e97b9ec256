// Command supervise keeps commands running on this machine, as a kubelet keeps
// containers running.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/restartkit/restart/cmd/internal/flags"
	"github.com/restartkit/restart/cmd/internal/interrupt"
	"github.com/restartkit/restart/cmd/internal/policyfile"
	"github.com/restartkit/restart/cmd/internal/process"
)

// Exit codes.
const (
	exitOK        = flags.ExitOK
	exitFailed    = 1
	exitUsage     = flags.ExitUsage
	exitUnwritten = flags.ExitUnwritten
)

func main() {
	process.Guard()
	os.Exit(supervise(os.Args[1:]))
}

// supervise runs the program and returns its exit code.
func supervise(args []string) int {
	if len(args) > 0 && slices.Contains(verbs, args[0]) {
		return ask(args[0], args[1:], os.Stdout, os.Stderr)
	}
	o, err := parseOptions(args, os.Stdout)
	note := func(format string, args ...any) { logf(os.Stderr, format, args...) }
	for _, warning := range o.warnings {
		note("warning: %s", warning)
	}
	switch {
	case err != nil && o.hint:
		return flags.Refused("supervise", err, os.Stderr)
	case err != nil:
		complain(err)
		return exitUsage
	}
	for _, text := range policyfile.Notes(o.resolution, o.called) {
		note("%s", text)
	}
	for _, c := range o.commands {
		for _, text := range policyfile.Lint(c.name, c.policy, c.curveIn(o.resolution)) {
			note("warning: %s", text)
		}
	}

	s, err := newSupervisor(o, note)
	if err != nil {
		complain(err)
		return exitUsage
	}
	options := process.Options{Report: func(text string) { s.screen.note("warning: %s", text) }}
	if s.store != nil {
		options.Hold = s.store.Guard
	}
	if s.children, err = process.New(options); err != nil {
		complain(err)
		return exitFailed
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a write then fails instead
	ends := interrupt.Notify(syscall.SIGINT, syscall.SIGTERM)
	code := s.run(ends, on(syscall.SIGHUP), on(syscall.SIGUSR1))
	s.children.Close() // leaves no process behind
	s.control.close()
	unrecorded := s.events.end()
	s.screen.printer.Finish(ends)
	switch err := s.screen.out.Err(); {
	case errors.Is(err, syscall.EPIPE): // the reader has gone
		return exitUnwritten
	case err != nil:
		complain(fmt.Errorf("the output cannot be written: %w", err))
		return exitUnwritten
	case unrecorded != nil:
		complain(unrecorded)
		return exitUnwritten
	case s.store != nil && s.store.Unsaved():
		return exitUnwritten
	}
	return code
}

// on returns a channel that receives a signal, even under nohup.
func on(s syscall.Signal) <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, s)
	return signals
}
