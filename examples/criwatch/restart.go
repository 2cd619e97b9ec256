package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/examples/internal/restartstate"
	"github.com/restartkit/restart/pleg"
)

// A crashLoop restarts the containers of a runtime that have exited.
//
// Each exit takes one way: the generator's reader yields it once, the Restarter decides
// on it, both are written to the state, and when its wait is over the next attempt is
// created and started. What was done is not written: the runtime lists it. So after the
// end of this program at any point an exit of which the state knows nothing is decided
// again, and one whose attempt exists already is not acted on again.
//
// Its methods may be called by several goroutines.
type crashLoop struct {
	*watch
	policy  *policy
	rows    *rowWriter
	store   *store   // nil: nothing is remembered
	about   identity // of the state
	back    *backoff.Restarter[key]
	retries *backoff.Tracker[key] // of starts that the runtime refuses
	wake    chan struct{}         // the tasks have changed

	mu    sync.Mutex
	tasks map[key]*task
	pace  *pacer
	busy  int // tasks that are being started
}

// mostStarts is how many containers are started at once.
const mostStarts = 8

// lastCalls is how long a start that is under way when the program ends may take.
const lastCalls = 10 * time.Second

// refused is the curve of retries where a runtime refuses to start a container.
var refused = backoff.Policy{Initial: 100 * time.Millisecond, Max: 10 * time.Second}

// newCrashLoop returns a crashLoop that goes on with the state of the one before.
func newCrashLoop(w *watch, p *policy, rows *rowWriter, s *store, about identity, before *restartState) (*crashLoop, error) {
	l := &crashLoop{watch: w, policy: p, rows: rows, store: s, about: about, wake: make(chan struct{}, 1), tasks: map[key]*task{}}
	l.pace = newPacer(p.Rate, p.Burst, before == nil, time.Now())
	var err error
	l.back, err = backoff.NewRestarter(p.resolution.Policy, backoff.RestarterOptions[key]{
		PolicyFor: p.curveOf, Limit: p.limit, Window: p.window, Rate: p.Rate, Burst: p.Burst,
	})
	if err != nil {
		return nil, err
	}
	if l.retries, err = backoff.NewTracker[key](refused, backoff.TrackerOptions{}); err != nil {
		return nil, err
	}
	if before == nil {
		return l, nil
	}
	inOrder := make([]key, 0, len(before.Containers)) // in which they take their turns
	for k := range before.Containers {
		inOrder = append(inOrder, k)
	}
	slices.SortFunc(inOrder, func(a, b key) int {
		x, y := before.Containers[a].Backoff.Decision.NotBefore, before.Containers[b].Backoff.Decision.NotBefore
		return cmp.Or(x.Compare(y), cmp.Compare(a.String(), b.String()))
	})
	for _, k := range inOrder {
		saved := before.Containers[k]
		if p.of(k) == nil {
			continue
		}
		if err := l.back.Restore(k, restartstate.ToClock(*saved.Backoff, time.Now())); err != nil {
			return nil, s.unusable(restartstate.At("containers."+k.String()+".backoff", err))
		}
		b, _ := l.back.State(k)
		t := &task{key: k, sandbox: saved.Sandbox}
		t.show(saved.Container, uint32(b.Last.Run-1), pleg.StateExited, time.Time{})
		t.decide(saved.Container, b.Last, b.Decision)
		l.tasks[k] = t
	}
	return l, nil
}

// run restarts containers until ctx ends or the output fails. It leaves no goroutine,
// and no container that it has created but not started, unless the runtime is stuck.
func (l *crashLoop) run(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var workers sync.WaitGroup
	workers.Go(func() { _ = l.gen.Run(ctx) }) // ends with ctx only
	workers.Go(func() { l.narrate(ctx) })
	workers.Go(func() { l.readExits(ctx) })
	workers.Go(func() {
		for e := range l.gen.Events(ctx) {
			l.look(e)
		}
	})
	workers.Go(func() {
		select {
		case <-l.rows.out.Broken():
			stop()
		case <-ctx.Done():
		}
	})
	l.startDue(ctx)
	workers.Wait()
	l.cache.Close()
}

