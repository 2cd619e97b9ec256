// Upstream runs Kubernetes' own tests with this repository's code in place of
// Kubernetes'. It copies Kubernetes' modules out of the module cache, swaps the
// adapters in, and compares the tests' outcomes with expected.txt.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/restartkit/restart/kube/testenv"
)

const usage = `usage: upstream [flags] [SUITE…]

Runs the suites, all by default, and compares the tests that fail with
expected.txt. Run it in conformance/upstream. It compiles much of Kubernetes, for
minutes to an hour, once. The exit code is 1 if a test fails that should not, or
passes that should not. The suites e2e and restarts start a Kubernetes node, which
needs root. Without arguments, a machine that cannot run one leaves them out.

flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("upstream", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var (
		baseline = flags.Bool("baseline", false, "run Kubernetes' own code, and expect no failure")
		only     = flags.String("run", "", "run only top-level tests that match this regular expression, and expect nothing of the others")
		list     = flags.Bool("list", false, "list the suites")
		keep     = flags.String("dir", "", "where to make the copy and the logs, to be kept; default: a temporary folder that is removed")
	)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if *list {
		for _, s := range suites {
			fmt.Fprintf(stdout, "%-16s %s\n", s.name, s.pkg)
		}
		return 0
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(stderr, "upstream: -run:", err)
		return 2
	}
	chosen, err := choose(flags.Args())
	if err != nil {
		fmt.Fprintln(stderr, "upstream:", err)
		return 2
	}
	chosen, leftOut := runnable(chosen, testenv.CheckNode)
	for _, line := range leftOut {
		fmt.Fprintln(stderr, "upstream:", line)
	}
	if len(leftOut) > 0 && flags.NArg() > 0 {
		return 2
	}
	ok, err := judge(ctx, chosen, options{baseline: *baseline, only: pattern, dir: *keep, stdout: stdout, stderr: stderr})
	if err != nil {
		fmt.Fprintln(stderr, "upstream:", err)
		return 1
	}
	if !ok {
		return 1
	}
	return 0
}

type options struct {
	baseline       bool
	only           *regexp.Regexp
	dir            string
	stdout, stderr io.Writer
}

// judge runs suites and reports whether their outcomes were as expected.
func judge(ctx context.Context, chosen []suite, o options) (bool, error) {
	expected := expectations{}
	if !o.baseline {
		var err error
		if expected, err = readExpected("expected.txt", "../../docs/kubernetes.md"); err != nil {
			return false, err
		}
	}
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "upstream-")
		if err != nil {
			return false, err
		}
		defer os.RemoveAll(dir)
		o.dir = dir
	}
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return false, err
	}
	var t *tree
	good := true
	fmt.Fprintf(o.stdout, "%-16s %6s %6s %6s %6s  %s\n", "SUITE", "TESTS", "PASS", "FAIL", "SKIP", "TIME")
	for _, s := range chosen {
		start := time.Now()
		if swapped := s.swapped(o.baseline); t == nil || t.swapped != swapped {
			if t, err = newTree(ctx, dir, swapped); err != nil {
				return false, err
			}
		}
		results, err := t.run(ctx, s, o)
		if err != nil {
			return false, fmt.Errorf("%s: %w", s.name, err)
		}
		pass, fail, skip := results.count()
		fmt.Fprintf(o.stdout, "%-16s %6d %6d %6d %6d  %v\n", s.name, pass+fail+skip, pass, fail, skip, time.Since(start).Round(time.Second))
		lines := expected.compare(s.name, results, o.only)
		if s.specs != nil {
			names, err := readSpecNames(s.specs.names)
			if err != nil {
				return false, err
			}
			lines = append(lines, names.compare(results, o.only)...)
		}
		for _, line := range lines {
			fmt.Fprintln(o.stdout, "  "+line)
			good = good && strings.HasPrefix(line, "as expected")
		}
	}
	return good, nil
}
