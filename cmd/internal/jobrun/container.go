package jobrun

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/convert"
)

// container is one container of a pod, run as a series of processes.
type container struct {
	pod        *podRun
	spec       *corev1.Container
	policy     backoff.ExitPolicy     // its restart policy and rules (KEP-5307)
	stopSignal syscall.Signal         // lifecycle.stopSignal, or SIGTERM
	status     *batch.ContainerStatus // both are changed in pod.update
	state      *backoff.State
	begun      chan struct{} // closed when the first process of this pass has started
	beginOnce  sync.Once
}

// Restart is an ended container that will start again in its pod.
type Restart struct {
	Pod       PodID
	Container string
	Number    int // of the restart, from 1
	ExitCode  int32
	Signal    int32
	At        time.Time // when it ended
	Wait      time.Duration
	All       bool // all containers of the pod start again
}

// exit is the exit of a process. The zero value is a success at present.
type exit struct {
	code, signal int32
	message      string // why no process was started
	began, at    time.Time
}

func (r *podRun) container(spec *corev1.Container, status *batch.ContainerStatus) *container {
	policy := convert.ExitPolicy(r.spec, spec)
	policy.Delay = r.host.restarts
	return &container{
		pod: r, spec: spec, policy: policy, stopSignal: stopSignal(spec),
		status: status, state: r.states[spec.Name], begun: make(chan struct{}),
	}
}

// keep runs the container and restarts it by its policy until ctx is done. It reports
// whether the last process succeeded.
func (c *container) keep(ctx context.Context) bool {
	if end := c.endedForGood(); end != nil {
		return end.ExitCode == 0
	}
	for {
		if !sleep(ctx, c.delay()) {
			return false
		}
		e, ran := c.once(ctx)
		if !ran {
			return false
		}
		d := c.exited(e, ctx.Err() == nil)
		switch {
		case d.Action == backoff.ActionRestartAll:
			c.restarts(e, d)
			c.pod.restartAll(errRestartAll)
			return false
		case d.Action != backoff.ActionRestart:
			return e.code == 0
		}
		c.restarts(e, d)
		// A restart is saved before it takes place, so that none is forgotten.
		if !c.pod.host.commit(ctx) {
			return false
		}
	}
}

// endedForGood returns the container's end if it does not start again, as it may have
// in an earlier run.
func (c *container) endedForGood() *batch.ContainerStateTerminated {
	c.pod.mu.Lock()
	defer c.pod.mu.Unlock()
	if t := c.status.State.Terminated; t != nil && (c.state.Action == backoff.ActionStop || c.state.Action == backoff.ActionGiveUp) {
		return t
	}
	return nil
}

// delay returns how long an ended container has to wait.
func (c *container) delay() time.Duration {
	c.pod.mu.Lock()
	defer c.pod.mu.Unlock()
	if c.status.State.Terminated == nil {
		return 0
	}
	c.state.Lost() // an earlier run may have been killed at the start
	_, wait := c.state.CanStart(&c.policy, time.Now())
	return wait
}

func (c *container) hasEnded() bool {
	c.pod.mu.Lock()
	defer c.pod.mu.Unlock()
	return c.status.State.Terminated != nil
}

func (c *container) restarts(e exit, d backoff.Decision) {
	c.pod.host.observer.Restarting(Restart{
		Pod: c.pod.id, Container: c.spec.Name, Number: int(c.status.RestartCount) + 1,
		ExitCode: e.code, Signal: e.signal, At: e.at, Wait: d.Delay, All: d.Action == backoff.ActionRestartAll,
	})
}

// once runs a process to its exit. ran is false if ctx was done before it started. A
// command that cannot be run has an exit, too.
func (c *container) once(ctx context.Context) (e exit, ran bool) {
	p, err := c.start(ctx)
	var failure *process.StartError
	switch {
	case errors.As(err, &failure):
		c.pod.host.note(c.pod.id.Name, "container %s cannot start: %v", c.spec.Name, failure)
		now := time.Now()
		return exit{code: int32(failure.Code), message: failure.Error(), began: now, at: now}, true
	case errors.Is(err, errExpanded):
		c.pod.host.note(c.pod.id.Name, "container %s cannot start: %v", c.spec.Name, err)
		now := time.Now()
		return exit{code: process.CannotStart, message: err.Error(), began: now, at: now}, true
	case err != nil:
		return exit{}, false
	}
	c.running(time.Now())
	c.attend(ctx, p)
	end := p.Wait()
	return exit{code: int32(end.Code), signal: int32(end.Signal), began: end.Began, at: end.At}, true
}

