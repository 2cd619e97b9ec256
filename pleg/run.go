package pleg

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/restartkit/restart/pleg/internal/queue"
)

// Run fills the cache and reports changes until ctx ends or the cache is closed. It
// returns the context's error or ErrClosed after all its calls have returned. If a call
// of the Runtime panics, so does Run. A later Run continues where the last one ended.
func (g *Generator[K, S]) Run(ctx context.Context) error {
	g.mu.Lock()
	again := g.running
	g.running = true
	g.mu.Unlock()
	if again {
		return errors.New("pleg: Run: already running")
	}
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.running = false
	}()
	return g.makeCalls(ctx, true, nil)
}

// Relist makes a full list that begins now and includes failing pods, and waits for its
// end. The error is the list's, the context's or ErrClosed; errors of single pods are in
// their entries. Relist also works without Run.
func (g *Generator[K, S]) Relist(ctx context.Context) error {
	w := &relistWaiter{done: make(chan error, 1)}
	g.mu.Lock()
	w.since = g.tick()
	g.sched.waiters = append(g.sched.waiters, w)
	g.mu.Unlock()
	queue.Signal(g.wake)
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.sched.dropWaiter(w)
	}()
	return g.makeCalls(ctx, false, w.done)
}

// A caller makes due calls. At most one exists at a time, for Run or for a
// Relist without Run.
type caller[K comparable, S any] struct {
	g        *Generator[K, S]
	running  bool            // for Run
	stop     <-chan struct{} // closed when the calls are cancelled
	inFlight map[tick]*call[K]
	answers  chan answer[K, S]
	streams  chan streamEnd // receives the end of the stream
	working  sync.WaitGroup
}

// A call is a call in progress.
type call[K comparable] struct {
	question question[K]
	cancel   context.CancelFunc
	late     bool // cancelled at its deadline
}

// A streamEnd is the end of a call of Events.
type streamEnd struct {
	err      error
	panicked any
}

// makeCalls waits until no other goroutine makes calls, and then makes them until done
// receives, ctx ends or the cache is closed.
func (g *Generator[K, S]) makeCalls(ctx context.Context, running bool, done <-chan error) error {
	if queue.IsClosed(g.writer.Done()) { // otherwise the select below could start one more call
		return ErrClosed
	}
	select {
	case g.calling <- struct{}{}:
	case err := <-done:
		return err
	case <-g.writer.Done():
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	inner, cancel := context.WithCancel(ctx)
	a := &caller[K, S]{g: g, running: running, stop: inner.Done(), inFlight: map[tick]*call[K]{}, answers: make(chan answer[K, S]), streams: make(chan streamEnd)}
	// Each of these runs even if one before it panics, as a Merge of the caller's may.
	defer func() { <-g.calling }()
	defer g.abandon()
	defer a.drain()
	defer cancel()
	timer := g.writer.Clock().NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(a.advance(inner))
		select {
		case err := <-done:
			return err
		case <-g.writer.Done():
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		case x := <-a.answers:
			a.handle(x)
		case end := <-a.streams:
			a.streamEnded(end)
		case <-timer.C():
		case <-g.wake:
		case <-g.writer.WaitBegan():
		}
	}
}

// advance does the work that is due, and returns how long to wait for the next answer or
// event.
func (a *caller[K, S]) advance(ctx context.Context) time.Duration {
	a.expire()
	p := a.plan()
	for p.listDone {
		a.g.writer.UpdateTime(p.listStart) // it may wake thousands
		a.finishList()
		p = a.plan()
	}
	if p.connect {
		a.working.Go(func() { a.listen(ctx) })
	}
	for _, q := range p.calls {
		ctx, cancel := context.WithCancel(ctx)
		a.inFlight[q.began] = &call[K]{question: q, cancel: cancel}
		a.working.Go(func() { a.call(ctx, q) })
	}
	next := p.next
	for _, c := range a.inFlight {
		if !c.late {
			next = next.or(wakeAt(c.question.deadline))
		}
	}
	if !next.set {
		return time.Hour
	}
	return next.at.Sub(p.now)
}

// expire cancels the calls whose deadline has passed.
func (a *caller[K, S]) expire() {
	a.g.mu.Lock()
	defer a.g.mu.Unlock()
	now := a.g.clock()
	for _, c := range a.inFlight {
		if c.late || c.question.deadline.After(now) {
			continue
		}
		c.late = true
		c.cancel()
		if !c.question.list {
			a.g.inspectionLate(c.question.pod, now)
		}
	}
}

