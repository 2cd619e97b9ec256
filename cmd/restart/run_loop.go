package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/backoff/lint"
	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/cmd/internal/screen"
)

// keeper keeps commands running. It starts and stops processes, and the Restarter decides
// whether and when a command starts again. Only the goroutine of keep uses its fields, but for
// rows. The kernel reports every exit of a child, so that nothing has to be looked for.
type keeper struct {
	*runSettings
	restarter *backoff.Restarter[string] // by names of commands
	processes *process.Runner
	screen    *screen.Screen
	store     *runStore // nil without a state file
	tasks     []*task
	lead      *task // whose RestartAllContainers the others wait for; nil if none
	ended     chan ending
	messages  []message // to print once the state is saved
	rows      atomic.Pointer[[]row]
	stopping  bool
	code      int // exit code after stopping
}

// task is a command with its state. It runs, waits for its next start, or has ended for good.
type task struct {
	keptCommand
	startRule int   // index of the rule that limitStartErrors adds
	run       int64 // number of starts so far, which numbers the runs for the Restarter
	process   *process.Process
	began     time.Time        // last start
	exit      process.Exit     // last one
	decision  backoff.Decision // on the last exit; zero before one
	stopping  bool             // the process is being stopped
	together  bool             // it is stopped to start again with the others
	stopped   bool             // it has ended because this program ends
}

// message is a line about a task, or a note.
type message struct {
	text string
	note bool
}

// ending is the end of a task's run.
type ending struct {
	task *task
	exit process.Exit
}

// keepRunning runs the commands until all have ended, a signal comes or the time is over.
func keepRunning(s *runSettings, stdout, stderr io.Writer) error {
	k := &keeper{runSettings: s, ended: make(chan ending, len(s.commands))}
	var err error
	k.restarter, err = backoff.NewRestarter(s.policy, backoff.RestarterOptions[string]{Rate: s.rate, Burst: s.burst})
	if err != nil {
		return usageError("%w", err)
	}
	var notes []string
	for _, c := range s.commands {
		c.policy = k.restarter.Complete(c.policy)
		for _, f := range lint.Check(c.policy) {
			notes = append(notes, fmt.Sprintf("warning: %s: %v", c.name, f))
		}
		startRule := len(c.policy.Rules)
		c.policy = limitStartErrors(c.policy)
		k.tasks = append(k.tasks, &task{keptCommand: c, startRule: startRule})
	}
	if s.state != "" {
		if k.store, err = openRunStore(s.state); err != nil {
			return usageError("--state: %w", err)
		}
		defer k.store.close()
		resumed, err := k.resume()
		if err != nil {
			return usageError("--state: %w", err)
		}
		notes = append(notes, resumed...)
	}
	if k.processes, err = process.New(); err != nil {
		return err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a write then fails instead
	k.screen = screen.New(fileOf(stdout), stderr)
	for _, n := range notes {
		k.note("%s", n)
	}
	k.screen.Show(k.table)

	code := k.keep(signals)
	k.processes.Close()
	err = k.finish(signals)
	switch {
	case errors.Is(err, syscall.EPIPE), errors.Is(err, context.Canceled): // the reader has gone, or does not read
		return &exitError{code: exitUnwritten}
	case err != nil:
		return &exitError{code: exitUnwritten, err: fmt.Errorf("cannot write the output: %w", err)}
	case k.store != nil && k.store.unsaved: // as a note has said
		return &exitError{code: exitUnwritten}
	case code != 0:
		return &exitError{code: code}
	}
	return nil
}

// finish writes the rest of the output. After a signal its reader has a second for it.
func (k *keeper) finish(signals <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		if !k.stopping {
			<-signals
		}
		time.AfterFunc(time.Second, cancel)
	}()
	return k.screen.Close(ctx)
}

// keep runs the commands and returns the exit code.
func (k *keeper) keep(signals <-chan os.Signal) int {
	var over, refresh <-chan time.Time
	if k.limit > 0 {
		over = time.After(k.limit)
	}
	if k.screen.Live() {
		refresh = time.Tick(time.Second)
	}
	for {
		k.startDue()
		k.save()
		k.show()
		if k.done() {
			return k.code
		}
		select {
		case e := <-k.ended:
			k.handle(e)
			for len(k.ended) > 0 { // save once for ends at the same time
				k.handle(<-k.ended)
			}
		case s := <-signals:
			k.signal(s.(syscall.Signal))
		case <-k.screen.Failed():
			if !k.stopping {
				k.stop(exitUnwritten)
			}
			k.waitForEnd(signals)
			return k.code
		case <-over:
			k.stop(0)
		case <-time.After(k.untilDue()):
		case <-refresh:
		}
	}
}

