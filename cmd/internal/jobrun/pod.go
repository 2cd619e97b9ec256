package jobrun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// podRun runs the containers of one pod as processes, in the kubelet's order: the init
// containers one after another, then the others in parallel; sidecars end last. Except
// for run, its methods are safe for concurrent use.
type podRun struct {
	host  *host
	id    PodID
	pod   batch.Pod // metadata and spec at its creation
	spec  *corev1.PodSpec
	grace time.Duration

	ctx      context.Context // done when the pod is to end
	end      context.CancelFunc
	killOnce sync.Once
	kill     chan struct{} // closed to kill the pod
	byHand   atomic.Bool   // it was killed before its grace period was over

	// restartAll ends the present pass over the containers, so that all start again.
	restartAll context.CancelCauseFunc
	sidecars   []*sidecar // of this pass, in their order

	mu       sync.Mutex
	status   batch.PodStatus
	states   map[string]*backoff.State // by container
	latest   *snapshot
	begun    bool // a process was started
	told     bool // the observer was told about the first process of this run
	deadline bool // the pod has reached its activeDeadlineSeconds
}

// snapshot holds the known facts about a pod at one moment. It does not change.
type snapshot struct {
	status batch.PodStatus
	states map[string]*backoff.State // of ended containers
}

const defaultGrace = 30 * time.Second

func newPodRun(h *host, p *Pod, saved *savedPod) *podRun {
	r := &podRun{host: h, id: p.ID(), pod: p.Pod, spec: h.template, grace: defaultGrace, kill: make(chan struct{}), states: make(map[string]*backoff.State)}
	if s := h.template.TerminationGracePeriodSeconds; s != nil {
		seconds := *s
		if seconds < 0 { // the API server makes it 1
			seconds = 1
		}
		r.grace = time.Duration(min(seconds, int64(1<<62/time.Second))) * time.Second
	}
	r.ctx, r.end = context.WithCancel(context.Background())
	r.status = batch.PodStatus{Phase: batch.PodPending, StartTime: time.Now()}
	for i := range h.template.InitContainers {
		r.status.InitContainerStatuses = append(r.status.InitContainerStatuses, waitingStatus(h.template.InitContainers[i].Name))
	}
	for i := range h.template.Containers {
		r.status.ContainerStatuses = append(r.status.ContainerStatuses, waitingStatus(h.template.Containers[i].Name))
	}
	if saved != nil {
		r.status = saved.Status
		r.states = maps.Clone(saved.Backoff)
		r.begun = slices.ContainsFunc(r.statuses(), func(s *batch.ContainerStatus) bool { return s.State.Waiting == nil })
	}
	for _, s := range r.statuses() {
		if r.states[s.Name] == nil {
			if r.states == nil {
				r.states = make(map[string]*backoff.State)
			}
			r.states[s.Name] = new(backoff.State)
		}
	}
	r.publish()
	return r
}

func waitingStatus(name string) batch.ContainerStatus {
	return batch.ContainerStatus{Name: name, State: batch.ContainerState{Waiting: &batch.ContainerStateWaiting{Reason: "PodInitializing"}}}
}

