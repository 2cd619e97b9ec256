package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/restartkit/restart/internal/spelling"
	"github.com/restartkit/restart/kube/cmd/kubectl-backoff/internal/explain"
)

// The exit codes.
const (
	exitOK      = 0
	exitFailed  = 1 // an object does not exist, or check found an error or, with --strict, a warning
	exitUsage   = 2
	exitCluster = 3 // the cluster does not answer, or refuses
)

// exitError ends the program with an exit code. Its err is printed, if there is one.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// run runs the program and returns its exit code.
func run(ctx context.Context, streams genericiooptions.IOStreams, now func() time.Time, args []string) int {
	root := newRoot(&program{IOStreams: streams, now: now, config: newConfigFlags()})
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{exitUsage, err} // of cobra, about flags and arguments
	}
	if exit.err != nil {
		fmt.Fprintf(streams.ErrOut, "error: %v\n", exit.err)
	}
	if exit.code == exitUsage {
		fmt.Fprintln(streams.ErrOut, "See kubectl backoff -h.")
	}
	return exit.code
}

// program is one run of the command.
type program struct {
	genericiooptions.IOStreams
	now    func() time.Time
	config *genericclioptions.ConfigFlags

	// Flags of several verbs.
	selector, fieldSelector string
	allNamespaces           bool
	files                   []string
	fileFlags               []*pflag.Flag // -f of each verb
	recursive               bool
	output                  string
	at                      string
	syncFrequency           time.Duration

	taken   time.Time // of the objects of files; zero means now
	undated bool      // nothing says when they were taken
}

// defaultTimeout lets a dead cluster be reported within ten seconds.
const defaultTimeout = "8s"

func newConfigFlags() *genericclioptions.ConfigFlags {
	config := genericclioptions.NewConfigFlags(true)
	*config.Timeout = defaultTimeout
	return config
}

// warn prints a warning in one line.
func (p *program) warn(format string, args ...any) {
	fmt.Fprintf(p.ErrOut, "warning: "+format+"\n", args...)
}

// options returns the options of explanations made now, or at the time of the files.
func (p *program) options() explain.Options {
	now := p.now()
	if !p.taken.IsZero() {
		now = p.taken.In(now.Location())
	}
	return explain.Options{Now: now, SyncFrequency: p.syncFrequency, Undated: p.undated}
}

const about = `Explains restarts: why containers and Jobs wait, when they start, what ended them, how
often, and what ends the waiting. It only reads.

Without a verb it explains. Name pods, Jobs, or what keeps pods running (Deployments,
StatefulSets, DaemonSets, ReplicaSets, CronJobs), as in kubectl get. Without any, it shows
what waits or is in trouble in the namespace.

With -f it needs no cluster: it reads what kubectl get -o yaml or json prints, or the files
of a support bundle. Pods, Jobs, Events and Nodes in all the files explain each other.

The first line about an object says its state and what to wait for, "to do" what to do
about it. A start is a range, because a kubelet looks at a pod some time after a delay is
over. An estimated start follows from the number of restarts: a kubelet tells its delay
only a minute or so after the exit.`

const examples = `  kubectl backoff                        what waits or is in trouble in the namespace
  kubectl backoff pod/web-0              why it restarts, and when it starts next
  kubectl backoff deploy/web job/import  the pods of a Deployment, and a Job
  kubectl backoff pods -l app=web -A     all pods with a label
  kubectl backoff next -A -w             the next starts in the cluster, live
  kubectl backoff check -A               likely mistakes in restart rules and Jobs
  kubectl get pods,jobs,events,nodes -o yaml | kubectl backoff -f -`

const exitCodes = `
Exit codes: 0 done, 1 an object does not exist or check found an error (with --strict, a
warning), 2 used wrongly, 3 the cluster does not answer or refuses.
`

