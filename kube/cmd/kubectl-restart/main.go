// Command kubectl-restart is a kubectl plugin that explains restarts: why containers and
// Jobs wait, when they start and what ends them. It only reads.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// The exit codes.
const (
	exitOK      = 0
	exitFound   = 1 // lint found something, or an object was not found
	exitUsage   = 2
	exitCluster = 3 // the cluster did not answer, or refused
)

func main() {
	klog.LogToStderr(false) // client-go's own messages would mix with the output
	klog.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	args := os.Args[1:]
	if name := filepath.Base(os.Args[0]); strings.HasPrefix(name, "kubectl_complete-") {
		args = append([]string{completeVerb}, args...)
	}
	p := program{in: ctx, stdout: os.Stdout, stderr: os.Stderr, now: time.Now, completeTimeout: completeTimeout}
	os.Exit(p.run(args))
}

// program is one run of the command.
type program struct {
	in              context.Context
	stdout, stderr  io.Writer
	now             func() time.Time
	completeTimeout time.Duration // of a request for completions
	o               *options
}

// verb is a command after kubectl restart.
type verb struct {
	name, args, about string
	flags             []string // that it takes besides common ones
	run               func(*program) (int, error)
	help              string
}

// verbs returns all verbs, in the order of the help.
func verbs() []verb {
	return []verb{
		{"explain", "TYPE/NAME… | TYPE [NAME…]", "why pods or Jobs wait, when they start and what ends them", []string{"all-namespaces", "selector", "output", "sync-frequency"}, (*program).explain, explainHelp},
		{"next", "", "everything that waits, the soonest first", []string{"all-namespaces", "selector", "output", "sync-frequency", "watch"}, (*program).next, nextHelp},
		{"compare", "POD…", "a pod's restarts beside those on other restart curves", []string{"output"}, (*program).compare, compareHelp},
		{"lint", "", "likely mistakes in restart rules and Jobs", []string{"all-namespaces", "selector", "output", "for"}, (*program).lint, lintHelp},
		{"version", "", "the version of this program", nil, (*program).version, versionHelp},
	}
}

// notFoundError says that an object is not there.
type notFoundError struct{ error }

// run runs the program and returns the exit code.
func (p *program) run(args []string) int {
	if len(args) > 0 && args[0] == completeVerb {
		return p.complete(args[1:])
	}
	o, err := parseOptions(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		writeHelp(p.stdout, o.verb)
		return exitOK
	case err != nil:
		fmt.Fprintf(p.stderr, "kubectl-restart: %v\nTry kubectl restart -h.\n", err)
		return exitUsage
	}
	p.o = o
	code, err := o.verb.run(p)
	var missing notFoundError
	var wrong usageError
	switch {
	case err == nil:
	case p.in.Err() != nil:
		code = exitCluster
	case errors.As(err, &wrong):
		fmt.Fprintf(p.stderr, "kubectl-restart: %v\nTry kubectl restart -h.\n", err)
		code = exitUsage
	default:
		fmt.Fprintf(p.stderr, "kubectl-restart: %v\n", err)
		if code = exitCluster; errors.As(err, &missing) {
			code = exitFound
		}
	}
	return code
}

// warn prints a warning in one line.
func (p *program) warn(format string, args ...any) {
	fmt.Fprintf(p.stderr, "warning: "+format+"\n", args...)
}
