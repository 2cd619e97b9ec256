// Command run asks a program for the outcomes of the recorded cases and compares its
// answers with those of Kubernetes.
//
// Usage, in the root of the repository:
//
//	go run ./conformance/run [flags] -- PROGRAM [ARGUMENT]…
//
// The program, in any language, reads one question per line from stdin and writes one
// answer per line to stdout; conformance/vectors/README.md describes both. The runner
// prints a table of the cases by kind, and the first differences. VECTORS_DIR names
// another folder of cases.
//
// The exit code is 0 if every case passes, is unsupported or differs as the list of
// -known says; 1 if another case fails, a listed one passes, or the program breaks the
// protocol; and 2 if the runner cannot ask.
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

	"github.com/restartkit/restart/conformance/vectors"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the runner's flags.
type options struct {
	choice
	name, known, report string
	timeout             time.Duration
	failures            int
	questions           bool
	command             []string
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	ok, err := o.run(ctx, stdout)
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "run:", err)
		return 2
	case !ok:
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, "usage: run [flags] -- PROGRAM [ARGUMENT]…\n\n"+
			"Asks the program for the outcomes of the recorded cases, one JSON object per line on\n"+
			"stdin and stdout, and compares the answers. See conformance/vectors/README.md.\n\n")
		flags.PrintDefaults()
	}
	flags.StringVar(&o.files, "file", "", "ask only the cases of these files, such as `remaining,restartdelay`")
	flags.StringVar(&o.kinds, "kind", "", "ask only cases of these kinds, such as `remaining/global,finishtime`")
	flags.StringVar(&o.only, "only", "", "ask only cases whose id matches the regular `expression`, such as remaining/rem-t")
	flags.StringVar(&o.name, "name", "", "the program's `name` in the report; default: its command")
	flags.StringVar(&o.known, "known", "", "`file` of known differences, one \"id: reason\" per line")
	flags.StringVar(&o.report, "report", "", "write a report in Markdown to this `file`")
	flags.DurationVar(&o.timeout, "timeout", time.Minute, "end the program after so long without an awaited answer")
	flags.IntVar(&o.failures, "failures", 10, "print the differences of at most `n` failed cases")
	flags.BoolVar(&o.questions, "questions", false, "print the questions, and start no program")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.command = flags.Args()
	switch {
	case len(o.command) == 0 && !o.questions:
		err = errors.New("no program; put its command behind --")
	case len(o.command) > 0 && o.questions:
		err = errors.New("-questions starts no program")
	case o.timeout <= 0:
		err = fmt.Errorf("-timeout %v: must be positive", o.timeout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "run:", err)
		flags.Usage()
	}
	return o, err
}

// run asks the program, prints the result and writes the report. It reports whether all
// is as expected.
func (o options) run(ctx context.Context, stdout io.Writer) (ok bool, err error) {
	cases, err := o.choose(vectors.Files())
	if err != nil {
		return false, err
	}
	if o.questions {
		return true, printQuestions(stdout, cases)
	}
	known, err := readKnown(o.known)
	if err != nil {
		return false, err
	}
	asked, err := ask(ctx, o.command, cases, o.timeout)
	if err != nil {
		return false, err
	}
	r := judge(cases, asked, known)
	r.print(stdout, o.failures)
	if o.report != "" {
		if err := os.WriteFile(o.report, []byte(r.markdown(o)), 0o666); err != nil {
			return false, err
		}
	}
	return r.ok(), nil
}

func printQuestions(w io.Writer, cases []*vectors.Case) error {
	for _, c := range cases {
		question, err := c.Question()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\n", question); err != nil {
			return err
		}
	}
	return nil
}
