package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/restartkit/restart/examples/internal/flags"
)

const usage = `Usage: criwatch [flags]

Watches a CRI runtime (containerd, CRI-O) and prints what happens to its
containers: started, died with which exit code, removed. A pod's sandbox is one
of its containers. Mostly it needs root, to open the runtime's socket.

  criwatch
  criwatch -endpoint unix:///run/crio/crio.sock -stats 1m
  criwatch -o json -for 1h >events.json

A line has the time, the event, NAMESPACE/POD, CONTAINER/ATTEMPT and how it
ended, when, and how long ago:

  00:41:24.304  ContainerDied  default/web-0  app/2  exit 137 Error at
      00:41:24.111 (193.0 ms ago)

Changes come from the runtime's event stream, and a full list every
-evented-period checks them. Without a stream, or with -poll, everything is
listed every -relist-period. When the runtime was restarted, criwatch finds it
again by itself.

Events, and the counters at the end, go to standard output; troubles with the
runtime to standard error. SIGINT or SIGTERM ends criwatch, a second one at
once.

Exit codes:
  0  a signal or -for has ended it
  1  no runtime answers at the start, or the output cannot be written
  2  a flag is wrong

Flags:
`

// defaultEndpoint is containerd's.
const defaultEndpoint = "unix:///run/containerd/containerd.sock"

// options are the flags.
type options struct {
	endpoint string
	format   string
	poll     bool
	trust    bool
	relist   time.Duration
	evented  time.Duration
	stats    time.Duration
	limit    time.Duration
}

// parseOptions reads the flags. Their description goes to stdout if it is asked
// for, as flag.ErrHelp.
func parseOptions(args []string, stdout io.Writer) (*options, error) {
	var o options
	flags := flags.New("criwatch", usage)
	endpoint := cmp.Or(os.Getenv("CONTAINER_RUNTIME_ENDPOINT"), defaultEndpoint)
	flags.StringVar(&o.endpoint, "endpoint", endpoint, "unix `socket` of the runtime; the variable CONTAINER_RUNTIME_ENDPOINT sets\nthe default")
	flags.StringVar(&o.format, "o", "text", "`format` of the output: text, or json with one object per line\n")
	flags.BoolVar(&o.poll, "poll", false, "use no event stream")
	flags.BoolVar(&o.trust, "trust-events", false, "believe what an event says of its pod, instead of asking the runtime")
	flags.DurationVar(&o.relist, "relist-period", time.Second, "`time` between full lists without an event stream")
	flags.DurationVar(&o.evented, "evented-period", 300*time.Second, "`time` between full lists with one")
	flags.DurationVar(&o.stats, "stats", 0, "`time` after which to print the counters again; 0: only at the end")
	flags.DurationVar(&o.limit, "for", 0, "`time` after which to end; 0: never")
	err := flags.Parse(args, stdout)
	switch {
	case err != nil:
		return nil, err
	case flags.NArg() > 0:
		return nil, fmt.Errorf("only flags are taken; got %q", flags.Args())
	case o.format != "text" && o.format != "json":
		return nil, fmt.Errorf("-o %q: must be text or json", o.format)
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
