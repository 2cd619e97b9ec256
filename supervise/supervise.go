// Package supervise keeps goroutines running by restart rules.
//
//	s, err := supervise.New(supervise.Options{
//		Policy: backoff.ExitPolicy{Retries: 5}, // at most five restarts in a row of each goroutine
//		Notify: func(e supervise.Event) { log.Println(e) },
//	})
//	…
//	err = s.Go(context.Background(), "importer", backoff.ExitPolicy{}, importer)
//	err = s.Go(context.Background(), "server", backoff.ExitPolicy{RestartPolicy: "OnFailure"}, server)
//	return s.Run(ctx) // stops server, then importer, once ctx is done
//
// A function that returns, panics or calls runtime.Goexit has exited. Its rules decide
// whether it is called again, by the exit code and the reason that [Event] lists. Its
// delays and limits are those of a [backoff.Restarter]. Without a limit, it is restarted
// for as long as it fails.
//
// A goroutine that has used up a limit ends, unless the policy has GiveUpFor. Then the
// function is called again when that time is over. An error that leads to no restart is
// returned by Wait and Run, and with the option Escalate it stops the other goroutines.
//
// A function can decide about its own restart. If the returned error wraps
// [backoff.Permanent], the goroutine gives up, whatever its rules say. If it wraps
// [backoff.RetryAfter], the restart waits at least so long, but not longer than Max of the
// curve.
//
// A Supervisor stores nothing: the counts start over with the program. To keep them in a
// file, use a [backoff.Restarter] and package statefile.
//
// Supervisors nest. A function that makes a Supervisor, fills it and returns the result
// of its Run can itself be supervised, and makes a new one whenever it is restarted.
//
// # Coming from suture
//
//   - Each goroutine has failures, a delay and a limit of its own. suture adds the failures of
//     all services to one count, and pauses all restarts while it is too high. Here Options.Rate
//     bounds the restarts of all goroutines together.
//   - A failed function is called again after a delay that grows; suture calls it at once.
//   - Stop ends goroutines in reverse order, each with a time limit; suture ends all at once,
//     within one limit. Those that do not stop are named in an error.
//   - runtime.Goexit is an exit with a reason of its own; suture takes it for a return of nil.
//   - A failure that is not retried is returned by Wait and Run; suture shows it in events only.
//   - Names are unique, and Wait waits for all goroutines.
package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/field"
	"k8s.io/utils/clock"
)

// Options configures a Supervisor. The zero value is ready to use.
type Options struct {
	// Policy decides about every goroutine. A field that is set in the policy passed to Go
	// takes precedence. Delay defaults to 100ms, doubled up to 1m; a run of more than 2m
	// starts it over.
	Policy backoff.ExitPolicy
	Rate   float64 // restarts per second across all goroutines; 0 means no limit
	Burst  int     // restarts allowed at once under Rate; 0 means 1

	// StopTimeout is how long a stop waits for one goroutine before it cancels the next;
	// 0 means 10s. It has to cover the whole stop of a nested Supervisor.
	StopTimeout time.Duration
	// Escalate makes a goroutine that fails for good stop all others, in order.
	Escalate bool

	Clock clock.Clock    // nil means the real clock
	Rand  func() float64 // in [0, 1), as in backoff.RestarterOptions; must not use the Supervisor
	// Notify is called with every exit, by the goroutine concerned before it waits for its
	// restart, so several calls may run at once. A panic in it is not
	// recovered. If it calls runtime.Goexit, the goroutine ends for good.
	Notify func(Event)
}

const defaultStopTimeout = 10 * time.Second

func defaultCurve() backoff.Policy {
	return backoff.Policy{Initial: 100 * time.Millisecond, Max: time.Minute}
}

// ErrStopped is returned by Go after a stop.
var ErrStopped = errors.New("the supervisor has been stopped")

// A Supervisor runs each function in its own goroutine and calls it again after an exit,
// as its rules decide. Add functions with Go, then call Run or Wait, or Stop.
//
// Invariants:
//
//  1. a function is never running twice
//  2. live goroutines, which run or wait, have different names
//  3. after a stop has begun, no function is called
//  4. when Wait returns, no goroutine of the Supervisor is left
//
// Create one with New; the zero value is not usable. A Supervisor is safe for concurrent
// use by multiple goroutines, including supervised ones. A supervised function must not
// call Wait, which would wait for it. If it calls Stop, or Remove with its own name, the
// error names it after StopTimeout.
type Supervisor struct {
	options   Options
	restarter *backoff.Restarter[string]

	mu       sync.Mutex
	workers  map[string]*worker // live ones
	ran      bool               // Run has been called
	last     int                // number of the worker that Go added last
	live     int                // goroutines
	idle     chan struct{}      // closed while live is 0
	stopping chan struct{}      // closed by the first stop
	failures []error            // at most maxFailures
	dropped  int                // failures beyond maxFailures
}

// maxFailures bounds the failures that Wait and Run return, since a program can keep
// adding goroutines that fail.
const maxFailures = 100

