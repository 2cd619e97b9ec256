package main

import (
	"io"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/flags"
)

// options are the checked settings of the flags and the file.
type options struct {
	config
	resolution backoff.ResolvedConfig // of the node's curve
	state      string                 // folder, or "" for none
	events     string                 // file, or "" for none
	limit      time.Duration          // how long to run; 0 means no limit
	explain    bool
	colours    bool // keep the colours of the commands' output
	warnings   []string
	hint       bool // errors are usage errors
}

// flagValues are the flags as given.
type flagValues struct {
	given              map[string]bool // names of the flags given
	file, name, policy string
	reduced            bool
	maxPeriod, grace   time.Duration
	rate               float64
	burst              int
	args               []string // after --
}

// parseOptions reads the flags and the file. The options hold the warnings even if it
// returns an error.
func parseOptions(args []string, stdout io.Writer) (*options, error) {
	o := &options{config: config{grace: defaultGrace, called: make(map[string]string)}, hint: true}
	var v flagValues
	flags := flags.New("supervise", usage, moreUsage)
	flags.Subcommands = verbs
	flags.StringVar(&v.file, "f", "", "`file` with commands and settings, or - for standard input")
	flags.StringVar(&v.name, "name", "", "`name` of the command after -- (default: the name of its program)")
	flags.StringVar(&v.policy, "restart-policy", "Always", "restart `policy` of the command after --: Always, OnFailure or Never\n")
	flags.Group("The commands")
	flags.BoolVar(&v.reduced, "reduced", false, "delays from 1s to 60s instead of 10s to 300s")
	flags.DurationVar(&v.maxPeriod, "max-period", 0, "longest `delay`, from 1s to 300s; also caps the first delay")
	flags.Float64Var(&v.rate, "rate", 0, "most `restarts` per second, of all commands together (default: unlimited)")
	flags.IntVar(&v.burst, "burst", 1, "`restarts` that -rate allows at once")
	flags.Group("The delays")
	flags.DurationVar(&v.grace, "grace", defaultGrace, "`time` between SIGTERM and SIGKILL")
	flags.StringVar(&o.state, "state", "", "`folder` that keeps failures and delays for the next supervise")
	flags.DurationVar(&o.limit, "for", 0, "`time` to run (default: no limit)")
	flags.Group("The run")
	flags.StringVar(&o.events, "events", "", "`file` to append a JSON object to for each start and exit. Fields:\ntime, event (began, started, exited, ended), command, run, exitCode,\nsignal, action, failures, wait, why")
	flags.BoolVar(&o.explain, "explain", false, "print the decision after each exit, and the result of every rule")
	flags.BoolVar(&o.colours, "colours", false, "keep the colours of the commands' output; other control characters are\nalways shown as \\x1b and the like")
	flags.Group("The output")
	err := flags.Parse(args, stdout)
	if err != nil {
		return o, err
	}
	v.given, v.args = flags.Given(), flags.Args()
	if v.file != "" {
		if o.warnings, err = o.readFile(v.file); err != nil {
			o.hint = false
			return o, err
		}
	}
	if err := v.check(o); err != nil {
		return o, err
	}
	return o, o.apply(&v)
}

const usage = `Usage: supervise [flags] -- COMMAND [ARGUMENT]...
       supervise [flags] -f FILE [-- COMMAND [ARGUMENT]...]
       supervise status|restart|stop -state FOLDER [NAME]...

Keeps commands running, as a kubelet keeps containers running. An exited command
restarts according to its restartPolicy and restartPolicyRules. The delay is 10s
and doubles with every exit in a row, up to 5m. A run of more than ten minutes
resets it. A command that waits is in CrashLoopBackOff.

On a terminal a table stays below the output of the commands; elsewhere each
change is a line. EXIT is the last exit code, with 128+n for signal n, 127 for a
missing program and 126 for a program that cannot be started.

SIGHUP ends every wait, and SIGUSR1 prints the whole table. SIGINT, SIGTERM and
the end of -for terminate the commands; after -grace, or with a second signal,
they are killed. No process outlives supervise, even if supervise is killed.

status, restart and stop control the supervise that runs with the same -state.
status prints its table, restart starts commands again at once, and stop stops
commands until they are restarted.
`

const moreUsage = `
Flags take precedence over FILE. The page below describes the format of FILE;
testdata/supervise/supervise.yaml is an example.

Exit codes:
  0      all commands have ended with 0, or the time of -for is over
  1      a command has ended otherwise, supervise cannot start processes, or
         no supervise answers
  2      a flag, the file or the state is wrong; nothing was started
  3      the output or the final state cannot be written
  128+n  signal n has ended supervise

Examples:
  supervise -- sh testdata/flaky.sh
  supervise -reduced -name web -- ./server -port 8080
  supervise -f supervise.yaml -state state/ -for 8h
  supervise restart -state state/ web

More: https://github.com/restartkit/restart/tree/main/cmd#supervise
`
