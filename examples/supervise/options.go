package main

import (
	"io"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/examples/internal/flags"
)

// options are the flags and the file, checked.
type options struct {
	config
	resolution backoff.Resolution // of the node's curve
	state      string             // folder, or ""
	limit      time.Duration      // how long to run; 0: for ever
	explain    bool
	colours    bool // of the commands are kept
	warnings   []string
	hint       bool // the mistake is one of usage
}

// flagValues are the flags as given.
type flagValues struct {
	given              map[string]bool // names of those that were
	file, name, policy string
	reduced            bool
	maxPeriod, grace   time.Duration
	rate               float64
	burst              int
	args               []string // after --
}

// parseOptions reads the flags and the file. The warnings are there in any case.
func parseOptions(args []string, stdout io.Writer) (*options, error) {
	o := &options{config: config{grace: defaultGrace, called: make(map[string]string)}, hint: true}
	var v flagValues
	flags := flags.New("supervise", usage)
	flags.StringVar(&v.file, "f", "", "`file` with commands and settings")
	flags.StringVar(&v.name, "name", "", "`name` of the command after -- (default: that of its program)")
	flags.StringVar(&v.policy, "restart-policy", "Always", "restart `policy` of the command after --: Always, OnFailure or Never\n")
	flags.BoolVar(&v.reduced, "reduced", false, "delays from 1s to 60s instead of 10s to 300s")
	flags.DurationVar(&v.maxPeriod, "max-period", 0, "longest `delay`, from 1s to 300s; a first delay above it becomes as short")
	flags.Float64Var(&v.rate, "rate", 0, "most `restarts` per second, all commands together (default: any number)")
	flags.IntVar(&v.burst, "burst", 1, "`restarts` that -rate lets happen at once")
	flags.DurationVar(&v.grace, "grace", defaultGrace, "`time` between SIGTERM and SIGKILL")
	flags.StringVar(&o.state, "state", "", "`folder` that remembers failures and waits for the next supervise")
	flags.DurationVar(&o.limit, "for", 0, "`time` after which to end (default: never)")
	flags.BoolVar(&o.explain, "explain", false, "say after each exit what follows from it, and why")
	flags.BoolVar(&o.colours, "colours", false, "keep the colours in what the commands write; all other control\ncharacters are shown as \\x1b and the like")
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

Keeps commands running, as a kubelet keeps containers running. A command that
ends is started again, according to its restartPolicy and restartPolicyRules,
after a delay: 10s, doubled with every exit in a row up to 5m. A run of more
than ten minutes starts the delays over. A command that waits is in
CrashLoopBackOff.

  supervise -- sh testdata/flaky.sh
  supervise -reduced -name web -- ./server -port 8080
  supervise -f supervise.yaml -state state/ -for 8h

The commands are shown as by "kubectl get pods", with what they write. On a
terminal a table stays below the output and is kept up to date: crashed commands
come first, and a last line counts all of them. Elsewhere each change is a line.
EXIT is the exit code of the last run: 128+n after signal n, 127 for a program
that is not there, 126 for one that cannot be started. Notes, warnings and
errors go to standard error. The commands have no input.

SIGHUP ends every wait, under nohup too: what waits is started now, or at its
turn under -rate. SIGINT, SIGTERM and the end of -for send SIGTERM to the first
process of each command and, after -grace or with the next signal, SIGKILL to
all that is left of it. A command waits while nobody reads what it writes,
supervise does not; what could not be printed when -grace is over is dropped.

A command has ended when all its processes have: those that it leaves behind are
killed, and a daemon of it may run for as long as it does. However supervise
ends, even by SIGKILL, no process of it is left: a second process guards it. If
both are killed at once, the next supervise with the same -state ends what they
leave, as far as it is known to be theirs: not what su or sudo has started. On
Linux that goes for what has left its session or its group, has another user or
no parent any more, too; a daemon started by su or sudo is known no longer whose
it is, and ends with the next command that does. It does not go for what another
program was asked to start (as by systemctl or cron), and on other systems not
for what leaves its process group.

The folder of -state must be empty or have been made by supervise, belong to
you, and be writable for nobody else.

In FILE (- for standard input) a field that is not known is an error, except one
of a KubeletConfiguration, which is left out. FILE is YAML or JSON:

  commands:                         # each like a container of a pod
  - name: web
    command: [sh, testdata/flaky.sh]
    args: []
    env: [{name: A, value: b}]
    workingDir: /tmp
    restartPolicy: OnFailure        # Always (default), OnFailure, Never
    restartPolicyRules:
    - action: Restart               # or RestartAllContainers
      exitCodes: {operator: In, values: [42]}
    curve:                          # instead of the node's
      {initial: 1s, max: 60s, factor: 2, jitter: 0.1, resetAfter: 10m, free: 1}
  crashLoopBackOff:                 # or crashloopbackoff: {maxSeconds: 4}
    maxContainerRestartPeriod: 4s   # as -max-period
  featureGates:
    ReduceDefaultCrashLoopBackOffDecay: true   # as -reduced
    KubeletCrashLoopBackOffMax: true           # false: the maximum is ignored
  rate: 2                           # as the flags of these names
  burst: 1
  grace: 30s

Exit codes:
  0      all commands have ended with 0, or the time of -for is over
  1      a command has ended otherwise, nothing can be started here, or the
         output cannot be written
  2      a flag, the file or the state is wrong; nothing was started
  3      the state could not be written at last
  128+n  signal n has ended supervise; 141 (SIGPIPE): nobody reads the output

Flags (they win over the file):
`