// waitForEnd waits for the end of all commands after the output has failed.
func (k *keeper) waitForEnd(signals <-chan os.Signal) {
	for !k.done() {
		select {
		case e := <-k.ended:
			k.handle(e)
		case s := <-signals:
			k.signal(s.(syscall.Signal))
		}
		k.save()
	}
}

// done reports whether there is nothing left to do, and sets the exit code.
func (k *keeper) done() bool {
	failed := false
	for _, t := range k.tasks {
		if t.process != nil || !k.stopping && !t.over() {
			return false
		}
		failed = failed || t.decision.Action == backoff.ActionGiveUp || t.exit.Code != 0
	}
	if !k.stopping && failed {
		k.code = exitFailed
	}
	return true
}

// over reports whether a task has ended for good.
func (t *task) over() bool {
	return t.process == nil && (t.decision.Action == backoff.ActionStop || t.decision.Action == backoff.ActionGiveUp && t.decision.NotBefore.IsZero())
}

// waiting reports whether a task waits for its next start.
func (k *keeper) waiting(t *task) bool { return !k.stopping && t.process == nil && !t.over() }

// wait returns how long a task has to wait for its next start. One that starts together with
// the others waits for their end, and they wait for it.
func (k *keeper) wait(t *task) time.Duration {
	if k.lead != nil {
		t = k.lead
		if slices.ContainsFunc(k.tasks, func(other *task) bool { return other.together }) {
			return backoff.Forever
		}
	}
	ok, wait := k.restarter.CanStart(t.name)
	if ok {
		return 0
	}
	return wait
}

// startDue starts the commands whose time has come. What it writes beforehand makes each start
// happen at most once, even if this program is killed in between. If one cannot be started and
// all start again with it, those that have not started wait for it.
func (k *keeper) startDue() {
	var due []*task
	for _, t := range k.tasks {
		if k.waiting(t) && (k.lead == nil || k.lead == t) && k.wait(t) == 0 && k.restarter.Started(t.name, time.Time{}) {
			t.run++
			due = append(due, t)
		}
	}
	if len(due) == 0 {
		return
	}
	k.save()
	lead := k.lead
	k.lead = nil
	for _, t := range due {
		if k.lead != nil {
			t.run--
			k.restarter.Lost(t.name)
			continue
		}
		k.start(t)
	}
	if lead != nil && k.lead == nil {
		k.startDue() // the others
	}
}

// untilDue returns how long it is until the next start.
func (k *keeper) untilDue() time.Duration {
	const long = time.Hour
	until := long
	for _, t := range k.tasks {
		if k.waiting(t) {
			until = min(until, k.wait(t))
		}
	}
	return until
}

// start starts a task's process.
func (k *keeper) start(t *task) {
	t.began = time.Now()
	text := "starts"
	if t.run > 1 {
		text = fmt.Sprintf("starts again (restart %d)", t.run-1)
	}
	k.say(t, text)
	k.tell() // before its output
	p, err := k.processes.Start(process.Command{
		Args:    t.args,
		Env:     slices.Concat(os.Environ(), t.env),
		Dir:     t.dir,
		Colours: k.colours && (!k.screen.Live() || k.screen.Style().Colours),
		Output: func(l process.Line) {
			text := k.prefix(t.name) + l.Text
			if l.Progress {
				k.screen.Progress(t.name, text)
			} else {
				k.screen.Print(t.name, text)
			}
		},
	})
	if err != nil {
		k.handle(ending{t, process.Exit{Code: k.startFailed(t, err), At: t.began}})
		return
	}
	t.process = p
	k.restarter.Started(t.name, time.Now())
	go func() { k.ended <- ending{t, p.Wait()} }()
}

// handle decides on the next step after the end of a run. An end that this program has caused is no exit.
func (k *keeper) handle(e ending) {
	t := e.task
	t.process, t.stopping, t.exit = nil, false, e.exit
	switch {
	case k.stopping:
		t.stopped = true
		k.say(t, fmt.Sprintf("has ended with exit code %d", t.exit.Code))
		return
	case t.together:
		t.together = false
		k.restarter.Lost(t.name)
		return
	}
	exit := backoff.Exit{
		Run: t.run, Code: int32(t.exit.Code), Signal: int32(t.exit.Signal),
		Started: t.exit.Began, Finished: t.exit.At,
	}
	switch {
	case t.exit.Began.IsZero():
		exit.Reason = "StartError"
	case t.exit.Signal != 0:
		exit.Reason = t.exit.Signal.String()
	}
	t.decision = k.restarter.Exited(t.name, t.policy, exit)
	told := t.decision
	told.Delay = human.Round(told.Delay)
	k.say(t, told.Reason(t.policy, exit))
	if k.explain {
		for _, step := range t.decision.Explain(t.policy, exit) {
			if step.Rule != t.startRule || t.decision.Rule == t.startRule {
				k.say(t, "  "+step.String())
			}
		}
	}
	k.adviseOnStart(t)
	if t.exit.Left {
		k.advise("warning: " + t.name + ": some of its processes do not end")
	}
	if t.decision.Action == backoff.ActionRestartAll {
		k.restartAll(t)
	}
}