func newRoot(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:           "kubectl-backoff [explain] [TYPE/NAME… | TYPE [NAME…]]",
		Short:         "Explain why containers and Jobs wait, and when they start",
		Long:          about,
		Example:       examples,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl backoff"},
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if err := p.checkVerb(c, args); err != nil {
				return err
			}
			return p.explain(c, args)
		},
		ValidArgsFunction: p.completeObjects,
		Version:           version(),
	}
	root.SetVersionTemplate("kubectl-backoff {{.Version}}\n")
	p.config.AddFlags(root.PersistentFlags())
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = !slices.Contains(shownFlags, f.Name) })
	p.addFlags(root)
	p.addTimeFlags(root)
	explainCommand := &cobra.Command{
		Use:   "explain [TYPE/NAME… | TYPE [NAME…]]",
		Short: "Why pods and Jobs wait, when they start and what ends them (the default verb)",
		Long:  about, Example: examples, Args: cobra.ArbitraryArgs,
		RunE:              p.explain,
		ValidArgsFunction: p.completeObjects,
	}
	p.addFlags(explainCommand)
	p.addTimeFlags(explainCommand)
	root.AddCommand(explainCommand, p.nextCommand(), p.checkCommand())
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usagef("%w%s", err, nearestFlag(c, err)) })
	root.SetHelpTemplate(root.HelpTemplate() + exitCodes)
	must(root.RegisterFlagCompletionFunc("namespace", p.completeNamespaces))
	must(root.RegisterFlagCompletionFunc("context", p.completeContexts))
	return root
}

// must panics on an error that only a mistake in this program can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// shownFlags are the flags of kubectl that help lists. The others work, too.
var shownFlags = []string{"namespace", "context", "kubeconfig", "as", "request-timeout"}

// addFlags adds the flags that select objects and a form of output.
func (p *program) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVarP(&p.allNamespaces, "all-namespaces", "A", false, "all namespaces")
	f.StringVarP(&p.selector, "selector", "l", "", "only objects with these `labels`, such as app=web")
	f.StringSliceVarP(&p.files, "filename", "f", nil, "`files` or folders to read instead of a cluster, or - for standard input")
	p.fileFlags = append(p.fileFlags, f.Lookup("filename"))
	f.BoolVarP(&p.recursive, "recursive", "R", false, "read the folders in the folders of -f, too")
	f.StringVarP(&p.output, "output", "o", "", "`form` of the output: json, yaml or name instead of text")
	must(c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml", "name"}, cobra.ShellCompDirectiveNoFileComp)))
}

// addTimeFlags adds the flags on which predictions depend.
func (p *program) addTimeFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&p.fieldSelector, "field-selector", "", "only objects with these `fields`, such as spec.nodeName=n1")
	f.DurationVar(&p.syncFrequency, "sync-frequency", time.Minute, "syncFrequency in the kubelets' configuration")
	f.StringVar(&p.at, "at", "", "`time` at which the files of -f were taken, such as 2026-11-01T12:00:00Z (default: the latest time in them if that is more than a day ago, else now)")
}

// validate checks the flags.
func (p *program) validate() error {
	switch {
	case p.output != "" && p.output != "json" && p.output != "yaml" && p.output != "name":
		return usagef("--output %q: must be json, yaml or name", p.output)
	case p.allNamespaces && *p.config.Namespace != "":
		return usagef("-A and -n exclude each other")
	case p.syncFrequency <= 0:
		return usagef("--sync-frequency %v: must be positive", p.syncFrequency)
	case len(p.files) == 0 && slices.ContainsFunc(p.fileFlags, func(f *pflag.Flag) bool { return f.Changed }):
		return usagef("-f: the name of a file is empty") // as of an unset variable of a shell
	case p.at != "" && len(p.files) == 0:
		return usagef("--at is about the files of -f")
	case p.fieldSelector != "" && len(p.files) > 0:
		return usagef("--field-selector needs a cluster")
	case p.recursive && len(p.files) == 0:
		return usagef("-R is about the folders of -f")
	}
	return nil
}

// checkVerb returns an error if the first argument looks like a mistyped verb.
func (p *program) checkVerb(c *cobra.Command, args []string) error {
	if len(args) == 0 || strings.ContainsAny(args[0], "/,") || typeOf(args[0]) != nil {
		return nil
	}
	var verbs []string
	for _, verb := range c.Commands() {
		verbs = append(verbs, verb.Name())
	}
	if verb := spelling.Nearest(args[0], verbs); verb != "" {
		return usagef("%q is not a verb: did you mean %s? A pod of this name is pod/%s", args[0], verb, args[0])
	}
	return nil
}

// nearestFlag suggests a flag for a mistyped one.
func nearestFlag(c *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	var names []string
	add := func(f *pflag.Flag) { names = append(names, f.Name) }
	c.Flags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	if name := spelling.Nearest(unknown.GetSpecifiedName(), names); name != "" {
		return ": did you mean --" + name + "?"
	}
	return ""
}
