// Command restart answers what happens when something fails: it judges manifests, runs Jobs
// and keeps commands running on this machine, and shows delays, by the rules of Kubernetes.
//
//	restart check FILE…
//
// is the first thing to try; restart -h lists the rest.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/restartkit/restart/internal/spelling"
)

// The exit codes of every verb, but for retry, which passes on its command's.
const (
	exitFailed    = 1 // the thing itself failed: a manifest, a Job, a runtime
	exitUsage     = 2 // a flag, an argument or a file of settings is wrong
	exitUnwritten = 3 // the output or the state could not be written
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run runs the program and returns its exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &output{to: stdout}
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(stderr)
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }

	verb, err := root.ExecuteC()
	var exit *exitError
	switch {
	case err == nil:
	case errors.As(err, &exit):
		if exit.err == nil && exit.code == exitFailed && out.err != nil {
			break // what the verb has said was not written
		}
		if exit.err != nil {
			fmt.Fprintf(stderr, "%s: %v\n", verb.CommandPath(), exit.err)
		}
		return exit.code
	case out.err != nil && errors.Is(err, out.err): // of cobra, which prints the version and completions
	case !started:
		if found, rest, unknown := root.Find(args); unknown != nil && found == root {
			i := slices.IndexFunc(rest, func(word string) bool { return !strings.HasPrefix(word, "-") })
			err = unknownVerb(root, rest[max(i, 0)])
		}
		fmt.Fprintf(stderr, "%s: %v\nSee %s -h.\n", verb.CommandPath(), err, verb.CommandPath())
		return exitUsage
	default:
		fmt.Fprintf(stderr, "%s: %v\n", verb.CommandPath(), err)
		return exitFailed
	}
	if out.err != nil {
		fmt.Fprintf(stderr, "%s: cannot write the output: %v\n", verb.CommandPath(), out.err)
		return exitUnwritten
	}
	return 0
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "restart",
		Short: "What happens when something fails",
		Long: `restart answers what happens when something fails: will it start again, how soon,
and how often? It decides as Kubernetes does, and needs no cluster.

Try first, with any Job, CronJob, Pod or Deployment:
  restart check manifest.yaml`,
		Annotations: map[string]string{exitCodes: `  0  fine
  1  the thing itself failed, such as a manifest or a Job
  2  a flag, an argument or a file that says what to do is wrong
  3  the output or the state could not be written
restart retry passes on those of its command.`},
		Version:       version(),
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetHelpFunc(help)
	cobra.EnableCommandSorting = false
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		checkCommand(),
		jobCommand(),
		runCommand(),
		retryCommand(),
		curveCommand(),
		watchCommand(),
		pageCommand(),
	)
	return root
}

// version returns the version of the module, or that of the commit if the program was built
// in a clone.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}

// flagError names the flag probably meant, or the kind of value that a flag takes.
func flagError(c *cobra.Command, err error) error {
	if invalid := (*pflag.InvalidValueError)(nil); errors.As(err, &invalid) {
		kinds := map[string]string{"int": "a whole number", "float64": "a number", "duration": "a time such as 90s or 1h30m"}
		if kind := kinds[invalid.GetFlag().Value.Type()]; kind != "" {
			return fmt.Errorf("--%s %s: must be %s", invalid.GetFlag().Name, quoted(invalid.GetValue()), kind)
		}
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if meant := spelling.Nearest(unknown.GetSpecifiedName(), known); meant != "" {
		return fmt.Errorf("%w: did you mean --%s?", err, meant)
	}
	return err
}

// exitError ends the program with its code. Without an error, the verb has said everything.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError is a mistake in flags or arguments that only the verb itself can find.
func usageError(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// output is standard output. It remembers the first error, so that verbs need not check each
// line that they print.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.to.Write(p)
	o.err = err
	return n, err
}

// fileOf returns the file behind an output of this program, or w.
func fileOf(w io.Writer) io.Writer {
	if out, ok := w.(*output); ok {
		return out.to
	}
	return w
}
