package main

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/cmd/internal/statefolder"
)

// supervisor keeps the commands running. It starts and ends processes, and the
// Restarter decides whether and when a command starts again. Only run's goroutine uses
// the tasks. The kernel reports every exit of a child once, so the supervisor needs no
// pleg.Generator, which lists a runtime's containers to find missed exits.
type supervisor struct {
	*options
	restarter *backoff.Restarter[string] // keyed by command name
	children  *process.Children
	store     *statefolder.Store // nil without -state
	screen    *screen
	events    *recorder // nil without -events
	control   *control  // nil without a state folder
	tasks     []*task
	together  bool // a rule may restart all commands
	ended     chan ending
	stopping  bool
	code      int // exit code after stopping
}

// newSupervisor returns a supervisor that resumes the previous run's state, if any. It
// starts nothing. The caller must set children before run.
func newSupervisor(o *options, note func(string, ...any)) (*supervisor, error) {
	s := &supervisor{options: o, together: o.restartsAll(), ended: make(chan ending, len(o.commands))}
	for _, c := range o.commands {
		curve := c.curveIn(o.resolution)
		c.policy.Delay = &curve
		s.tasks = append(s.tasks, &task{command: c})
	}
	var err error
	s.restarter, err = backoff.NewRestarter(backoff.ExitPolicy{}, backoff.RestarterOptions[string]{Rate: o.rate, Burst: o.burst})
	if err != nil {
		return nil, err
	}
	if o.state != "" {
		if s.store, err = statefolder.OpenStore(o.state, "supervise", stateVersion); err != nil {
			return nil, err
		}
		if err := s.resume(note); err != nil {
			return nil, err
		}
	}
	if s.events, err = newRecorder(o.events); err != nil {
		return nil, err
	}
	if s.store != nil {
		if s.control, err = listen(s.store.Folder); err != nil {
			return nil, fmt.Errorf("-state: %w", err)
		}
	}
	s.screen = newScreen(os.Stdout, os.Stderr, o.commands)
	return s, nil
}

// run runs the commands until all have ended for good, or until it has been asked to
// stop and every process has ended. It returns the exit code.
func (s *supervisor) run(ends, wakes, shows <-chan os.Signal) int {
	var over <-chan time.Time
	if s.limit > 0 {
		over = time.After(s.limit)
	}
	refresh, resized := s.screen.refresh()
	broken := s.screen.out.Broken()
	for {
		s.startDue()
		s.save()
		s.show()
		if s.done() {
			return s.code
		}
		select {
		case e := <-s.ended:
			s.handle(e)
			for len(s.ended) > 0 { // save and draw once for simultaneous ends
				s.handle(<-s.ended)
			}
		case signal := <-ends:
			s.interrupt(signal.(syscall.Signal))
		case <-wakes:
			s.wake()
		case <-shows:
			s.screen.showAll(s.rows())
		case r := <-s.control.requests():
			r.answer <- s.carryOut(r.request)
		case <-broken:
			broken = nil // it stays broken
			s.stop(exitUnwritten)
		case <-over:
			s.stop(exitOK)
		case <-time.After(s.untilDue()):
		case <-refresh:
		case <-resized:
			s.screen.resized()
		}
	}
}

// done reports whether all work is done, and sets the exit code.
func (s *supervisor) done() bool {
	if slices.ContainsFunc(s.tasks, func(t *task) bool { return t.process != nil || !s.stopping && !t.over() }) {
		return false
	}
	if !s.stopping && slices.ContainsFunc(s.tasks, func(t *task) bool { return t.code != 0 }) {
		s.code = exitFailed
	}
	return true
}

// startDue starts the commands whose delay is over. It saves the state first.
func (s *supervisor) startDue() {
	var due []*task
	for _, t := range s.tasks {
		if s.startable(t) && s.remaining(t) == 0 {
			due = append(due, t)
		}
	}
	if len(due) == 0 {
		return
	}
	for _, t := range due {
		t.run++
		t.starts++
	}
	s.save()
	for _, t := range due {
		s.launch(t)
	}
}

// startable reports whether t waits only for its delay.
func (s *supervisor) startable(t *task) bool {
	return !s.stopping && t.process == nil && !t.held && !t.over() && s.waitsFor(t) == nil
}

// remaining returns what is left of t's delay. The first start takes no turn under the
// rate. The Restarter is not told of starts, because a command may start again after an
// exit that is not counted.
func (s *supervisor) remaining(t *task) time.Duration {
	if t.decision.Action == "" {
		return 0
	}
	_, wait := s.restarter.CanStart(t.name)
	return wait
}

// untilDue returns how long to sleep until the next start.
func (s *supervisor) untilDue() time.Duration {
	const long = time.Hour
	wait := long
	for _, t := range s.tasks {
		if s.startable(t) {
			wait = min(wait, s.remaining(t))
		}
	}
	return wait
}

// interrupt terminates all commands. A second interrupt kills them.
func (s *supervisor) interrupt(signal syscall.Signal) {
	if !s.stopping {
		s.stop(128 + int(signal))
		return
	}
	s.screen.printer.EndSoon()
	for _, t := range s.tasks {
		t.signal(syscall.SIGKILL)
	}
}

// wake ends every wait.
func (s *supervisor) wake() {
	for _, t := range s.tasks {
		if t.waiting() {
			s.wakeOne(t)
		}
	}
}

func (s *supervisor) wakeOne(t *task) {
	if d, ok := s.restarter.RestartNow(t.name); ok {
		t.decision = d
	}
}

// stop terminates all commands. After they have ended, run returns code.
func (s *supervisor) stop(code int) {
	if s.stopping {
		return
	}
	s.stopping, s.code = true, code
	s.screen.printer.EndWithin(s.grace)
	for _, t := range s.tasks {
		t.terminate(s.grace)
	}
}

// show updates the screen.
func (s *supervisor) show() { s.screen.show(s.rows()) }

// rows returns the rows of the table.
func (s *supervisor) rows() []row {
	now := time.Now()
	rows := make([]row, len(s.tasks))
	for i, t := range s.tasks {
		rows[i] = t.row(now)
		if t.waiting() && !s.stopping {
			until := t
			if other := s.waitsFor(t); other != nil && other.waiting() {
				until = other
			}
			rows[i].next, rows[i].in = until.decision.NotBefore, s.remaining(until)
		}
	}
	return rows
}
