package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/indexset"
)

// retryFlags are the flags of restart retry.
type retryFlags struct {
	curve    delayFlags
	attempts int
	limit    time.Duration // for all attempts and waits; 0 means no limit
	timeout  time.Duration // for each attempt; 0 means no limit
	grace    time.Duration
	final    string
}

func retryCommand() *cobra.Command {
	var flags retryFlags
	c := &cobra.Command{
		Use:   "retry [flags] -- COMMAND…",
		Short: "Run a command until it succeeds",
		Long: `retry runs a command until it exits with 0. After the first failure it waits for
a second, after each further one twice as long, up to a minute. Without
--attempts or --for it goes on without end. Each wait, and why retry ended, is
printed to standard error.

The command has the input, the output and the terminal of retry. Each attempt
reads a file on standard input from where the first one began; what an attempt
has read from a pipe or a terminal is gone. Signals are passed on, and SIGINT,
SIGTERM, SIGHUP and SIGQUIT end retry as soon as the command ends. A program
that cannot be started is not tried again. What a command leaves running stays.`,
		SuggestFor: []string{"repeat", "again", "until"},
		Annotations: map[string]string{exitCodes: `      n  that of the last attempt; 128+n if signal n has ended it, 124 if
         --timeout or --for has, even if the command exits with 0 then, 127 for
         a program that was not found, 126 for one that cannot be started
      2  also if retry was used wrongly
  128+n  also if signal n came during a wait`},
		Example: `  restart retry -- curl -fsS https://example.com/health
  restart retry --attempts 5 --final 2,64-78 -- ./deploy.sh
  restart retry --for 2m --initial 200ms --max 5s -- psql -c 'select 1'`,
		Args: func(c *cobra.Command, args []string) error { return argsAfterDashes(c, args) },
		RunE: func(c *cobra.Command, args []string) error { return runRetry(c, args, &flags) },
	}
	c.SetFlagErrorFunc(commandFlagError)
	f := c.Flags()
	f.SortFlags = false
	f.IntVar(&flags.attempts, "attempts", 0, "most `times` to run the command (default no limit)")
	f.DurationVar(&flags.limit, "for", 0, "`time` for all attempts and waits; an attempt that still runs is ended (default no limit)")
	f.DurationVar(&flags.timeout, "timeout", 0, "`time` for each attempt (default no limit)")
	f.StringVar(&flags.final, "final", "", "exit `codes` after which no attempt follows, such as 2,64-78")
	f.DurationVar(&flags.grace, "grace", 30*time.Second, "`time` between SIGTERM and SIGKILL, when --for or --timeout is over")
	flags.curve.add(c)
	group(f, "Flags for the end", "attempts", "for", "timeout", "final", "grace")
	group(f, "Flags for delays", "preset", "initial", "max", "factor")
	return c
}

// retryDefault is the curve of retry without flags.
var retryDefault = backoff.Policy{Initial: time.Second, Max: time.Minute}

func runRetry(c *cobra.Command, args []string, flags *retryFlags) error {
	given := c.Flags().Changed
	switch {
	case len(args) == 0 || args[0] == "":
		return usageError("no command: write it after --, as in restart retry -- curl -fsS https://example.com")
	case given("attempts") && flags.attempts < 1:
		return usageError("--attempts %d: must be at least 1", flags.attempts)
	case given("for") && flags.limit <= 0:
		return usageError("--for %v: must be above 0", flags.limit)
	case given("timeout") && flags.timeout <= 0:
		return usageError("--timeout %v: must be above 0", flags.timeout)
	case flags.grace < 0:
		return usageError("--grace %v: must not be below 0", flags.grace)
	}
	curve, err := flags.curve.policy(c, retryDefault)
	if err != nil {
		return err
	}
	final, err := parseCodes("final", flags.final, 255)
	if err != nil {
		return err
	}
	r := &retrier{flags: flags, args: args, notes: c.ErrOrStderr(), onTerminal: process.OnTerminal()}
	r.exit.Code = exitFailed // if --for is over before the first attempt
	if r.processes, err = process.New(); err != nil {
		return err
	}
	if code := r.run(curve, final); code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// parseCodes reads the exit codes of a flag, such as 2,64-78, in any order.
func parseCodes(flag, text string, highest int) (codes indexset.Set, err error) {
	for one := range strings.SplitSeq(text, ",") {
		set, err := indexset.Parse(strings.TrimSpace(one))
		if last, _ := set.Max(); err != nil || last > highest || one == "" && text != "" {
			return codes, usageError("--%s %s: must be exit codes such as 2,64-78", flag, quoted(text))
		}
		codes = codes.Union(set)
	}
	return codes, nil
}

// retrier runs one command again and again. The processes of a Runner that is not closed may
// outlive this program.
type retrier struct {
	flags     *retryFlags
	args      []string
	notes     io.Writer
	processes *process.Runner
	exit      process.Exit  // of the last attempt
	tooLong   time.Duration // the wait that would have passed the end of --for; 0 if none
	// onTerminal leaves the command in this program's group, to which the keys of a terminal
	// send their signals.
	onTerminal bool

	mu      sync.Mutex
	process *process.Process // nil while none runs
	ended   syscall.Signal   // signal that ends retry; 0 if none came
	waited  bool             // it came while no command was running
}

// attemptError is the failure of one attempt.
type attemptError struct {
	exit     process.Exit
	timedOut bool   // --timeout or --for has ended it
	why      string // it could not be started
}

// exitTimedOut is the exit code of an attempt that took too long, as that of timeout(1).
// The command's own may be 0, if it handles SIGTERM.
const exitTimedOut = 124

func (e *attemptError) Error() string {
	switch {
	case e.why != "":
		return e.why
	case e.timedOut:
		return fmt.Sprintf("exit code %d (timed out)", e.exit.Code)
	case e.exit.Signal != 0:
		return fmt.Sprintf("exit code %d (%v)", e.exit.Code, e.exit.Signal)
	}
	return fmt.Sprintf("exit code %d", e.exit.Code)
}

// errSignalled is the cause of a context that a signal has ended.
var errSignalled = errors.New("a signal came")

// run runs the command until it succeeds or the limits end it, and returns the exit code.
func (r *retrier) run(curve backoff.Policy, final indexset.Set) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedSignals...)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a note is then not written
	go r.pass(signals, cancel)

	rewind := rewinder(os.Stdin)
	attempts := 0
	if r.flags.limit > 0 {
		limited, stop := context.WithTimeout(ctx, r.flags.limit)
		defer stop()
		ctx = limited
	}
	err := backoff.Retry(ctx, curve, func(ctx context.Context) error {
		if attempts++; attempts > 1 {
			rewind()
		}
		return r.attempt(ctx)
	}, backoff.RetryOptions{
		Attempts: r.flags.attempts,
		Timeout:  r.flags.timeout,
		Permanent: func(err error) bool {
			var failed *attemptError
			return errors.As(err, &failed) && failed.why == "" && final.Contains(failed.exit.Code)
		},
		Notify: func(n int, err error, delay time.Duration) {
			if ctx.Err() == nil { // else the last line says why it ended
				r.note("%v; attempt %d in %s", err, n+1, human.Wait(delay))
			}
		},
	})
	if ctx.Err() == nil {
		r.tooLong = curve.Delay(attempts)
	}
	return r.end(err, attempts)
}