// readExits decides on every exit. It alone reads the exits and writes the state, so
// that a position never knows of an exit that was not decided on.
func (l *crashLoop) readExits(ctx context.Context) {
	for {
		e, err := l.exits.Next(ctx)
		if err != nil {
			return
		}
		l.mu.Lock()
		for ok := true; ok; e, ok = l.exits.TryNext() {
			l.exited(e)
		}
		l.save()
		l.changed()
		l.mu.Unlock()
	}
}

// exited decides on an exit.
func (l *crashLoop) exited(e pleg.Exit[string]) {
	if e.Lost > 0 {
		l.log.Warn("exits were dropped", "number", e.Lost)
	}
	if e.Container == e.Pod {
		return // a sandbox, which only a kubelet can replace
	}
	if !e.Known { // it is gone, and with it what it could be started from
		l.lookAt(e.Pod)
		return
	}
	k, ok := l.keyOf(e.Pod, e.Details.Name)
	entry := l.policy.of(k)
	if !ok || entry == nil {
		return
	}
	exit := backoff.Exit{
		Run: e.Details.Attempt + 1, Code: e.Details.Code, Reason: e.Details.Reason,
		Started: e.Details.Started, Finished: e.Details.Finished,
	}
	d := l.back.Exited(k, entry.container, exit)
	t := l.task(k, e.Pod)
	if a := uint32(e.Details.Attempt); t.container == "" || a > t.attempt || a == t.attempt && t.state == pleg.StateExited {
		t.sandbox = e.Pod
		t.show(e.Container, a, pleg.StateExited, e.Details.Started)
	}
	if t.container == e.Container || t.state <= pleg.StateCreated && int64(t.attempt) == exit.Run {
		t.decide(e.Container, exit, d)
		l.retries.Reset(k)
	}
	l.print(t)
}

// keyOf returns the key of a container of a pod that is or was there.
func (l *crashLoop) keyOf(pod, name string) (key, bool) {
	if st := l.cache.Get(pod).Status; st != nil && st.sandbox.GetMetadata() != nil {
		m := st.sandbox.Metadata
		return key{m.Namespace, m.Name, m.Uid, name}, true
	}
	for k, t := range l.tasks {
		if t.sandbox == pod {
			k.Name = name
			return k, true
		}
	}
	return key{}, false
}

// task returns the task of a container, a new one if there is none.
func (l *crashLoop) task(k key, sandbox string) *task {
	t := l.tasks[k]
	if t == nil {
		t = &task{key: k, sandbox: sandbox}
		l.tasks[k] = t
	}
	return t
}

// look looks at what an event is about.
func (l *crashLoop) look(e pleg.Event[string]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Pod != "" {
		l.lookAt(e.Pod)
		return
	}
	for pod := range l.cache.All() {
		l.lookAt(pod)
	}
	l.sweep()
}

// sweep forgets the containers of pods that are gone, as a full list has shown.
func (l *crashLoop) sweep() {
	for _, t := range l.tasks {
		if !l.cache.Get(t.sandbox).Present {
			l.lookAt(t.sandbox)
		}
	}
}

// lookAt brings the tasks of a pod up to what the cache shows: somebody else may start
// containers, and remove them.
func (l *crashLoop) lookAt(pod string) {
	there := map[string]bool{}
	entry := l.cache.Get(pod)
	if entry.Present && entry.Status == nil {
		return // nobody could look yet
	}
	if entry.Present {
		all := slices.Clone(entry.Status.containers)
		slices.SortFunc(all, func(a, b *containerStatus) int { return compareAttempts(a, b) })
		for _, c := range all {
			name := c.GetMetadata().GetName()
			there[name] = true
			k, ok := l.keyOf(pod, name)
			if !ok || l.policy.of(k) == nil {
				continue
			}
			t := l.task(k, pod)
			if t.container != c.Id && !t.precedes(c) {
				continue
			}
			t.sandbox = pod
			t.show(c.Id, c.GetMetadata().GetAttempt(), containerState(c.State), stamp(c.StartedAt))
			l.print(t)
		}
	}
	for k, t := range l.tasks {
		if t.sandbox == pod && !there[k.Name] && !t.busy {
			t.gone = true
			l.print(t)
			delete(l.tasks, k)
			l.back.Reset(k)
			l.retries.Reset(k)
		}
	}
	l.changed()
}

