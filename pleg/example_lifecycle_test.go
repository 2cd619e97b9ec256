package pleg_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
	"github.com/restartkit/restart/pleg/statuscache"
	"github.com/restartkit/restart/statefile"
)

// A supervisor keeps a container running in each pod. It may be killed at any point
// and continued from the last saved state: no restart is lost, none happens twice, and
// every exit counts once.
//
// All methods are for one goroutine. Then no exit is read and not yet handled when the
// state is saved.
type supervisor struct {
	pods      []string
	policy    backoff.ExitPolicy
	clock     clock.PassiveClock
	gen       *pleg.Generator[string, *plegtest.Status]
	cache     *statuscache.Cache[string, *plegtest.Status]
	exits     *pleg.ExitReader[string]
	restarter *backoff.Restarter[string]
	made      map[string]pleg.Container // by pod; created, and not started yet

	create  func(pod string, run int64) (pleg.Container, error)
	start   func(pod, container string) error
	save    func(state) error
	decided func(pleg.Exit[string], backoff.Exit, backoff.Decision) // for display
}

// The state of a supervisor. Both parts must agree, so they are saved together.
type state struct {
	Restarter *backoff.Restarter[string]
	Position  *pleg.ExitPosition[string]
}

// run restarts containers until ctx ends.
func (s *supervisor) run(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	go s.gen.Run(ctx)
	for {
		wait, err := s.startDue()
		if err != nil {
			return err
		}
		due, cancel := context.WithTimeout(ctx, wait)
		e, err := s.exits.Next(due)
		cancel()
		switch {
		case err == nil:
			err = s.exited(e)
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			err = nil // a restart is due
		}
		if err != nil {
			return err
		}
	}
}

// begin continues after a crash. It first handles the exits since the saved state. A
// container that the state does not mention was created before the crash, or never.
func (s *supervisor) begin(ctx context.Context) error {
	if err := s.gen.Relist(ctx); err != nil {
		return err
	}
	for e, ok := s.exits.TryNext(); ok; e, ok = s.exits.TryNext() {
		if err := s.exited(e); err != nil {
			return err
		}
	}
	for _, pod := range s.pods {
		last, _ := s.restarter.State(pod)
		run := last.Exit.Run + 1
		entry := s.cache.Get(pod)
		if entry.Err != nil {
			return entry.Err
		}
		there := false
		for _, c := range containersIn(entry.Status) {
			switch {
			case c.Attempt+1 != run:
			case c.State == pleg.StateCreated:
				s.made[pod], there = c, true
			default:
				s.restarter.Started(pod, time.Time{})
				there = true
			}
		}
		if _, made := s.made[pod]; last.Action == "" && (made || !there) {
			if err := s.startRun(pod, run); err != nil {
				return err
			}
		}
	}
	return nil
}

// containersIn returns the containers of a pod, none if it is absent.
func containersIn(s *plegtest.Status) []pleg.Container {
	if s == nil {
		return nil
	}
	return s.Listed
}

// exited decides on an exit.
func (s *supervisor) exited(e pleg.Exit[string]) error {
	exit := e.Backoff(e.Details.Attempt + 1)
	d := s.restarter.Exited(e.Pod, s.policy, exit)
	s.decided(e, exit, d)
	return s.saveState()
}

// startDue carries out the restarts that are due, and returns the time until the next.
func (s *supervisor) startDue() (wait time.Duration, err error) {
	for pod, d := range s.restarter.Due(s.clock.Now()) {
		if wait := d.Remaining(s.clock.Now()); wait > 0 {
			return wait, nil
		}
		last, _ := s.restarter.State(pod)
		if err := s.startRun(pod, last.Exit.Run+1); err != nil {
			return 0, err
		}
	}
	return time.Hour, nil
}

// startRun creates the container of a run, unless it exists, and starts it. The state is
// saved in between: before, the container would be unknown after a crash, and after, it
// might have come and gone.
func (s *supervisor) startRun(pod string, run int64) error {
	c, ok := s.made[pod]
	if !ok {
		var err error
		if c, err = s.create(pod, run); err != nil {
			return err
		}
	}
	s.exits.Expect(pod, c)
	if err := s.saveState(); err != nil {
		return err
	}
	if err := s.start(pod, c.ID); err != nil {
		return err
	}
	delete(s.made, pod)
	s.restarter.Started(pod, time.Time{})
	return nil
}