// New returns a Supervisor that runs no function yet. If o has mistakes, the error wraps
// field.Errors with all of them.
func New(o Options) (*Supervisor, error) {
	if o.Policy.Delay == nil {
		curve := defaultCurve()
		o.Policy.Delay = &curve
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	restarter, err := backoff.NewRestarter(o.Policy, backoff.RestarterOptions[string]{
		Clock: o.Clock, Rand: o.Rand, Rate: o.Rate, Burst: o.Burst,
	})
	var errs field.Errors
	errors.As(err, &errs)
	checkActions(&errs, o.Policy.Rules)
	errs.Check(o.StopTimeout >= 0, "StopTimeout", o.StopTimeout, ">= 0 (0 means 10s)")
	if err := errs.Err(); err != nil {
		return nil, fmt.Errorf("supervise: New: %w", err)
	}
	o.StopTimeout = cmp.Or(o.StopTimeout, defaultStopTimeout)
	s := &Supervisor{options: o, restarter: restarter, workers: map[string]*worker{}, idle: make(chan struct{}), stopping: make(chan struct{})}
	close(s.idle)
	return s, nil
}

// Go calls f in a new goroutine, and again after each exit for which rules decide a
// restart. The name identifies the goroutine in events and errors.
//
// The goroutine ends when ctx is done or when it is stopped. Then the context of f is
// done, f should return, and it is not called again. All goroutines whose ctx is done end
// at once; for a stop in order, pass a context that outlives them, as in the example of
// the package.
//
// After a stop, or a failure that escalated, Go returns an error wrapping ErrStopped. It
// also returns an error if ctx is done, f is nil, or the name is empty or in use, and one
// wrapping field.Errors if rules have mistakes. Rules with
// ActionRestartAll are mistakes. Do not change rules afterwards.
func (s *Supervisor) Go(ctx context.Context, name string, rules backoff.ExitPolicy, f func(context.Context) error) error {
	if err := s.add(ctx, name, rules, f); err != nil {
		return fmt.Errorf("supervise: Go(%q): %w", name, err)
	}
	return nil
}

func (s *Supervisor) add(ctx context.Context, name string, rules backoff.ExitPolicy, f func(context.Context) error) error {
	switch {
	case name == "":
		return errors.New("empty name")
	case f == nil:
		return errors.New("nil function")
	case ctx == nil:
		return errors.New("nil context")
	}
	if err := validate(rules); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isStopping() {
		return ErrStopped
	}
	if s.workers[name] != nil {
		return errors.New("name in use")
	}
	s.last++
	w := &worker{name: name, number: s.last, rules: rules, call: f, ended: make(chan struct{}), waits: true}
	w.ctx, w.cancel = context.WithCancel(ctx)
	s.workers[name] = w
	if s.live++; s.live == 1 {
		s.idle = make(chan struct{})
	}
	go s.run(w)
	return nil
}

func validate(rules backoff.ExitPolicy) error {
	var errs field.Errors
	errors.As(rules.Validate(), &errs)
	checkActions(&errs, rules.Rules)
	return errs.Err()
}

// checkActions adds a mistake for each rule with the action RestartAllContainers, which
// means nothing for a goroutine.
func checkActions(errs *field.Errors, rules []backoff.Rule) {
	for i := range rules {
		errs.Check(rules[i].Action != backoff.ActionRestartAll, fmt.Sprintf("restartPolicyRules[%d].action", i),
			backoff.ActionRestartAll, "Restart or GiveUp for a goroutine")
	}
}

// Wait waits until all goroutines have ended for good. It returns the first 100 failures,
// each a *GiveUpError, joined with the number of others, or nil if all goroutines ended
// without an error or were stopped.
func (s *Supervisor) Wait() error {
	s.mu.Lock()
	idle := s.idle
	s.mu.Unlock()
	<-idle
	return s.failed()
}

// Run waits until ctx is done, all goroutines have ended, or a stop has begun. Then it
// stops the remaining goroutines, as Stop does, waiting for each at most StopTimeout. It
// returns the errors of Wait and of the stop, joined, or nil. A stop or an escalated
// failure before the call has the same effect. A second call returns an error wrapping
// backoff.Permanent.
func (s *Supervisor) Run(ctx context.Context) error {
	s.mu.Lock()
	idle, again := s.idle, s.ran
	s.ran = true
	s.mu.Unlock()
	if again {
		return backoff.Permanent(errors.New("supervise: Run: called before")) // for a Supervisor above it
	}
	select {
	case <-ctx.Done():
	case <-idle:
	case <-s.stopping:
	}
	err := s.stop(context.WithoutCancel(ctx), s.beginStop())
	return errors.Join(s.failed(), err)
}

func (s *Supervisor) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	failures := slices.Clip(s.failures)
	if s.dropped > 0 {
		failures = append(failures, fmt.Errorf("supervise: %d more goroutines failed", s.dropped))
	}
	return errors.Join(failures...)
}

// State describes a goroutine, for display. The zero value describes one before its
// first call.
type State struct {
	Run     int64 // number of calls of the function so far
	Running bool  // whether the last one has not returned yet
	Last    Event // the last exit; its Decision.NotBefore is when a restart is due
}

// All yields the live goroutines by name, in the order of their Go, as they were when the
// loop began. After a failed Stop, these are the goroutines still running. The loop may
// use the Supervisor.
func (s *Supervisor) All() iter.Seq2[string, State] {
	return func(yield func(string, State) bool) {
		s.mu.Lock()
		workers := s.inOrder()
		states := make([]State, len(workers))
		for i, w := range workers {
			states[i] = w.state
		}
		s.mu.Unlock()
		for i, w := range workers {
			if !yield(w.name, states[i]) {
				return
			}
		}
	}
}

// inOrder returns the workers in the order in which they were added.
func (s *Supervisor) inOrder() []*worker {
	return slices.SortedFunc(maps.Values(s.workers), func(a, b *worker) int { return cmp.Compare(a.number, b.number) })
}
