// Command supervise keeps commands running on this machine, as a kubelet keeps
// containers running.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/restartkit/restart/examples/internal/flags"
	"github.com/restartkit/restart/examples/internal/interrupt"
	"github.com/restartkit/restart/examples/internal/process"
	"github.com/restartkit/restart/examples/internal/terminal"
)

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

Exit codes:
  0      all commands have ended with 0, or the time of -for is over
  1      a command has ended otherwise, nothing can be started here, or the
         output cannot be written
  2      a flag, the file or the state is wrong; nothing was started
  128+n  signal n has ended supervise; 141 (SIGPIPE): nobody reads the output

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
	tell := func(format string, args ...any) { tell(os.Stderr, format, args...) }
	for _, warning := range o.warnings {
		tell("warning: %s", warning)
	}
	switch {
	case err != nil && o.hint:
		return flags.Refused("supervise", err, os.Stderr, exitFailed)
	case err != nil:
		complain(err)
		return exitUsage
	}
	for _, note := range o.notes() {
		tell("%s", note)
	}

	s, err := newSupervisor(o, tell)
	if err != nil {
		complain(err)
		return exitUsage
	}
	if s.children, err = process.New(); err != nil {
		complain(err)
		return exitFailed
	}
	defer s.children.Close()                                // leaves no process behind
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the failed write says it too
	code := s.run(interrupt.Notify(syscall.SIGINT, syscall.SIGTERM), wakes())
	switch err := s.screen.failed(); {
	case errors.Is(err, syscall.EPIPE):
		return 128 + int(syscall.SIGPIPE)
	case err != nil:
		complain(fmt.Errorf("the output cannot be written: %w", err))
		return exitFailed
	}
	return code
}

// complain says what is wrong, in one line or several.
func complain(err error) {
	fmt.Fprintf(os.Stderr, "supervise: %s\n", terminal.EscapeLines(err.Error()))
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
