package main

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/restartkit/restart/examples/internal/process"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/pleg"
)

// runner runs a Job: it asks the Engine what to do, does it to pods made of
// processes, and asks again when a pod has changed or a delay is over. It plays
// the API server too: what the Engine wants written is the Job and the pods held
// here. Only run's goroutine touches them; pods tell their status through the
// cache.
type runner struct {
	engine jobpolicy.Engine
	job    *jobpolicy.Job
	memory jobpolicy.Memory
	pods   map[string]*pod // by UID
	host   *host
	cache  *pleg.Cache[string, *jobpolicy.PodStatus]
	report *report

	begun       time.Time
	attempts    map[int]int    // begun, by index
	live        sync.WaitGroup // pods that run
	disruptions disruptions    // to come
	interrupted bool
	suspended   []*pod // ended by the interruption
}

func newRunner(engine jobpolicy.Engine, m *manifest, h *host, report *report) *runner {
	r := &runner{
		engine: engine,
		job:    m.job,
		pods:   make(map[string]*pod),
		host:   h,
		// Every key has one writer, whose clock may stand still between two writes.
		cache:    pleg.NewCache[string](pleg.CacheOptions[*jobpolicy.PodStatus]{AcceptEqual: true}),
		report:   report,
		begun:    time.Now(),
		attempts: make(map[int]int),
	}
	h.publish = func(uid string, status *jobpolicy.PodStatus) { r.cache.Set(uid, status, nil, time.Now()) }
	return r
}

// Between two plans lies at least minGap, and planShare times what the first one
// took: a plan answers all that happened meanwhile rather than a single exit,
// and planning leaves the machine to the processes. Without this a Job of 3000
// processes at once spends half of its time on plans.
const (
	minGap    = time.Millisecond
	planShare = 4
)

// run runs the Job to its end, from what an earlier run left if old is not nil,
// or until it is interrupted; no process is left then. The first interruption
// suspends the Job, which ends its pods with their grace period; a second one ends
// them at once.
func (r *runner) run(old *state, interrupts <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	changed := r.watch(ctx)
	if err := r.begin(old); err != nil {
		return err
	}
	defer r.killAll()
	for cost := minGap; ; {
		began := time.Now()
		busy, requeue, err := r.step(began)
		if err != nil {
			return err
		}
		if !r.running() {
			if _, finished := r.job.Status.Finished(); finished || !busy && requeue == 0 {
				return r.save(true)
			}
		}
		cost = min(time.Since(began), 2*cost) // a single long one was cut off by something else
		gap := max(minGap, planShare*cost)
		if busy {
			requeue = gap
		}
		r.wait(changed, interrupts, requeue)
		time.Sleep(time.Until(began.Add(gap)))
	}
}

// begin starts the guard of the processes, after all that belongs to an earlier run,
// and what that run had begun.
func (r *runner) begin(old *state) (err error) {
	var live []*pod
	if old != nil {
		if live, err = r.resume(old); err != nil {
			return err
		}
	}
	h := r.host
	if err := h.store.begin(r.pods); err != nil {
		return err
	}
	options := h.store.options()
	options.Report = func(text string) { r.report.event("", "%s", text) }
	if h.children, err = process.New(options); err != nil {
		return err
	}
	if err := r.save(true); err != nil {
		h.children.Close()
		return err
	}
	for _, p := range live {
		r.live.Go(p.run.run)
	}
	return nil
}

// wait returns when a pod has changed, the delay is over (if it is not 0) or
// the run was interrupted.
func (r *runner) wait(changed <-chan struct{}, interrupts <-chan os.Signal, delay time.Duration) {
	var due <-chan time.Time
	if delay > 0 {
		due = time.After(delay)
	}
	select {
	case <-changed:
	case <-due:
	case signal := <-interrupts:
		r.interrupt(signal)
	}
}

// watch returns a channel that holds something once a pod's status has changed.
// The cache is watched without a pleg.Generator: that finds out by lists and events
// what a runtime of its own did, and here the parent itself is told of every exit,
// once, by the kernel. There is no second source that could miss one.
func (r *runner) watch(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	go func() {
		for range r.cache.Watch(ctx) {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	return changed
}

// running reports whether a pod has not ended yet.
func (r *runner) running() bool {
	for _, p := range r.pods {
		if !p.ended() {
			return true
		}
	}
	return false
}

// interrupt suspends the Job and, the second time, kills its pods.
func (r *runner) interrupt(signal os.Signal) {
	if r.interrupted {
		r.report.event("", "%v: killing the pods", signal)
		r.host.output.printer.EndSoon()
		r.kill()
		return
	}
	r.report.event("", "%v: suspending the Job; a second signal kills its pods", signal)
	r.interrupted = true
	r.host.output.printer.EndWithin(gracePeriod(&r.job.Spec.Template.Spec))
	r.job.Spec.Suspend = true
}

func (r *runner) kill() {
	for _, p := range r.pods {
		p.run.killNow()
	}
}

// killAll ends whatever is left of the run.
func (r *runner) killAll() {
	r.kill()
	r.live.Wait()
	r.host.children.Close()
}
