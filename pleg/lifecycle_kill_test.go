package pleg_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// The supervisor of example_lifecycle_test.go survives being killed at every step, while
// containers exit, are removed, and come and go. In each history:
//
//  1. every decided restart happens, unless its container was removed before its start;
//  2. no run is started twice, or without a decision;
//  3. no restart comes before the end of its wait;
//  4. every exit is decided on once in the saved state, and none that did not happen;
//  5. an exit whose details the runtime still has is decided on with its exit code.
func TestLifecycleSurvivesKills(t *testing.T) {
	if testing.Short() {
		surviveKills(t, 0, 100)
		return
	}
	counts := surviveKills(t, 0, 400)
	for _, what := range []string{
		"exits known", "exits unknown", "ended while dead", "removed while dead", "removed before its start", "decided again",
		"kill before create", "kill after create", "kill before save", "kill after save", "kill before start", "kill after start",
		"kill before decision", "kill after decision", "kill in Pods", "kill in Pod", "kill while waiting", "lives ended by an error",
	} {
		if counts[what] == 0 {
			t.Errorf("no %s", what)
		}
	}
}

// surviveKills runs n histories with the seeds from first on, in parallel, and returns what
// happened in them.
func surviveKills(t *testing.T, first, n uint64) (counts map[string]int) {
	const parts = 4
	var mu sync.Mutex
	counts = map[string]int{}
	t.Run("histories", func(t *testing.T) {
		for part := range uint64(parts) {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				for seed := first + part; seed < first+n; seed += parts {
					l := &lifecycle{seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), counts: map[string]int{}, pods: map[string]*podRuns{}}
					synctest.Test(t, l.history)
					if t.Failed() {
						return
					}
					mu.Lock()
					for what, n := range l.counts {
						counts[what] += n
					}
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d histories: %v", n, counts)
	return counts
}

// A lifecycle is one history: a runtime, and a program that is killed and started again.
type lifecycle struct {
	*testing.T
	seed uint64
	rt   *plegtest.Runtime[string]

	mu     sync.Mutex
	rng    *rand.Rand
	saved  []byte
	pods   map[string]*podRuns
	ids    int
	log    []string
	counts map[string]int
	began  time.Time
	quiet  bool               // nothing happens to containers, and there are no kills
	left   int                // steps until the kill; 0 if none is planned
	dead   bool               // the program is killed
	kill   context.CancelFunc // ends everything that the program has started
}

// podRuns is the truth about the runs in one pod.
type podRuns struct {
	containers []pleg.Container // in the runtime
	started    map[int64]bool
	ended      map[int64]int32 // exit codes; removed if the exit could not be seen
	decisions  map[int64]backoff.Decision
}

// removed is the exit code of a container that was removed before it exited.
const removed = -1

// killed is the panic of a killed program.
type killed struct{}

// history runs one history.
func (l *lifecycle) history(t *testing.T) {
	l.T, l.began = t, time.Now()
	defer func() {
		if t.Failed() {
			t.Logf("history %d:\n%s", l.seed, strings.Join(l.log, "\n"))
		}
	}()
	l.rt = plegtest.New[string](l.rng.Uint64(), plegtest.Faults{})
	faults := plegtest.Faults{Drop: 0.2, Late: 0.2}
	if l.rng.IntN(3) == 0 {
		faults.Error = 0.05
	}
	l.rt.SetFaults(faults)
	names := []string{"p", "q", "r"}[:1+l.rng.IntN(3)]
	for _, pod := range names {
		l.pods[pod] = &podRuns{started: map[int64]bool{}, ended: map[int64]int32{}, decisions: map[int64]backoff.Decision{}}
	}
	for range 3 + l.rng.IntN(6) {
		l.life(names, false)
		for range l.rng.IntN(5) {
			time.Sleep(l.upTo(2 * time.Second))
			l.mu.Lock()
			l.happen("dead")
			l.mu.Unlock()
		}
	}
	l.rt.SetFaults(plegtest.Faults{})
	l.quiet = true
	l.life(names, true)
}

func (l *lifecycle) upTo(d time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(l.rng.Int64N(int64(d)))
}

// life runs the program until it is killed, or until all restarts are over in the last
// life.
func (l *lifecycle) life(names []string, last bool) {
	ctx, cancel := context.WithCancel(l.Context())
	l.mu.Lock()
	l.dead, l.kill, l.left = false, cancel, 0
	steps := 60
	if !last {
		steps = 1 + l.rng.IntN(20)
		if l.rng.IntN(8) > 0 {
			l.left = 1 + l.rng.IntN(30)
		}
	}
	l.note("the program begins")
	l.mu.Unlock()
	s := l.program(names)
	ended := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			if p := recover(); p != nil && p != (killed{}) {
				panic(p)
			}
			ended <- err
		}()
		err = s.run(ctx)
	}()
	for range steps {
		time.Sleep(l.upTo(time.Second))
		synctest.Wait()
		l.mu.Lock()
		l.happen("alive")
		over := l.dead || len(ended) > 0
		l.mu.Unlock()
		if over {
			break
		}
	}
	if last {
		l.settled(s)
	}
	l.mu.Lock()
	if !last && !l.dead && len(ended) == 0 {
		l.die("while waiting")
	}
	l.dead = true
	l.mu.Unlock()
	cancel()
	err := <-ended
	if err != nil && !errors.Is(err, context.Canceled) {
		l.counts["lives ended by an error"]++
		l.note("the program ends: %v", err)
		if last {
			l.Errorf("the last life ended: %v", err)
		}
	}
	s.cache.Close()
	synctest.Wait()
}

// program returns the program as of the last saved state.
func (l *lifecycle) program(names []string) *supervisor {
	// The smallest jitter calls Rand once before each decision. The number 0 keeps delays
	// whole.
	curve := backoff.Policy{Initial: time.Second, Max: 8 * time.Second, Jitter: math.SmallestNonzeroFloat64, ResetAfter: time.Hour}
	restarter, err := backoff.NewRestarter(backoff.ExitPolicy{Delay: &curve}, backoff.RestarterOptions[string]{
		Rand: func() float64 {
			l.step("before decision")
			return 0
		},
	})
	if err != nil {
		l.Fatal(err)
	}
	saved := state{Restarter: restarter}
	if l.saved != nil {
		left := l.left
		l.left = 0
		if err := json.Unmarshal(l.saved, &saved); err != nil {
			l.Fatal(err)
		}
		l.left = left
	}
	rt := &witness{l.rt, l}
	var stream pleg.Streamer[string]
	if l.rng.IntN(2) == 0 {
		stream = l.rt
	}
	s, err := newSupervisor(clock.RealClock{}, rt, stream, saved, names...)
	if err != nil {
		l.Fatal(err)
	}
	s.create = l.create
	s.start = l.start
	s.decided = l.decided
	s.save = func(st state) error {
		text, err := json.Marshal(st)
		if err != nil {
			return err
		}
		l.step("before save")
		l.mu.Lock()
		l.saved = text
		l.note("saved")
		l.mu.Unlock()
		l.step("after save")
		return nil
	}
	return s
}

// A witness passes the program's calls of the runtime on.
type witness struct {
	*plegtest.Runtime[string]
	l *lifecycle
}

func (w *witness) Pods(ctx context.Context) ([]pleg.Pod[string], error) {
	if w.l.call("in Pods") {
		return nil, context.Canceled
	}
	return w.Runtime.Pods(ctx)
}

func (w *witness) Pod(ctx context.Context, pod string) (pleg.Pod[string], *plegtest.Status, error) {
	if w.l.call("in Pod") {
		return pleg.Pod[string]{}, nil, context.Canceled
	}
	return w.Runtime.Pod(ctx, pod)
}

// note adds a line to the log. The caller holds the lock.
func (l *lifecycle) note(format string, args ...any) {
	l.log = append(l.log, fmt.Sprintf("%7.3f ", time.Since(l.began).Seconds())+fmt.Sprintf(format, args...))
}

// die kills the program. The caller holds the lock.
func (l *lifecycle) die(where string) {
	l.dead = true
	l.counts["kill "+where]++
	l.note("killed %s", where)
	l.kill()
}

// pass makes a step, and reports whether the program is dead. The caller holds the lock.
func (l *lifecycle) pass(where string) (dead bool) {
	if l.dead {
		return true
	}
	if l.left == 1 {
		l.die(where)
	}
	l.left = max(l.left-1, 0)
	if l.rng.IntN(4) == 0 {
		l.happen(where)
	}
	return l.dead
}

// step is a step of the program's goroutine, which may be its last.
func (l *lifecycle) step(where string) {
	l.mu.Lock()
	dead := l.pass(where)
	l.mu.Unlock()
	if dead {
		panic(killed{})
	}
}

// call is a step of one of the Generator's goroutines. Only some of them may be the
// last, because they are many.
func (l *lifecycle) call(where string) (dead bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.dead && l.rng.IntN(3) > 0 {
		return false
	}
	return l.pass(where)
}

// create is the supervisor's create. The runtime chooses the id.
func (l *lifecycle) create(pod string, run int64) (pleg.Container, error) {
	l.step("before create")
	l.mu.Lock()
	l.ids++
	c := pleg.Container{ID: fmt.Sprint("c", l.ids), Name: "main", Attempt: run - 1}
	l.rt.CreateContainer(pod, c)
	c.State = pleg.StateCreated
	p := l.pods[pod]
	p.containers = append(p.containers, c)
	if !p.started[run] {
		delete(p.ended, run) // of a container that was not in the saved state
	}
	l.note("%s/%s created, run %d", pod, c.ID, run)
	l.mu.Unlock()
	l.step("after create")
	return c, nil
}

// start is the supervisor's start.
func (l *lifecycle) start(pod, container string) error {
	l.step("before start")
	l.mu.Lock()
	p := l.pods[pod]
	i := slices.IndexFunc(p.containers, func(c pleg.Container) bool { return c.ID == container })
	if i < 0 {
		l.mu.Unlock()
		return fmt.Errorf("%s/%s is removed", pod, container)
	}
	run := p.containers[i].Attempt + 1
	before, decided := p.decisions[run-1]
	l.note("%s/%s started, run %d", pod, container, run)
	switch {
	case p.started[run]:
		l.Errorf("run %d of %s is started twice", run, pod)
	case run > 1 && (!decided || before.Action != backoff.ActionRestart):
		l.Errorf("run %d of %s is started after the decision %+v", run, pod, before)
	case run > 1 && time.Now().Before(before.NotBefore):
		l.Errorf("run %d of %s is started %v early", run, pod, time.Until(before.NotBefore))
	}
	p.started[run] = true
	p.containers[i].State = pleg.StateRunning
	if !l.rt.Start(pod, container) {
		l.Errorf("%s/%s is not there to start", pod, container)
	}
	l.mu.Unlock()
	l.step("after start")
	return nil
}

// decided is the supervisor's decided.
func (l *lifecycle) decided(e pleg.Exit[string], exit backoff.Exit, d backoff.Decision) {
	l.mu.Lock()
	p := l.pods[e.Pod]
	l.note("%s/%s, run %d: %s, code %d: %s after %v", e.Pod, e.Container, exit.Run, e.Source, exit.Code, d.Action, d.Delay)
	code, ended := p.ended[exit.Run]
	switch {
	case !ended:
		l.Errorf("run %d of %s has not ended", exit.Run, e.Pod)
	case e.Known && exit.Code != code:
		l.Errorf("run %d of %s has exit code %d, not %d", exit.Run, e.Pod, code, exit.Code)
	case !e.Known && slices.ContainsFunc(p.containers, func(c pleg.Container) bool { return c.ID == e.Container }):
		l.Errorf("the details of the exit of run %d of %s are there", exit.Run, e.Pod)
	case e.Lost > 0:
		l.Errorf("%d exits are lost", e.Lost)
	}
	if _, again := p.decisions[exit.Run]; again {
		l.counts["decided again"]++
	}
	p.decisions[exit.Run] = d
	if e.Known {
		l.counts["exits known"]++
	} else {
		l.counts["exits unknown"]++
	}
	l.mu.Unlock()
	l.step("after decision")
}

// happen does something to a container at random. The caller holds the lock.
func (l *lifecycle) happen(when string) {
	if l.quiet {
		return
	}
	names := slices.Sorted(maps.Keys(l.pods))
	pod := names[l.rng.IntN(len(names))]
	p := l.pods[pod]
	if len(p.containers) == 0 {
		return
	}
	i := l.rng.IntN(len(p.containers))
	c := &p.containers[i]
	ends, goes := l.rng.IntN(3) > 0, l.rng.IntN(3) == 0
	run := c.Attempt + 1
	if ends && c.State == pleg.StateRunning {
		code := int32(1)
		if l.rng.IntN(12) == 0 {
			code = 0
		}
		c.State = pleg.StateExited
		p.ended[run] = code
		l.rt.ExitCode(pod, c.ID, code)
		l.note("%s/%s exited, code %d", pod, c.ID, code)
		l.counts["ended while "+when]++
	}
	if !goes {
		return
	}
	if c.State < pleg.StateExited {
		p.ended[run] = removed
		if c.State == pleg.StateCreated {
			l.counts["removed before its start"]++
		}
	}
	l.rt.Remove(pod, c.ID)
	l.note("%s/%s removed", pod, c.ID)
	l.counts["removed while "+when]++
	p.containers = slices.Delete(p.containers, i, i+1)
}

// settled checks the end of the history.
func (l *lifecycle) settled(s *supervisor) {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for pod, p := range l.pods {
		st, _ := s.restarter.State(pod)
		last := st.Exit.Run
		for run := range max(last, int64(len(p.started))) {
			if _, ok := p.decisions[run+1]; !ok && (run+1 <= last || p.ended[run+1] != 0) {
				l.Errorf("run %d of %s was never decided on", run+1, pod)
			}
		}
		if st.Action == backoff.ActionRestart && int64(st.Failures) != last {
			l.Errorf("%s has %d failures after %d runs", pod, st.Failures, last)
		}
		var running []int64
		for _, c := range p.containers {
			if c.State < pleg.StateExited {
				running = append(running, c.Attempt+1)
			}
		}
		want := []int64{last + 1}
		if st.Action == backoff.ActionStop {
			want = nil
		}
		if !slices.Equal(running, want) || len(want) > 0 && !p.started[last+1] {
			l.Errorf("the runs %v of %s go on, want %v", running, pod, want)
		}
	}
}
