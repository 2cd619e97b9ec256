package main

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/pleg/statuscache"
)

// runner runs a Job. It asks the Engine for a plan, applies the plan to pods made of
// processes, and asks again when a pod changes or a delay is over. In place of an API
// server, it also holds the Job and its pods. Only the goroutine of run accesses them,
// and pods publish their status through the cache.
type runner struct {
	engine jobpolicy.Engine
	job    *batch.Job
	memory jobpolicy.State
	pods   map[string]*pod // by UID
	host   *host
	cache  *statuscache.Cache[string, *batch.PodStatus]
	report *report
	events *recorder

	begun       time.Time
	attempts    map[int]int    // begun, by index
	live        sync.WaitGroup // running pods
	disruptions disruptions    // pending
	interrupted bool
	suspended   []*pod // ended by the interruption
}

func newRunner(engine jobpolicy.Engine, m *manifest, h *host, report *report) *runner {
	r := &runner{
		engine: engine,
		job:    m.Job,
		pods:   make(map[string]*pod),
		host:   h,
		// Every key has one writer, whose clock may stand still between two writes.
		cache:    statuscache.New[string](statuscache.Options[*batch.PodStatus]{AcceptEqual: true}),
		report:   report,
		begun:    time.Now(),
		attempts: make(map[int]int),
	}
	h.publish = func(uid string, status *batch.PodStatus) { r.cache.Set(uid, status, nil, time.Now()) }
	return r
}

// Two plans begin at least minGap apart, and at least planShare times the cost of the
// first. So one plan answers many exits, and most of the machine is left to the
// processes. Without the gap, a Job of 3000 parallel processes spends half of its time
// on plans.
const (
	minGap    = time.Millisecond
	planShare = 4
)

// run runs the Job until it ends or is interrupted, resuming from old unless it is nil.
// The first interruption suspends the Job, which terminates its pods with their grace
// period, and the second one kills them. No process is left when run returns.
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
		cost = min(time.Since(began), 2*cost) // a single long step was held up by something else
		gap := max(minGap, planShare*cost)
		if busy {
			requeue = gap
		}
		r.wait(changed, interrupts, requeue)
		time.Sleep(time.Until(began.Add(gap)))
	}
}

// begin resumes an earlier run, if any, starts the guard of the processes, and runs the
// pods that the earlier run had not finished.
func (r *runner) begin(old *state) (err error) {
	var live []*pod
	if old != nil {
		if live, err = r.resume(old); err != nil {
			return err
		}
	}
	if err := r.events.begin(r.begun, old != nil); err != nil {
		return err
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

// wait returns when a pod has changed, the run is interrupted, or the delay is over. A
// delay of 0 is never over.
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

// watch returns a channel that holds a token after a pod's status has changed. A
// pleg.Generator, which lists containers to find missed exits, is not needed because
// the kernel reports every exit to this process exactly once.
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

// running reports whether any pod has not ended yet.
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

// killAll kills all remaining processes of the run.
func (r *runner) killAll() {
	r.kill()
	r.live.Wait()
	r.host.children.Close()
}
