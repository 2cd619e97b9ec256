package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/flags"
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

Events, and at the end counters, go to standard output; problems with the
runtime go to standard error. SIGINT or SIGTERM ends criwatch; a second signal
ends it at once.
`

const moreUsage = `
Exit codes:
  0  ended by a signal or -for
  1  no runtime answers at the start
  2  a flag is wrong
  3  the output cannot be written

Examples:
  criwatch
  criwatch -endpoint unix:///run/crio/crio.sock -stats 1m
  criwatch -format json -for 1h >events.json

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
}

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
	err := flags.Parse(args, stdout)
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
	o.endpoint, err = parseEndpoint(o.endpoint)
	return &o, err
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
	}
	return fmt.Errorf("only flags are taken; got %q%s", args, hint)
}