// statuses returns the statuses of all containers.
func (r *podRun) statuses() (all []*batch.ContainerStatus) {
	for _, list := range [][]batch.ContainerStatus{r.status.InitContainerStatuses, r.status.ContainerStatuses} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// terminate sends the pod's processes their stop signals and, after the grace period,
// SIGKILL.
func (r *podRun) terminate() { r.end() }

// graceOver reports whether the pod was killed because its grace period was over, if it
// was killed.
func (r *podRun) graceOver() bool { return r.ctx.Err() != nil && !r.byHand.Load() }

// killNow kills the pod's processes.
func (r *podRun) killNow() {
	r.byHand.Store(true)
	r.killAll()
}

func (r *podRun) killAll() {
	r.killOnce.Do(func() { close(r.kill) })
	r.terminate()
}

// run runs the pod to its end.
func (r *podRun) run() {
	defer r.end()
	if seconds := r.spec.ActiveDeadlineSeconds; seconds != nil {
		deadline := r.status.StartTime.Add(time.Duration(*seconds) * time.Second)
		defer time.AfterFunc(time.Until(deadline), r.expire).Stop()
	}
	ok := false
	for {
		if source := r.restartsAll(); source != nil && !r.reset(source) {
			break
		}
		var ctx context.Context
		ctx, r.restartAll = context.WithCancelCause(r.ctx)
		ok = r.pass(ctx)
		again := errors.Is(context.Cause(ctx), errRestartAll)
		r.restartAll(nil)
		if !again || r.ctx.Err() != nil {
			break
		}
	}
	r.finish(ok)
}

// pass runs the containers until all have ended for good, or until all are to start
// again. It reports whether all have succeeded.
func (r *podRun) pass(ctx context.Context) bool {
	ok := r.runInit(ctx) && r.runMain(ctx)
	r.endSidecars(context.Cause(ctx))
	return ok
}

// runInit runs the init containers and starts the sidecars among them. It reports
// whether the other containers may start.
func (r *podRun) runInit(ctx context.Context) bool {
	over := r.mainOver()
	for i := range r.spec.InitContainers {
		c := r.container(&r.spec.InitContainers[i], &r.status.InitContainerStatuses[i])
		isSidecar := c.policy.RestartPolicy == backoff.RestartPolicyAlways
		switch {
		case isSidecar && over: // no container needs it any more
			if !c.hasEnded() {
				c.exited(exit{}, false)
			}
		case isSidecar:
			if !r.startSidecar(ctx, c) {
				return false
			}
		case !c.keep(ctx):
			return false
		}
	}
	return true
}

// mainOver reports whether all containers but the init containers and sidecars have
// ended for good, as they may have in an earlier run.
func (r *podRun) mainOver() bool {
	for i := range r.spec.Containers {
		if c := r.container(&r.spec.Containers[i], &r.status.ContainerStatuses[i]); c.endedForGood() == nil {
			return false
		}
	}
	return true
}

// sidecar is a container that runs beside the others.
type sidecar struct {
	stop context.CancelCauseFunc
	done chan struct{}
}

// startSidecar starts a sidecar and waits until its first process has started, however
// often that fails. It reports whether the next container may start. As a kubelet does
// without a startup probe, it does not wait for a sidecar that has started and ended.
func (r *podRun) startSidecar(ctx context.Context, c *container) bool {
	own, stop := context.WithCancelCause(context.Background()) // it outlives the containers
	s := &sidecar{stop: stop, done: make(chan struct{})}
	r.sidecars = append(r.sidecars, s)
	go func() {
		defer close(s.done)
		c.keep(own)
	}()
	select {
	case <-c.begun:
	case <-s.done:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// runMain runs the containers and reports whether all succeeded.
func (r *podRun) runMain(ctx context.Context) bool {
	var all sync.WaitGroup
	ended := make([]bool, len(r.spec.Containers))
	r.update(func() { r.status.Phase = batch.PodRunning })
	for i := range r.spec.Containers {
		c := r.container(&r.spec.Containers[i], &r.status.ContainerStatuses[i])
		all.Go(func() { ended[i] = c.keep(ctx) })
	}
	all.Wait()
	return !slices.Contains(ended, false)
}

// endSidecars ends the sidecars one by one, the last first, within one grace period.
func (r *podRun) endSidecars(why error) {
	if len(r.sidecars) == 0 {
		return
	}
	if !errors.Is(why, errRestartAll) {
		defer time.AfterFunc(r.grace, r.killAll).Stop()
	}
	for _, s := range slices.Backward(r.sidecars) {
		s.stop(why)
		<-s.done
	}
	r.sidecars = nil
}

// errRestartAll ends a pass when a rule of a container restarts all containers of the
// pod (KEP-5532).
var errRestartAll = errors.New("all containers restart")

// restartsAll returns the state of a container whose end makes all of them start again,
// or nil.
func (r *podRun) restartsAll() *backoff.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.statuses() {
		if state := r.states[s.Name]; s.State.Terminated != nil && state.Action == backoff.ActionRestartAll {
			return state
		}
	}
	return nil
}

// reset waits for the delay of the container whose end makes all of them start again,
// and then makes all of them start from the beginning. It reports whether that was
// possible before the pod had to end.
func (r *podRun) reset(source *backoff.State) bool {
	r.mu.Lock()
	_, wait := source.CanStart(&backoff.ExitPolicy{Delay: r.host.restarts}, time.Now())
	r.mu.Unlock()
	if !r.host.commit(r.ctx) || !sleep(r.ctx, wait) {
		return false
	}
	const reason = "RestartingAllContainers"
	r.update(func() {
		for _, s := range r.statuses() {
			if s.State.Waiting == nil {
				s.RestartCount++
				s.State = batch.ContainerState{Waiting: &batch.ContainerStateWaiting{Reason: reason}}
			}
		}
	})
	return true
}

// sleep reports whether it has slept that long before ctx was done.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// expire ends a pod at its activeDeadlineSeconds.
func (r *podRun) expire() {
	r.mu.Lock()
	r.deadline = true
	r.mu.Unlock()
	if r.ctx.Err() == nil {
		r.host.note(r.id.Name, "active for longer than its activeDeadlineSeconds, %d: terminating", *r.spec.ActiveDeadlineSeconds)
	}
	r.terminate()
}

// finish publishes the end of the pod. The texts are the kubelet's.
func (r *podRun) finish(ok bool) {
	r.update(func() {
		s := &r.status
		switch {
		case r.deadline:
			s.Phase, s.Reason, s.Message = batch.PodFailed, "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"
		case ok:
			s.Phase = batch.PodSucceeded
		case !r.begun:
			s.Phase, s.Reason, s.Message = batch.PodFailed, "Deleted", "Deleted while pending"
		default:
			s.Phase = batch.PodFailed
		}
	})
}

// lose marks the containers without a known exit as killed by SIGKILL.
func (r *podRun) lose() {
	now := time.Now()
	r.update(func() {
		for i := range r.status.ContainerStatuses {
			if s := &r.status.ContainerStatuses[i]; s.State.Terminated == nil {
				s.State = batch.ContainerState{Terminated: &batch.ContainerStateTerminated{ExitCode: 137, Signal: 9, Reason: "Error", StartedAt: now, FinishedAt: now}}
			}
		}
		r.begun = true
	})
}

// now returns the present state of the pod.
func (r *podRun) now() *snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.latest
}

// update changes the status and publishes it.
func (r *podRun) update(change func()) {
	r.mu.Lock()
	change()
	r.setReady()
	r.publish()
	r.mu.Unlock()
	select {
	case r.host.changed <- struct{}{}:
	default:
	}
}

func (r *podRun) publish() {
	s := &snapshot{status: r.status, states: make(map[string]*backoff.State)}
	s.status.InitContainerStatuses = slices.Clone(r.status.InitContainerStatuses)
	s.status.ContainerStatuses = slices.Clone(r.status.ContainerStatuses)
	for name, state := range r.states {
		if state.Action != "" {
			copied := state.Clone()
			s.states[name] = &copied
		}
	}
	r.latest = s
}

// setReady updates the Ready condition. A pod without probes is ready while all its
// containers run.
func (r *podRun) setReady() {
	c := batch.PodCondition{Type: batch.PodReady, Status: batch.ConditionFalse, LastTransitionTime: time.Now()}
	if r.status.Phase == batch.PodRunning && !slices.ContainsFunc(r.status.ContainerStatuses, func(c batch.ContainerStatus) bool { return c.State.Running == nil }) {
		c.Status = batch.ConditionTrue
	}
	i := slices.IndexFunc(r.status.Conditions, func(old batch.PodCondition) bool { return old.Type == c.Type })
	switch {
	case i < 0:
		r.status.Conditions = append(slices.Clone(r.status.Conditions), c)
	case r.status.Conditions[i].Status != c.Status:
		r.status.Conditions = slices.Clone(r.status.Conditions)
		r.status.Conditions[i] = c
	}
}

// note passes on a remark about a pod, or about the Job if pod is "".
func (h *host) note(pod, format string, args ...any) {
	h.observer.Note(pod, fmt.Sprintf(format, args...))
}

// commit waits until the present status of all pods is saved. It reports whether it was
// before ctx was done.
func (h *host) commit(ctx context.Context) bool {
	if h.commits == nil {
		return ctx.Err() == nil
	}
	saved := make(chan struct{})
	select {
	case h.commits <- saved:
	case <-ctx.Done():
		return false
	}
	select {
	case <-saved:
		return true
	case <-ctx.Done():
		return false
	}
}
