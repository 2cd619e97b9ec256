package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/flags"
	"github.com/restartkit/restart/cmd/internal/policyfile"
)

const usage = `Usage: criwatch [flags]

Watches a CRI runtime (containerd, CRI-O) and prints lifecycle events of its
containers, such as starts, exits and removals. A pod's sandbox counts as a
container. Without -endpoint criwatch looks for the socket of CRI-O,
cri-dockerd, k3s, k0s, MicroK8s or containerd. Opening it usually takes root.

A line shows the time, the event, NAMESPACE/POD, CONTAINER/ATTEMPT, the exit
code, the time of the event in the runtime, and its age:

  00:41:24.304  ContainerDied  default/web-0  app/2  exit 137 Error at
      00:41:24.111 (193.0 ms ago)

criwatch follows the runtime's event stream, and checks it against a full list
every -evented-period. Without a stream, or with -poll, it lists everything
every -relist-period. It reconnects when the runtime restarts.

With -restart criwatch restarts exited containers, as a kubelet does. It starts
the next attempt in the same sandbox, after a delay of 10s that doubles with
every exit in a row, up to 5m. The file selects the containers and sets their
restartPolicy, restartPolicyRules and delays; an empty object, {}, restarts all
containers always. Each change is a line, as from kubectl get pods -w. Do not
use -restart beside a kubelet, which restarts its containers itself.

Events, and at the end counters, go to standard output; problems with the
runtime go to standard error. SIGINT or SIGTERM ends criwatch; a second signal
ends it at once.
`

const moreUsage = `
Exit codes:
  0  ended by a signal or -for
  1  no runtime answers at the start
  2  a flag, the file of -restart or the state is wrong; nothing was restarted
  3  the output or the final state cannot be written

Examples:
  criwatch
  criwatch -endpoint unix:///run/crio/crio.sock -stats 1m
  criwatch -format json -for 1h >events.json
  criwatch -restart policy.yaml -state /var/lib/criwatch -rate 5
  echo '{}' | criwatch -restart - -explain

More: https://github.com/restartkit/restart/tree/main/cmd/criwatch
`

// options holds the flags.
type options struct {
	endpoint string
	format   string
	poll     bool
	relist   time.Duration
	evented  time.Duration
	stats    time.Duration
	limit    time.Duration
	restart  string // file, or ""
	state    string // folder, or ""
	explain  bool
	policy   *policy // nil without -restart
	warnings []string
}

// badPolicy is an error in the file of -restart.
type badPolicy struct{ error }

// parseOptions reads the flags. For -h it writes the help text to stdout and returns
// flag.ErrHelp.
func parseOptions(args []string, stdout io.Writer) (*options, error) {
	var o options
	flags := flags.New("criwatch", usage, moreUsage)
	endpoint := cmp.Or(os.Getenv("CONTAINER_RUNTIME_ENDPOINT"), findEndpoint(fileExists))
	flags.StringVar(&o.endpoint, "endpoint", endpoint, "unix `socket` of the runtime; the variable CONTAINER_RUNTIME_ENDPOINT sets\nthe default")
	flags.BoolVar(&o.poll, "poll", false, "do not use the event stream")
	flags.DurationVar(&o.relist, "relist-period", time.Second, "`time` between full lists without an event stream")
	flags.DurationVar(&o.evented, "evented-period", 300*time.Second, "`time` between full lists with an event stream")
	flags.Group("The runtime")
	flags.StringVar(&o.format, "format", "text", "`format` of the output: text, or json with one object per line\n")
	flags.DurationVar(&o.stats, "stats", 0, "`time` between prints of the counters; 0 prints them only at the end")
	flags.DurationVar(&o.limit, "for", 0, "`time` to run; 0 means no limit")
	flags.Group("The run")
	var rate float64
	var burst int
	flags.StringVar(&o.restart, "restart", "", "restart containers by the policies of this `file`, or - for standard input")
	flags.StringVar(&o.state, "state", "", "`folder` that keeps the decisions for the next criwatch -restart")
	flags.Float64Var(&rate, "rate", 0, "most `restarts` per second, of all containers together\n(default: unlimited)")
	flags.IntVar(&burst, "burst", 1, "`restarts` that -rate allows at once")
	flags.BoolVar(&o.explain, "explain", false, "print the decision after each exit, and the result of every rule")
	flags.Group("Restarting")
	err := flags.Parse(args, stdout)
	given := flags.Given()
	switch {
	case err != nil:
		return nil, err
	case flags.NArg() > 0:
		return nil, unexpected(flags.Args(), flags.Lookup(flags.Arg(0)) != nil)
	case o.format != "text" && o.format != "json":
		return nil, fmt.Errorf("-format %q: must be text or json", o.format)
	case o.relist <= 0:
		return nil, fmt.Errorf("-relist-period %v: must be above 0", o.relist)
	case o.evented <= 0:
		return nil, fmt.Errorf("-evented-period %v: must be above 0", o.evented)
	case o.stats < 0:
		return nil, fmt.Errorf("-stats %v: must not be below 0", o.stats)
	case o.limit < 0:
		return nil, fmt.Errorf("-for %v: must not be below 0", o.limit)
	}
	if err := o.checkRestart(given, rate, burst); err != nil {
		return nil, err
	}
	if o.endpoint, err = parseEndpoint(o.endpoint); err != nil || o.restart == "" {
		return &o, err
	}
	if o.policy, o.warnings, err = readPolicy(o.restart); err != nil {
		return nil, badPolicy{err}
	}
	if given["rate"] {
		o.policy.Rate = rate
	}
	if given["burst"] {
		o.policy.Burst = burst
	}
	if o.policy.Burst > 0 && o.policy.Rate == 0 {
		return nil, errors.New("a burst has no effect without a rate")
	}
	return &o, nil
}

// unexpected returns an error for arguments other than flags, with a suggestion if
// possible.
func unexpected(args []string, flag bool) error {
	hint := ""
	switch {
	case flag:
		hint = fmt.Sprintf("; did you mean -%s?", args[0])
	case strings.HasSuffix(args[0], ".sock"):
		hint = fmt.Sprintf("; did you mean -endpoint %s?", args[0])
	case fileExists(args[0]):
		hint = fmt.Sprintf("; did you mean -restart %s?", args[0])
	}
	return fmt.Errorf("only flags are taken; got %q%s", args, hint)
}

// checkRestart validates the flags that belong to -restart. It returns the first error.
func (o *options) checkRestart(given map[string]bool, rate float64, burst int) error {
	for _, name := range []string{"state", "rate", "burst", "explain"} {
		if given[name] && o.restart == "" {
			return fmt.Errorf("-%s is for -restart", name)
		}
	}
	switch {
	case given["restart"] && o.restart == "":
		return errors.New("-restart: the file has no name")
	case given["state"] && o.state == "":
		return errors.New("-state: the folder has no name")
	case given["rate"] && !policyfile.ValidRate(rate):
		return fmt.Errorf("-rate %v: must be above 0", rate)
	case burst < 1:
		return fmt.Errorf("-burst %d: must be at least 1", burst)
	case given["stats"] && o.restart != "":
		return errors.New("-stats is not for -restart, which prints no counters")
	}
	return nil
}