// A plan lists the work to do now.
type plan[K comparable] struct {
	now       time.Time
	calls     []question[K] // to make
	connect   bool          // open the stream
	listDone  bool          // a full list has ended; make another plan once its start is the global time
	listStart time.Time
	next      wakeup // the latest time of the next plan
}

// plan decides on the work to do now.
func (a *caller[K, S]) plan() (p plan[K]) {
	g := a.g
	g.mu.Lock()
	defer g.mu.Unlock()
	p.now = g.clock()
	if p.listStart, p.listDone = g.sched.listDone(); p.listDone {
		return p
	}
	if a.running {
		overdue, at, waiting := g.writer.Overdue(p.now, g.o.WaitLimit)
		var none K
		for _, key := range overdue {
			if key == none { // no pod, so only a full list can answer
				g.sched.wanted = true
				continue
			}
			g.record(key)
			g.sched.want(key, true)
		}
		p.next = wakeup{at, waiting}
		if g.stream != nil {
			if p.connect = g.streamed.connect(p.now); p.connect {
				g.stats.ConnectionError = nil
			}
			if g.streamed.prove(p.now) {
				g.stats.Connections++
			}
			p.next = p.next.or(g.streamed.next())
		}
	}
	g.rely(p.now)
	p.next = p.next.or(g.countMissed(p.now))
	p.calls = g.sched.begin(p.now, a.running, g.period(), g.tick)
	p.next = p.next.or(g.sched.wakeup(a.running, g.period()))
	return p
}

// rely decides whether to rely on the stream.
func (g *Generator[K, S]) rely(now time.Time) {
	if reliable := g.streamed.reliable(); reliable != g.relying {
		g.relying, g.changed = reliable, now
	}
}

// period returns the period in force between full lists.
func (g *Generator[K, S]) period() time.Duration {
	if g.relying {
		return g.o.EventedPeriod
	}
	return g.o.RelistPeriod
}

func (a *caller[K, S]) finishList() {
	a.g.mu.Lock()
	defer a.g.mu.Unlock()
	a.g.finishList(a.g.clock())
}

// listen follows the stream until it ends.
func (a *caller[K, S]) listen(ctx context.Context) {
	end := streamEnd{err: errors.New("pleg: Events: the call did not return")}
	defer func() {
		end.panicked = recover()
		select {
		case a.streams <- end:
		case <-a.stop:
		}
	}()
	end.err = a.g.stream.Events(ctx, a.g.event)
}

// call makes one call. It sends an answer even if the call panics or ends the goroutine.
func (a *caller[K, S]) call(ctx context.Context, q question[K]) {
	x := answer[K, S]{question: q, err: errors.New("pleg: the call did not return")}
	defer func() {
		x.panicked = recover()
		a.answers <- x
	}()
	if q.list {
		x.pods, x.err = a.g.runtime.Pods(ctx)
		return
	}
	x.pods = make([]Pod[K], 1)
	x.pods[0], x.status, x.err = a.g.runtime.Pod(ctx, q.pod)
}

func (a *caller[K, S]) handle(x answer[K, S]) {
	if x.panicked != nil {
		panic(x.panicked)
	}
	g := a.g
	c := a.inFlight[x.question.began]
	c.cancel()
	delete(a.inFlight, x.question.began)
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock()
	switch {
	case !x.question.list:
		g.inspectionAnswered(x, now)
	case c.late && x.err != nil:
		err := fmt.Errorf("pleg: Pods: no answer within %v: %w", g.o.RelistThreshold, context.DeadlineExceeded)
		g.listAnswered(nil, err, now)
	default:
		g.listAnswered(x.pods, x.err, now)
	}
}

// streamEnded handles the end of the stream.
func (a *caller[K, S]) streamEnded(end streamEnd) {
	if end.panicked != nil {
		panic(end.panicked)
	}
	g := a.g
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock()
	g.stats.ConnectionErrors++
	g.stats.ConnectionError = end.err
	if g.streamed.ended(now, end.err) {
		g.sched.wanted = true
	}
	g.rely(now)
}

// drain waits for the cancelled calls and handles the answers that still arrive, because
// every container in an answer has an exit.
func (a *caller[K, S]) drain() {
	go func() {
		a.working.Wait()
		close(a.answers)
	}()
	defer func() {
		for range a.answers { // after a panic below, lets the other calls end
		}
	}()
	for x := range a.answers {
		if x.panicked == nil && (x.err == nil || errors.Is(x.err, ErrNotFound)) {
			a.handle(x)
		}
	}
}

// abandon drops the calls and the stream at the end of Run or Relist.
func (g *Generator[K, S]) abandon() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sched.abandon()
	g.streamed.reset()
	g.rely(g.clock())
}
