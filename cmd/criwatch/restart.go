package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/policyfile"
	"github.com/restartkit/restart/cmd/internal/restartstate"
	"github.com/restartkit/restart/cmd/internal/statefolder"
	"github.com/restartkit/restart/cmd/internal/terminal"
	"github.com/restartkit/restart/pleg"
)

// A crashLoop restarts the exited containers of a runtime.
//
// The generator's reader yields each exit once, the Restarter decides on it, and the
// exit and the decision are written to the state. After the decision's wait, the next
// attempt is created and started. Restarts are not written to the state because the
// runtime lists them. So the program may end at any point. Afterwards an exit missing
// from the state is decided again, and an exit whose next attempt exists is left alone.
//
// mu guards the fields below it.
type crashLoop struct {
	*watch
	policy  *policy
	rows    *rowWriter
	store   *statefolder.Store // nil to persist nothing
	about   identity           // of the state
	back    *backoff.Restarter[key]
	retries *backoff.Tracker[key] // of starts that the runtime refuses
	wake    chan struct{}         // the tasks have changed
	notes   io.Writer             // for the explanations of -explain, or nil
	away    atomic.Bool           // the runtime did not answer

	mu    sync.Mutex
	tasks map[key]*task
	pace  *pacer
	busy  int // starts under way, except slow ones
}

// newCrashLoop returns a crashLoop that continues from the state of an earlier run, if
// any.
func newCrashLoop(w *watch, p *policy, rows *rowWriter, s *statefolder.Store, about identity, before *restartState) (*crashLoop, error) {
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
	inOrder := make([]key, 0, len(before.Containers)) // by turn
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
		if err := l.back.Restore(k, *saved.Backoff); err != nil {
			return nil, s.Unusable(restartstate.At("containers."+k.String()+".backoff", err))
		}
		b, _ := l.back.State(k)
		t := &task{key: k, sandbox: saved.Sandbox}
		t.show(saved.Container, uint32(b.Last.Run-1), pleg.StateExited, time.Time{})
		t.decide(saved.Container, b.Last, b.Decision)
		l.tasks[k] = t
	}
	return l, nil
}

// run restarts containers until ctx ends or the output fails. When it returns, its
// goroutines have ended, and every container it created is started unless the runtime
// is stuck.
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

// readExits decides on every exit. Only this goroutine reads exits and writes the
// state, so a saved position never includes an undecided exit. It waits for the first
// relist, because exits left over from the last run arrive before the pods are known.
func (l *crashLoop) readExits(ctx context.Context) {
	if !l.listed(ctx) {
		return
	}
	l.look(pleg.Event[string]{Type: pleg.PodSync})
	e, ok := l.exits.TryNext()
	for {
		l.mu.Lock()
		for ; ok; e, ok = l.exits.TryNext() {
			l.exited(e)
		}
		l.decideUnread()
		l.save()
		l.changed()
		l.mu.Unlock()
		var err error
		if e, err = l.exits.Next(ctx); err != nil {
			return
		}
		ok = true
	}
}

// decideUnread decides on exits that no reader yields, because the policy of the last
// run left their containers alone.
func (l *crashLoop) decideUnread() {
	for _, t := range l.tasks {
		st := l.cache.Get(t.sandbox).Status
		if t.state != pleg.StateExited || t.decided == t.container || st == nil {
			continue
		}
		for _, c := range st.containers {
			if c.Id == t.container && c.State == cri.ContainerState_CONTAINER_EXITED {
				l.exited(pleg.Exit[string]{Pod: t.sandbox, Container: c.Id, Known: true, Details: exitDetails(c)})
			}
		}
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
	if !e.Known { // a removed container, whose configuration is gone with it
		l.lookAt(e.Pod)
		return
	}
	k, ok := l.keyOf(e.Pod, e.Details.Name)
	entry := l.policy.of(k)
	if !ok || entry == nil {
		return
	}
	exit := e.Backoff(e.Details.Attempt + 1)
	t := l.task(k, e.Pod)
	order := l.compareSandboxes(e.Pod, t.sandbox)
	if order < 0 {
		return // a newer sandbox has replaced the pod, and its attempts may start over
	}
	if t.decided != "" && t.decided != e.Container && exit.Run == t.exit.Run && exit.Finished.After(t.exit.Finished) {
		l.startOver(k)
	}
	d := l.back.Exited(k, entry.container, exit)
	if a := uint32(e.Details.Attempt); t.container == "" || order > 0 || a > t.attempt || a == t.attempt && t.state == pleg.StateExited {
		t.sandbox = e.Pod
		t.show(e.Container, a, pleg.StateExited, e.Details.Started)
	}
	if t.container == e.Container || t.state <= pleg.StateCreated && int64(t.attempt) == exit.Run {
		if t.decided != e.Container {
			l.explain(k, entry.container, exit, d)
		}
		t.decide(e.Container, exit, d)
		l.retries.Reset(k)
	} else if t.decided == "" || exit.Run > t.exit.Run { // another program has started the next attempt
		t.exit, t.decided = exit, e.Container
	}
	l.print(t)
}

// explain prints the reasons of a decision if -explain is set.
func (l *crashLoop) explain(k key, policy backoff.ExitPolicy, e backoff.Exit, d backoff.Decision) {
	if l.notes == nil {
		return
	}
	for _, line := range policyfile.Explain(d, policy, e) {
		fmt.Fprintf(l.notes, "criwatch: %s\n", terminal.Escape(k.String()+": "+line))
	}
}

// startOver prepares for an exit that repeats the attempt of the last one. It raises
// the last attempt, so that the Restarter sees the next one start over and takes it as
// new. The failures in a row go on.
func (l *crashLoop) startOver(k key) {
	if b, ok := l.back.State(k); ok {
		b.Last.Run++
		if err := l.back.Restore(k, b); err != nil {
			l.log.Warn("its failures are counted anew", "container", k, "error", err)
			l.back.Reset(k)
		}
	}
}

// compareSandboxes compares two sandboxes of a pod by creation time. The newer one is
// the current one, and a removed one is older than any other.
func (l *crashLoop) compareSandboxes(a, b string) int {
	if a == b {
		return 0
	}
	created := func(pod string) time.Time {
		if st := l.cache.Get(pod).Status; st != nil {
			return stamp(st.sandbox.GetCreatedAt())
		}
		return time.Time{}
	}
	return created(a).Compare(created(b))
}

// keyOf returns the key of a container in a pod that exists or has a task.
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

// task returns the task of a container, created if necessary.
func (l *crashLoop) task(k key, sandbox string) *task {
	t := l.tasks[k]
	if t == nil {
		t = &task{key: k, sandbox: sandbox}
		l.tasks[k] = t
	}
	return t
}

// save writes the state. It warns about the first failure only.
func (l *crashLoop) save() {
	if l.store == nil {
		return
	}
	at := l.exits.Position()
	st := restartState{Node: l.about, Position: &at, Containers: map[key]savedTask{}}
	for k, t := range l.tasks {
		if b, ok := l.back.State(k); ok {
			st.Containers[k] = savedTask{Sandbox: t.sandbox, Container: t.decided, Backoff: &b}
		}
	}
	l.store.Save(st, func(err error) { l.log.Warn("-state", "error", err) })
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
