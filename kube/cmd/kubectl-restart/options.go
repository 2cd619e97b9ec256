package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// options are the arguments of the program.
type options struct {
	verb *verb
	args []string // after the verb

	namespace, context, kubeconfig, as string
	selector, output, forVersion       string
	all, watch                         bool
	timeout, syncFrequency             time.Duration
	flags                              *pflag.FlagSet
}

// usageError is a mistake in the arguments.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// commonFlags are the flags of every verb.
var commonFlags = []string{"namespace", "context", "kubeconfig", "as", "request-timeout", "help"}

// defaultTimeout lets a dead cluster be reported within ten seconds.
const defaultTimeout = 8 * time.Second

func newOptions() *options {
	o := &options{}
	f := pflag.NewFlagSet("kubectl-restart", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	f.StringVarP(&o.namespace, "namespace", "n", "", "namespace; by default that of the context")
	f.BoolVarP(&o.all, "all-namespaces", "A", false, "all namespaces")
	f.StringVarP(&o.selector, "selector", "l", "", "only objects with these labels, such as app=web")
	f.StringVarP(&o.output, "output", "o", "", "json or yaml, instead of text")
	f.BoolVarP(&o.watch, "watch", "w", false, "go on and show changes, until interrupted")
	f.DurationVar(&o.syncFrequency, "sync-frequency", time.Minute, "syncFrequency in the kubelets' configuration")
	f.StringVar(&o.forVersion, "for", "", "also report fields that this version of Kubernetes drops, such as 1.29")
	f.StringVar(&o.context, "context", "", "context of the kubeconfig")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "path of the kubeconfig")
	f.StringVar(&o.as, "as", "", "user to impersonate")
	f.DurationVar(&o.timeout, "request-timeout", defaultTimeout, "time allowed for each request; 0 means unlimited")
	f.BoolP("help", "h", false, "print help")
	o.flags = f
	return o
}

// parseOptions parses the arguments. After pflag.ErrHelp, the verb of the options is
// the one to explain, nil for all.
func parseOptions(args []string) (*options, error) {
	o := newOptions()
	err := o.flags.Parse(args)
	if help, _ := o.flags.GetBool("help"); help && err == nil {
		err = pflag.ErrHelp
	}
	words := o.flags.Args()
	if len(words) > 0 && words[0] == "help" {
		words, err = words[1:], pflag.ErrHelp
	}
	if len(words) > 0 {
		all := verbs()
		i := slices.IndexFunc(all, func(v verb) bool { return v.name == words[0] })
		if i < 0 {
			return o, usagef("unknown verb %q; there are %s", words[0], strings.Join(verbNames(), ", "))
		}
		o.verb, o.args = &all[i], words[1:]
	}
	switch {
	case err == nil:
	case errors.Is(err, pflag.ErrHelp):
		return o, err
	default:
		return o, usageError{err}
	}
	if o.verb == nil {
		return o, pflag.ErrHelp
	}
	return o, o.validate()
}

func (o *options) validate() error {
	var err error
	o.flags.Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(commonFlags, f.Name) && !slices.Contains(o.verb.flags, f.Name) {
			err = usagef("%s does not take --%s", o.verb.name, f.Name)
		}
	})
	switch {
	case err != nil:
		return err
	case o.output != "" && o.output != "json" && o.output != "yaml":
		return usagef("-o %q: must be json or yaml", o.output)
	case o.watch && o.output == "yaml":
		return usagef("-w prints text or -o json, not yaml")
	case o.all && o.namespace != "":
		return usagef("-A and -n exclude each other")
	case o.timeout < 0:
		return usagef("--request-timeout %v: must not be negative", o.timeout)
	case o.syncFrequency <= 0:
		return usagef("--sync-frequency %v: must be positive", o.syncFrequency)
	}
	return nil
}

func verbNames() (names []string) {
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	return names
}
