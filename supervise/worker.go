package supervise

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/restartkit/restart/backoff"
)

// A worker is a function under supervision. Each call has its own goroutine, which also
// waits for the next call, because runtime.Goexit ends the calling goroutine.
type worker struct {
	name   string
	number int // order of Go
	rules  backoff.ExitPolicy
	call   func(context.Context) error
	ctx    context.Context // that of the calls; done once it is stopped
	cancel context.CancelFunc
	ended  chan struct{} // closed when it has ended for good

	// Under the Supervisor's mu:
	state   State
	waits   bool         // it waits for its next call, and ends without that call if it is cancelled
	failure *GiveUpError // set before it ends for good with a failure
}

// run calls the function of w once. If it restarts, run waits for the restart and starts
// the goroutine of the next call. Otherwise w ends for good.
func (s *Supervisor) run(w *worker) {
	again := false
	defer func() { // runs even if Notify ends the goroutine
		if v := recover(); v != nil {
			panic(v) // in a function of Options; end the program, because going on would hide the bug
		}
		if again {
			go s.run(w)
		} else {
			s.end(w)
		}
	}()
	if !s.begin(w) {
		return
	}
	permanent := false
	e := Event{Name: w.name, Err: errGoexit, Exit: backoff.Exit{Code: 1, Reason: ReasonGoexit}}
	e.Exit.Started = s.options.Clock.Now()
	defer func() {
		if v := recover(); v != nil {
			e.Err = &PanicError{Value: v, Stack: debug.Stack()}
			e.Exit.Code, e.Exit.Reason = 2, ReasonPanic
		}
		e.Exit.Finished = s.options.Clock.Now()
		again = s.exited(w, e, permanent) && s.wait(w)
	}()
	err := w.call(w.ctx)
	exit, marked := exitOf(err) // a panic in a method of err counts as one of the function
	exit.Started = e.Exit.Started
	e.Err, e.Exit, permanent = err, exit, marked
}

// begin counts a call of the function of w, or returns false if w was stopped.
func (s *Supervisor) begin(w *worker) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isStopping() || w.ctx.Err() != nil {
		return false
	}
	w.waits = false
	w.state.Run++
	w.state.Running = true
	return true
}

// exited decides about an exit, calls Notify, and reports whether w is called again.
func (s *Supervisor) exited(w *worker, e Event, permanent bool) bool {
	s.mu.Lock()
	e.Exit.Run = w.state.Run
	panicked := e.Exit.Reason == ReasonPanic
	decides := !s.isStopping() && w.ctx.Err() == nil
	if decides {
		e.Decision = s.restarter.Exited(w.name, w.rules, e.Exit)
	}
	if decides && permanent {
		e.Decision = backoff.Decision{Action: backoff.ActionGiveUp, Failures: e.Decision.Failures, Rule: -1}
	}
	restarts := !e.Decision.NotBefore.IsZero() // a restart, or a give-up that ends
	if !restarts && (panicked || decides && e.Err != nil || e.Decision.Action == backoff.ActionGiveUp) {
		w.failure = &GiveUpError{e}
	}
	w.state.Running, w.state.Last = false, e
	s.mu.Unlock()
	if s.options.Notify != nil {
		s.options.Notify(e)
	}
	return restarts
}

// wait waits until w is due or stopped, and reports whether it may go on. If w was stopped,
// begin finds out.
func (s *Supervisor) wait(w *worker) bool {
	s.mu.Lock()
	w.waits = true
	s.mu.Unlock()
	err := s.restarter.Wait(w.ctx, w.name)
	return !errors.Is(err, backoff.ErrNoStart)
}

// end removes w, which has ended for good, and is the last act of its goroutine.
func (s *Supervisor) end(w *worker) {
	s.mu.Lock()
	if w.failure != nil {
		if len(s.failures) < maxFailures {
			s.failures = append(s.failures, w.failure)
		} else {
			s.dropped++
		}
	}
	s.restarter.Reset(w.name)
	delete(s.workers, w.name)
	escalates := w.failure != nil && s.options.Escalate && !s.isStopping()
	s.mu.Unlock()
	w.cancel()
	close(w.ended)
	if escalates {
		_ = s.stop(context.Background(), s.beginStop()) // Run and Stop report the goroutines left
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live--; s.live == 0 {
		close(s.idle)
	}
}