// restartAll stops the other tasks, which start again with t, once its delay is over. Their
// ends are no failures. One that has ended for good or was given up starts without the failures
// of before.
func (k *keeper) restartAll(t *task) {
	k.lead = t
	for _, other := range k.tasks {
		switch {
		case other == t || other.run == 0:
		case other.process != nil:
			other.together = true
			k.terminate(other)
		case other.over():
			k.forgive(other)
		default:
			k.endWait(other)
		}
	}
}

// endWait lets a waiting task start at once.
func (k *keeper) endWait(t *task) {
	if t.decision.Action == backoff.ActionGiveUp {
		k.forgive(t)
	} else {
		k.restarter.RestartNow(t.name)
	}
}

// forgive lets a task start that has ended for good or was given up. Its failures and limits
// start over.
func (k *keeper) forgive(t *task) {
	k.restarter.Forgive(t.name)
	t.decision = backoff.Decision{}
}

// terminate sends SIGTERM to a task's process, and SIGKILL after the grace.
func (k *keeper) terminate(t *task) {
	if t.process != nil {
		t.stopping = true
		t.process.Stop(syscall.SIGTERM, k.grace)
	}
}

// signal carries out a signal to this program.
func (k *keeper) signal(s syscall.Signal) {
	switch {
	case s == syscall.SIGHUP:
		for _, t := range k.tasks {
			if k.waiting(t) {
				k.endWait(t)
			}
		}
	case !k.stopping:
		k.stop(128 + int(s))
	default:
		for _, t := range k.tasks {
			if t.process != nil {
				t.process.Kill()
			}
		}
	}
}

// stop terminates all commands. After their end, the exit code is code.
func (k *keeper) stop(code int) {
	if k.stopping {
		return
	}
	k.stopping, k.code, k.lead = true, code, nil
	for _, t := range k.tasks {
		k.terminate(t)
	}
}

// Commands that cannot be started, or whose shell does not find a program, are tried a few
// times, in case a file is about to be replaced.
const (
	startTries     = 3
	startErrorRule = "cannot-start"
)

// mostRules is how many rules the user may write. With the one of limitStartErrors, a policy
// has at most 20.
const mostRules = 19

// limitStartErrors adds a last rule to a policy that restarts after failures. It decides about
// these exits unless an earlier rule does.
func limitStartErrors(p backoff.ExitPolicy) backoff.ExitPolicy {
	if p.RestartPolicy == backoff.RestartPolicyNever {
		return p
	}
	name := startErrorRule
	for i := 2; slices.ContainsFunc(p.Rules, func(r backoff.Rule) bool { return r.Name == name }); i++ {
		name = fmt.Sprintf("%s-%d", startErrorRule, i)
	}
	p.Rules = append(slices.Clone(p.Rules), backoff.Rule{
		Name: name, Action: backoff.ActionRestart, Limit: startTries - 1,
		ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorIn, Values: []int32{process.CannotStart, process.NotFound}},
	})
	return p
}

// startFailed says why a command was not started, and returns its exit code.
func (k *keeper) startFailed(t *task, err error) int {
	code := 128 // as of a container that cannot be started
	hint := ""
	var failure *process.StartError
	if errors.As(err, &failure) {
		code = failure.Code
		switch {
		case code == process.NotFound:
			hint = "; check the name and PATH"
		case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC):
			hint = "; check that it is a program and may be executed"
		}
	}
	k.advise(fmt.Sprintf("%s cannot be started: %v%s", t.name, err, hint))
	return code
}

// adviseOnStart names the consequence if a task cannot be started.
func (k *keeper) adviseOnStart(t *task) {
	if code := t.exit.Code; code != process.CannotStart && code != process.NotFound {
		return
	}
	if !t.exit.Began.IsZero() && t.run == 1 {
		k.advise(fmt.Sprintf("%s: a shell ends with %d if it cannot find or start a program; see what it printed", t.name, t.exit.Code))
	}
	switch d := t.decision; {
	case d.Action == backoff.ActionGiveUp:
		k.advise(fmt.Sprintf("%s was given up", t.name))
	case d.Rule == t.startRule && t.run == 1:
		k.advise(fmt.Sprintf("%s is tried again in %s, and given up after %d tries", t.name, human.Wait(d.Delay), startTries))
	}
}