// startDue starts the containers whose wait is over, until ctx ends and no start is
// under way any more.
func (l *crashLoop) startDue(ctx context.Context) {
	var starts sync.WaitGroup
	defer starts.Wait()
	for l.gen.Stats().Relists == 0 { // what a state says may be long over
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	l.look(pleg.Event[string]{Type: pleg.PodSync})
	for {
		l.mu.Lock()
		due, wait := l.due(time.Now())
		for _, t := range due {
			t.busy = true
			l.busy++
			l.pace.take(time.Now())
			from := *t
			starts.Go(func() { l.start(ctx, from) })
		}
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case <-time.After(wait):
		}
	}
}

// due returns the tasks to be started now, those whose wait ended first before others,
// and how long to wait for the next.
func (l *crashLoop) due(now time.Time) (due []*task, wait time.Duration) {
	wait = time.Hour
	var ready []*task
	for k, t := range l.tasks {
		if !t.pending || t.busy {
			continue
		}
		if left := max(l.back.Remaining(k), t.retry.Sub(now)); left > 0 {
			wait = min(wait, left)
		} else {
			ready = append(ready, t)
		}
	}
	slices.SortFunc(ready, func(a, b *task) int {
		return cmp.Or(a.decision.NotBefore.Compare(b.decision.NotBefore), cmp.Compare(a.key.String(), b.key.String()))
	})
	pace := *l.pace
	for _, t := range ready {
		if left := pace.wait(now); left > 0 {
			return due, min(wait, left)
		}
		if l.busy+len(due) >= mostStarts {
			return due, wait // the end of a start wakes the loop
		}
		pace.take(now)
		due = append(due, t)
	}
	return due, wait
}

// start starts the next attempt of a task, as it was when it was due.
func (l *crashLoop) start(ctx context.Context, from task) {
	if ctx.Err() != nil {
		return
	}
	calls, done := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer done()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastCalls, done) })()
	id, err := l.node.restart(calls, from.sandbox, from.key.Name, from.exited())

	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.changed()
	l.busy--
	t := l.tasks[from.key]
	if t == nil {
		return
	}
	t.busy = false
	if t.decided != from.decided {
		return // the exit of the next attempt has come already
	}
	switch {
	case err == nil:
		l.retries.Reset(t.key)
		t.show(id, from.exited()+1, pleg.StateRunning, time.Now())
	case errors.Is(err, errSuperseded), errors.Is(err, errGone), errors.Is(err, errNotReady), errors.Is(err, errNoConfig):
		t.pending, t.trouble = false, failureWord(err)
		l.log.Warn("not restarted", "container", t.key, "attempt", from.exited()+1, "reason", err)
		l.gen.RequestRelist(t.sandbox)
		l.lookAt(t.sandbox)
		return
	default:
		l.retry(t, err)
	}
	l.print(t)
}

// retry tries a start again after a while that grows, unless the runtime is away: then
// soon, since it refuses nothing.
func (l *crashLoop) retry(t *task, err error) {
	delay := 250 * time.Millisecond
	if c := grpcstatus.Code(err); c != codes.Unavailable && c != codes.Canceled && c != codes.DeadlineExceeded {
		l.retries.Next(t.key, time.Now())
		delay = l.retries.Get(t.key)
	}
	t.retry = time.Now().Add(delay)
	if word := failureWord(err); t.trouble != word {
		t.trouble = word
		l.log.Warn("cannot be started yet", "container", t.key, "attempt", t.exited()+1, "error", err)
	}
}

// save writes the state. It warns once if that fails.
func (l *crashLoop) save() {
	if l.store == nil {
		return
	}
	at := l.exits.Position()
	st := restartState{Version: stateVersion, Node: l.about, Position: &at, Containers: map[key]savedTask{}}
	for k, t := range l.tasks {
		if b, ok := l.back.State(k); ok {
			st.Containers[k] = savedTask{Sandbox: t.sandbox, Container: t.decided, Backoff: &b}
		}
	}
	err := l.store.write(st)
	if err != nil && !l.store.bad {
		l.log.Warn("-state", "error", err)
	}
	l.store.bad = err != nil
}

// changed wakes the loop that starts containers.
func (l *crashLoop) changed() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// print prints a task's row if it has changed.
func (l *crashLoop) print(t *task) {
	now := time.Now()
	if r := t.row(now, l.back.Remaining(t.key)); r.state != "" && !t.printed.same(r) {
		t.printed = r
		l.rows.row(now, r)
	}
}