// leastGrace is the grace period of containers that end because all restart
// (minimumGracePeriodInSeconds of the kubelet).
const leastGrace = 2 * time.Second

// attend waits for the exit of a process. When ctx is done, it terminates the process with
// the pod's grace period or, if all containers restart, with the least one.
func (c *container) attend(ctx context.Context, p *process.Process) {
	select {
	case <-p.Done():
		return
	case <-ctx.Done():
	}
	if errors.Is(context.Cause(ctx), errRestartAll) {
		p.Stop(c.stopSignal, leastGrace)
	} else {
		p.Stop(c.stopSignal, c.pod.grace)
	}
	select {
	case <-p.Done():
	case <-c.pod.kill:
		p.Kill()
		<-p.Done()
	}
}

// shortage is the backoff between attempts to start a process while the machine lacks a
// resource.
var shortage = backoff.Policy{Initial: 10 * time.Millisecond, Max: time.Second}

// start starts the container's process. It retries while the machine lacks a resource,
// which does not fail the pod. The error is a StartError, errExpanded, or that of ctx.
func (c *container) start(ctx context.Context) (*process.Process, error) {
	h := c.pod.host
	argv, env, err := h.commandLine(&c.pod.pod, c.spec)
	if err != nil {
		return nil, err
	}
	for failures := 1; ; failures++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := h.children.Start(process.Command{
			Args: argv, Env: env, Dir: c.spec.WorkingDir, Colours: h.colours,
			Output: func(line process.Line) { h.observer.Line(c.pod.id, c.spec.Name, line) },
		})
		var failure *process.StartError
		if err == nil || errors.As(err, &failure) {
			return p, err
		}
		h.shortage.Do(func() { h.note(c.pod.id.Name, "cannot start yet: %v; other pods may wait for the same reason", err) })
		sleep(ctx, shortage.Delay(failures))
	}
}

// running publishes the start of the container's process.
func (c *container) running(at time.Time) {
	first := false
	c.pod.update(func() {
		first = !c.pod.told
		c.pod.begun, c.pod.told = true, true
		c.countRestart()
		c.status.State = batch.ContainerState{Running: &batch.ContainerStateRunning{StartedAt: at}}
		c.state.Started(at)
	})
	c.beginOnce.Do(func() { close(c.begun) })
	if first {
		c.pod.host.observer.Started(c.pod.id, at)
	}
}

// countRestart counts a start of a container that ended before.
func (c *container) countRestart() {
	if c.status.State.Terminated != nil {
		c.status.RestartCount++
	}
}

// exited publishes an exit, and decides whether the container starts again if asked to.
func (c *container) exited(e exit, decide bool) (d backoff.Decision) {
	if e.at.IsZero() {
		e.at = time.Now()
		e.began = e.at
	}
	reason := "Completed"
	switch {
	case e.message != "":
		reason = "StartError"
	case e.code != 0:
		reason = "Error"
	}
	c.pod.update(func() {
		if c.status.State.Running == nil {
			c.countRestart()
		}
		c.pod.begun = true
		c.status.State = batch.ContainerState{Terminated: &batch.ContainerStateTerminated{
			ExitCode: e.code, Signal: e.signal, Reason: reason, Message: e.message, StartedAt: e.began, FinishedAt: e.at,
		}}
		if decide {
			d = c.state.Exited(&c.policy, backoff.Exit{Run: int64(c.status.RestartCount) + 1, Code: e.code, Signal: e.signal,
				Reason: reason, Started: e.began, Finished: e.at}, time.Now(), 0)
		}
	})
	return d
}