// end says why Retry returned err after that many attempts, and returns the exit code. A
// signal that came too late to end it changes neither.
func (r *retrier) end(err error, attempts int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !errors.Is(err, errSignalled) {
		r.explain(err, attempts)
		return r.exit.Code
	}
	r.note("ended by a signal (%v)", r.ended)
	if r.waited {
		return 128 + int(r.ended)
	}
	return r.exit.Code
}

// pass passes signals on to the command, until the end of this program.
func (r *retrier) pass(signals <-chan os.Signal, cancel context.CancelCauseFunc) {
	for received := range signals {
		s := received.(syscall.Signal)
		r.mu.Lock()
		if slices.Contains(endingSignals, received) && r.ended == 0 {
			r.ended, r.waited = s, r.process == nil
			cancel(errSignalled)
		}
		fromKeys := r.onTerminal && slices.Contains(terminalSignals, received) // the command has got it
		if r.process != nil && !fromKeys {
			r.process.Signal(s)
		}
		r.mu.Unlock()
	}
}

// attempt runs the command once.
func (r *retrier) attempt(ctx context.Context) error {
	r.mu.Lock()
	if r.ended != 0 { // since Retry has looked
		r.mu.Unlock()
		return ctx.Err()
	}
	p, err := r.processes.Start(process.Command{
		Args: r.args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		SameGroup: r.onTerminal, Leave: true,
	})
	r.process = p
	r.mu.Unlock()
	if err != nil {
		r.exit = process.Exit{Code: process.CannotStart}
		var never *process.StartError
		if errors.As(err, &never) {
			r.exit.Code = never.Code
			return backoff.Permanent(&attemptError{exit: r.exit, why: err.Error()})
		}
		return &attemptError{exit: r.exit, why: err.Error()}
	}
	timedOut := false
	select {
	case <-p.Done():
	case <-ctx.Done():
		if !errors.Is(context.Cause(ctx), errSignalled) { // else the command has got the signal
			timedOut = p.Stop(syscall.SIGTERM, r.flags.grace)
		}
	}
	r.exit = p.Wait()
	if timedOut {
		r.exit = process.Exit{Code: exitTimedOut}
	}
	r.mu.Lock()
	r.process = nil
	r.mu.Unlock()
	if r.exit.Code != 0 {
		return &attemptError{exit: r.exit, timedOut: timedOut}
	}
	return nil
}

// explain says why it ended without a signal, unless the first attempt has succeeded.
func (r *retrier) explain(err error, attempts int) {
	var failed *backoff.RetryError
	switch {
	case err == nil && attempts > 1:
		r.note("succeeded in attempt %d", attempts)
	case err == nil:
	case !errors.As(err, &failed):
		r.note("%v", err)
	case failed.Limit == backoff.RetryLimitPermanent && failed.Last != nil:
		var last *attemptError
		if errors.As(failed.Last, &last) && last.why == "" {
			r.note("%v is final", last)
			return
		}
		r.note("%v", failed.Last)
	case attempts == 0:
		r.note("the command was not run, since --for %v was over before", r.flags.limit)
	case failed.Limit == backoff.RetryLimitDeadline && r.tooLong > 0:
		r.note("%v; given up after %s, since the next wait of %s would pass the end of --for %s", failed.Last, human.Count(attempts, "attempt"), human.Wait(r.tooLong), human.Duration(r.flags.limit))
	case failed.Limit == backoff.RetryLimitDeadline:
		r.note("%v; given up after %s, at the end of --for", failed.Last, human.Count(attempts, "attempt"))
	default:
		r.note("%v; given up after %s", failed.Last, human.Count(attempts, "attempt"))
	}
}

func (r *retrier) note(format string, args ...any) {
	fmt.Fprintf(r.notes, "restart retry: %s\n", human.Escape(fmt.Sprintf(format, args...)))
}

// rewinder returns a function that sets a file back to where it is now, if it can.
func rewinder(f *os.File) func() {
	at, err := f.Seek(0, io.SeekCurrent)
	return func() {
		if err == nil {
			_, _ = f.Seek(at, io.SeekStart)
		}
	}
}