// saveState saves the Restarter together with the exits that it has seen.
func (s *supervisor) saveState() error {
	at := s.exits.Position()
	return s.save(state{s.restarter, &at})
}

// newSupervisor returns a supervisor of the pods that continues from a saved state.
func newSupervisor(c clock.WithTicker, rt pleg.Runtime[string, *plegtest.Status], stream pleg.Streamer[string], saved state, pods ...string) (*supervisor, error) {
	s := &supervisor{pods: pods, clock: c, restarter: saved.Restarter, made: map[string]pleg.Container{}}
	s.policy.RestartPolicy = backoff.RestartPolicyOnFailure
	s.cache = statuscache.New[string](statuscache.Options[*plegtest.Status]{Clock: c})
	var err error
	if s.gen, err = pleg.NewGenerator(rt, s.cache, pleg.GeneratorOptions[string]{Stream: stream}); err != nil {
		return nil, err
	}
	s.exits, err = s.gen.ExitReader(pleg.ExitOptions[string]{Resume: saved.Position}) // before the first list
	return s, err
}

// A container that fails is started again, although the program is killed. The runtime
// and the clock are simulated, so each relist is asked for and each wait is a step of
// the clock. Otherwise call run, and the runtime's methods in create and start.
func Example_lifecycle() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "lifecycle")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "state.json")
	began := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakeClock(began)
	rt := plegtest.New[string](1, plegtest.Faults{})
	rt.SetClock(clock)

	program := func() (*supervisor, error) {
		restarter, err := backoff.NewRestarter(backoff.ExitPolicy{}, backoff.RestarterOptions[string]{Clock: clock})
		if err != nil {
			return nil, err
		}
		saved := state{Restarter: restarter}
		if _, err := statefile.Load(file, &saved); err != nil {
			return nil, err
		}
		s, err := newSupervisor(clock, rt, nil, saved, "web")
		if err != nil {
			return nil, err
		}
		s.create = func(pod string, run int64) (pleg.Container, error) {
			c := pleg.Container{ID: fmt.Sprint(pod, "-", run), Name: "main", Attempt: run - 1}
			rt.CreateContainer(pod, c)
			return c, nil
		}
		s.start = func(pod, container string) error {
			rt.Start(pod, container)
			return nil
		}
		s.save = func(st state) error { return statefile.Save(file, st) }
		s.decided = func(e pleg.Exit[string], exit backoff.Exit, d backoff.Decision) {
			fmt.Printf("%v: %s (%s): %s\n", clock.Since(began), e.Container, e.Source, d.Reason(s.policy, exit))
		}
		return s, s.begin(ctx)
	}

	s, err := program()
	for run := 1; err == nil && run <= 4; run++ {
		clock.Step(5 * time.Second)
		switch id := fmt.Sprint("web-", run); run {
		case 1, 2:
			rt.ExitCode("web", id, 1)
		case 3: // the program is killed, and the container removed meanwhile
			rt.Remove("web", id)
			s, err = program()
		case 4:
			rt.ExitCode("web", id, 0)
		}
		s.gen.Relist(ctx)
		for e, ok := s.exits.TryNext(); ok && err == nil; e, ok = s.exits.TryNext() {
			err = s.exited(e)
		}
		wait, _ := s.startDue()
		clock.Step(wait)
		s.startDue()
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// 5s: web-1 (shown): exit code 1 (Error) under restartPolicy OnFailure: restarts in 10s (failure 1 in a row)
	// 20s: web-2 (shown): exit code 1 (Error) under restartPolicy OnFailure: restarts in 20s (failure 2 in a row)
	// 45s: web-3 (inferred): exit code 137 (ContainerStatusUnknown) under restartPolicy OnFailure: restarts in 40s (failure 3 in a row)
	// 1m30s: web-4 (shown): exit code 0 (Completed) under restartPolicy OnFailure: not restarted
}
