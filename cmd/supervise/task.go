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

// task is a command and its state: it runs, it waits to be started, or it has ended for
// good.
type task struct {
	command
	run      int64            // counts its runs for the Restarter
	starts   int64            // how often it was started
	process  *process.Process // nil: it does not run
	began    time.Time        // its last start
	code     int32            // of its last exit
	killedBy syscall.Signal   // the signal that ended it, or 0
	decision backoff.Decision // on its last exit; zero: it has not exited
	ending   bool             // it was sent SIGTERM
	together bool             // it will be started again with the others
	stopped  bool             // it ended because this program ends
	held     bool             // a person has stopped it
	again    bool             // a person restarts it: when it has ended it starts at once
}

// over reports whether the task has ended for good.
func (t *task) over() bool {
	return !t.held && t.decision.Action == backoff.ActionStop || t.decision.Action == backoff.ActionGiveUp
}

// waiting reports whether the task waits to be started again.
func (t *task) waiting() bool {
	return t.process == nil && !t.stopped && !t.held && t.decision.Action != "" && !t.over()
}

// ending is the end of a task's run.
type ending struct {
	task  *task
	began time.Time // zero: it could not be started
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

// start starts the process, and passes its output on line by line.
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

// handle decides what follows from the end of a run. An end that this program or a
// person caused is not counted: the next supervise runs the command again.
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

// decide has the Restarter decide on an exit, and restarts the others if that is the
// decision.
func (s *supervisor) decide(t *task, e backoff.Exit) {
	policy := t.policy
	if t.together {
		policy, t.together = backoff.ExitPolicy{}, false // whatever its own says
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
// group.
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

// row returns the task's line of the table, without the next start.
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

// state returns the STATE column: kubectl's word where it has one.
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
