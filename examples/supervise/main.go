// Command supervise keeps commands running on this machine, as a kubelet keeps
// containers running.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/restartkit/restart/examples/internal/interrupt"
	"github.com/restartkit/restart/examples/internal/process"
)

const usage = `Usage: supervise [flags] -- COMMAND [ARGUMENT]...
       supervise [flags] -f FILE [-- COMMAND [ARGUMENT]...]

Keeps commands running, as a kubelet does containers: what ends is started again
according to its restartPolicy and restartPolicyRules, after a delay that doubles
with every exit in a row, and starts over after a run of more than ten minutes.
While it waits a command is in CrashLoopBackOff.

What happens is shown as by "kubectl get pods -w", with what the commands write: as
a table that is kept up to date on a terminal, line by line otherwise. EXIT is the
exit code, 128+n after signal n, 127 or 126 for what cannot be started. What there
is to say beside that goes to standard error. The commands have no input.

SIGHUP ends every wait: what waits is started now, or at its turn under -rate.
SIGINT, SIGTERM and the end of -for send SIGTERM to the commands and, after -grace
or with the next signal, SIGKILL. However supervise ends, no process of it is left.

In FILE (- for standard input) a field that is not known is an error, except that of
a KubeletConfiguration, which is left out. FILE is YAML or JSON:

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

Exit codes: 0 if all commands have ended with 0, or -for is over; 1 if one has
ended otherwise, or this machine can start nothing; 2 if nothing was started since
a flag, the file or the state is wrong; 128+n after signal n.

Flags (they win over the file):
`

// The exit codes of this program.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	process.Guard()
	os.Exit(supervise(os.Args[1:]))
}

// supervise is the program; it returns the exit code.
func supervise(args []string) int {
	o, err := parseOptions(args, os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	tell := func(format string, args ...any) { fmt.Fprintf(os.Stderr, "supervise: "+format+"\n", args...) }
	for _, warning := range o.warnings {
		tell("warning: %s", warning)
	}
	if err != nil {
		tell("%v", err)
		if o.hint {
			fmt.Fprintln(os.Stderr, "Try supervise -h.")
		}
		return exitUsage
	}
	for _, note := range o.resolution.Notes {
		kind := "note"
		if note.Warning {
			kind = "warning"
		}
		tell("%s: %s=%s: %s", kind, note.Field, note.Value, note.Reason)
	}

	s, err := newSupervisor(o, tell)
	if err != nil {
		tell("%v", err)
		return exitUsage
	}
	if s.children, err = process.New(); err != nil {
		tell("%v", err)
		return exitFailed
	}
	defer s.children.Close()                                // leaves no process behind
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the failed write says it too
	return s.run(interrupt.Notify(syscall.SIGINT, syscall.SIGTERM), wakes())
}

// wakes returns the signals that end every wait.
func wakes() <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	return signals
}

// oneLine writes a command as it could be typed.
func oneLine(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		if quoted[i] = arg; arg == "" || strings.ContainsAny(arg, " \t\n'\"\\$") {
			quoted[i] = fmt.Sprintf("%q", arg)
		}
	}
	return strings.Join(quoted, " ")
}
