package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/policyfile"
	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/cmd/internal/terminal"
)

// task is a command with its state. It runs, waits for its next start, or has ended for
// good.
type task struct {
	command
	run      int64            // counts its runs for the Restarter
	starts   int64            // number of starts
	process  *process.Process // nil if it is not running
	began    time.Time        // last start
	code     int32            // of the last exit
	killedBy syscall.Signal   // signal that ended it, or 0
	decision backoff.Decision // on the last exit; zero before it
	ending   bool             // SIGTERM was sent
	together bool             // starts again with the others
	stopped  bool             // ended because this program is ending
	held     bool             // stopped by a user
	again    bool             // restarted by a user; starts at once after its end
}

// over reports whether the task has ended for good.
func (t *task) over() bool {
	return !t.held && t.decision.Action == backoff.ActionStop || t.decision.Action == backoff.ActionGiveUp
}

// waiting reports whether the task waits for its next start.
func (t *task) waiting() bool {
	return t.process == nil && !t.stopped && !t.held && t.decision.Action != "" && !t.over()
}

// ending is the end of a task's run.
type ending struct {
	task  *task
	began time.Time // zero if it could not be started
	exit  process.Exit
}

// launch starts a task's process.
func (s *supervisor) launch(t *task) {
	t.began = time.Now()
	p, err := s.start(t)
	if err != nil {
		s.screen.note("%s cannot be started: %v", t.name, err)
		e := process.Exit{Code: 126, At: t.began}
		var failure *process.StartError
		if errors.As(err, &failure) {
			e.Code = failure.Code
		}
		s.handle(ending{task: t, exit: e})
		return
	}
	t.process = p
	s.events.started(t)
	began := t.began
	go func() { s.ended <- ending{t, began, p.Wait()} }()
}

// start starts the process and forwards its output line by line.
func (s *supervisor) start(t *task) (*process.Process, error) {
	return s.children.Start(process.Command{
		Args: t.args,
		Env:  slices.Concat(os.Environ(), t.env),
		Dir:  t.dir,
		Output: s.screen.printer.Source(func(line []byte) {
			text := terminal.EscapeLine(string(bytes.TrimRight(line, "\r\n")), s.colours)
			s.screen.output(t.name, []byte(text))
		}),
	})
}

// handle decides what follows the end of a run. An end caused by this program or a user
// is not counted, so the next supervise runs the command again.
func (s *supervisor) handle(e ending) {
	t := e.task
	t.process, t.ending = nil, false
	t.code, t.killedBy = int32(e.exit.Code), e.exit.Signal
	exit := backoff.Exit{Run: t.run, Code: t.code, Signal: int32(t.killedBy), Started: e.began, Finished: e.exit.At}
	if t.stopped = s.stopping; t.stopped || t.held || t.again {
		t.again = false
		s.events.exited(t, exit, nil, "")
		return
	}
	switch {
	case t.together:
		exit.Reason = reasonTogether
	case e.began.IsZero():
		exit.Reason = "StartError"
	case e.exit.Signal != 0:
		exit.Reason = e.exit.Signal.String()
	}
	s.decide(t, exit)
}

// decide asks the Restarter for the decision on an exit, and carries out a restart of
// all commands.
func (s *supervisor) decide(t *task, e backoff.Exit) {
	policy := t.policy
	if t.together {
		policy, t.together = t.atOnce(), false // regardless of its own policy
	}
	t.decision = s.restarter.Exited(t.name, policy, e)
	why := t.decision.Reason(policy, e)
	if e.Reason == reasonTogether {
		why = fmt.Sprintf("restarted with another command (failure %d in a row)", t.decision.Failures)
	}
	s.events.exited(t, e, &t.decision, why)
	if s.explain {
		lines := policyfile.Explain(t.decision, policy, e)
		lines[0] = why
		for _, line := range lines {
			s.screen.note("%s: %s", t.name, line)
		}
	}
	if t.decision.Action == backoff.ActionRestartAll {
		s.restartOthers(t)
	}
}

// signal sends a signal to the task's process, if it runs. SIGKILL goes to the whole
// process group.
func (t *task) signal(sig syscall.Signal) {
	if t.process != nil {
		t.process.Signal(sig)
	}
}

// terminate sends SIGTERM to the task's process, and SIGKILL after the grace period.
func (t *task) terminate(grace time.Duration) {
	if t.process == nil || t.ending {
		return
	}
	t.ending = true
	p := t.process
	p.Signal(syscall.SIGTERM)
	time.AfterFunc(grace, func() { p.Signal(syscall.SIGKILL) })
}

// row returns the task's row of the table, without the next start.
func (t *task) row(now time.Time) row {
	r := row{name: t.name, state: t.state(), restarts: max(t.starts-1, 0), exit: "-"}
	if !t.began.IsZero() {
		r.ago = now.Sub(t.began)
	}
	if t.decision.Action != "" || t.stopped || t.held {
		r.exit = fmt.Sprint(t.code)
		if t.killedBy != 0 {
			r.exit += fmt.Sprintf(" (%v)", t.killedBy)
		}
	}
	return r
}

// state returns the STATE column, in kubectl's words where they exist.
func (t *task) state() string {
	switch {
	case t.process != nil && t.ending:
		return "Terminating"
	case t.process != nil:
		return "Running"
	case t.stopped, t.held:
		return "Stopped"
	case t.decision.Action == backoff.ActionGiveUp:
		return "GivenUp"
	case t.decision.Action == backoff.ActionStop && t.code == 0:
		return "Completed"
	case t.decision.Action == backoff.ActionStop:
		return "Error"
	case t.decision.Action == "":
		return "Pending"
	}
	return "CrashLoopBackOff"
}
