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

// The exit codes of this program.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitUnsaved = 3
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
	options := process.Options{Report: func(text string) { s.screen.note("warning: %s", text) }}
	if s.store != nil {
		options.Hold = s.store.folder.Guard
	}
	if s.children, err = process.New(options); err != nil {
		complain(err)
		return exitFailed
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the failed write says it too
	ends := interrupt.Notify(syscall.SIGINT, syscall.SIGTERM)
	code := s.run(ends, wakes())
	s.children.Close() // leaves no process behind
	s.screen.printer.Flush(s.giveUp(ends))
	switch err := s.screen.out.Err(); {
	case errors.Is(err, syscall.EPIPE):
		return 128 + int(syscall.SIGPIPE)
	case err != nil:
		complain(fmt.Errorf("the output cannot be written: %w", err))
		return exitFailed
	case s.store != nil && s.store.bad:
		return exitUnsaved
	}
	return code
}

// complain says what is wrong, in one line or several.
func complain(err error) {
	fmt.Fprintf(os.Stderr, "supervise: %s\n", terminal.EscapeLines(err.Error()))
}

// wakes returns the signals that end every wait. Under nohup they do, too.
func wakes() <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
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
