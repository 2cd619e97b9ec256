// Jobperf measures Kubernetes' Job controller and this repository's on the same API
// server, in turn, and prints what benchstat compares.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/restartkit/restart/conformance/upstream/compare"
	"github.com/restartkit/restart/kube/testenv"
)

const usage = `usage: jobperf [flags]

Runs each load with this repository's Job controller and with Kubernetes' in turn, each in
a process of its own, on an API server of its own whose node is simulated (kube/testenv).
Prints, in the format of go test -bench,

    pods/s         pods by the time until all Jobs have finished
    requests/pod   requests of the controller to the API server, Events and reads included
    cpu-ns/pod     CPU time of the controller's process
    peak-B         its largest resident set

Requests and CPU time count until no pod has the tracking finalizer and all Events are
written. To compare:

    jobperf | tee jobs.txt
    benchstat -table .name -col /impl jobs.txt

flags:
`

// A size is a number of equal Jobs.
type size struct{ jobs, pods int32 } // pods of each Job

// A load is what a controller is measured with.
type load struct {
	name     string
	sizes    []size
	qps      float32 // limit of the controller's requests each second; 0 means none
	failures bool    // the first attempt of every tenth index fails
	direct   bool    // pods end with one write, without a node
}

// loads are 338 Jobs under a limit of 100 requests each second, as in the load test that
// KEP-2879 names, with the sizes of Kubernetes' own load test; many Jobs of one pod; 300
// such Jobs, and one of 1,000 pods, both under the default limit of restart-job-controller; and
// Jobs whose pods end with one write, so that the controller has the work.
var loads = []load{
	{name: "KEP-2879", sizes: []size{{310, 5}, {25, 30}, {3, 250}}, qps: 100},
	{name: "small", sizes: []size{{2000, 1}}},
	{name: "small-limited", sizes: []size{{300, 1}}, qps: 50},
	{name: "large-limited", sizes: []size{{1, 1000}}, qps: 50},
	{name: "large", sizes: []size{{1, 1000}}, direct: true},
	{name: "large-failures", sizes: []size{{1, 1000}}, direct: true, failures: true},
	{name: "many", sizes: []size{{100, 100}}, direct: true},
	{name: "many-failures", sizes: []size{{100, 100}}, direct: true, failures: true},
}

// divided returns the load with its numbers divided, for a try.
func (l load) divided(by int32) load {
	l.sizes = slices.Clone(l.sizes)
	for i, s := range l.sizes {
		l.sizes[i] = size{max(1, s.jobs/by), s.pods}
		if s.jobs == 1 {
			l.sizes[i].pods = max(1, s.pods/by)
		}
	}
	return l
}

// total returns the numbers of Jobs and of their pods.
func (l load) total() (jobs, pods int32) {
	for _, s := range l.sizes {
		jobs += s.jobs
		pods += s.jobs * s.pods
	}
	return jobs, pods
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("jobperf", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var (
		rounds   = flags.Int("rounds", 5, "rounds of each load")
		only     = flags.String("run", "", "only the loads whose name matches this regular expression")
		list     = flags.Bool("list", false, "list the loads")
		divide   = flags.Int("divide", 1, "divide the numbers of Jobs by this, for a try")
		profiles = flags.String("profiles", "", "write a CPU profile of each controller into this folder")
		side     = flags.String("side", "", "be a controller until the input ends: upstream or ours; for its own use")
		qps      = flags.Float64("qps", 0, "its limit of requests; for its own use")
		profile  = flags.String("profile", "", "its CPU profile; for its own use")
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
	pattern, err := regexp.Compile(*only)
	if err != nil || flags.NArg() > 0 || *rounds < 1 || *divide < 1 {
		fmt.Fprintln(stderr, "jobperf: wrong arguments; see -h")
		return 2
	}
	chosen := slices.DeleteFunc(slices.Clone(loads), func(l load) bool { return !pattern.MatchString(l.name) })
	for i := range chosen {
		chosen[i] = chosen[i].divided(int32(*divide))
	}
	switch {
	case *list:
		for _, l := range chosen {
			jobs, pods := l.total()
			fmt.Fprintf(stdout, "%-16s %5d Jobs, %6d pods\n", l.name, jobs, pods)
		}
	case *side != "":
		err = serve(ctx, compare.Side(*side), float32(*qps), *profile, stdout)
	default:
		err = measure(ctx, *rounds, chosen, *profiles, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "jobperf:", err)
		return 1
	}
	return 0
}

// names of the sides, as benchstat's columns.
var names = map[compare.Side]string{compare.Ours: "restart", compare.Upstream: "kubernetes"}

// measure runs the loads, and prints a line for each run.
func measure(ctx context.Context, rounds int, chosen []load, profiles string, stdout, stderr io.Writer) error {
	env, err := testenv.Start(ctx, testenv.Options{Log: stderr})
	if err != nil {
		return err
	}
	defer env.Stop()
	stop, err := startNode(ctx, env)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(stdout, "goos: %s\ngoarch: %s\nUnit pods/s better=higher\n", runtime.GOOS, runtime.GOARCH)
	sides := []compare.Side{compare.Ours, compare.Upstream}
	for _, l := range chosen {
		jobs, pods := l.total()
		for round := range rounds {
			slices.Reverse(sides) // so that none is always the first
			for _, side := range sides {
				r := runner{env: env, side: side, load: l, namespace: fmt.Sprintf("%s-%d-%s", strings.ToLower(l.name), round, side), profiles: profiles}
				s, err := r.run(ctx)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", l.name, side, err)
				}
				fmt.Fprintf(stdout, "BenchmarkJobs/load=%s/jobs=%d/pods=%d/impl=%s 1 %.1f pods/s %.3f requests/pod %.0f cpu-ns/pod %d peak-B\n",
					l.name, jobs, pods, names[side], float64(pods)/s.wall.Seconds(), float64(s.requests)/float64(pods), float64(s.cpu)/float64(pods), s.peak)
			}
		}
	}
	return nil
}
