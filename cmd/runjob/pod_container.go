package main

import (
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/process"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// container is one container of a pod, run as a series of processes.
type container struct {
	pod       *podRun
	spec      batch.Container
	status    *batch.ContainerStatus // changed in pod.update
	past      []exit                 // of processes of an earlier run
	begun     chan struct{}          // closed when the first process runs
	beginOnce sync.Once
}

func (r *podRun) container(spec batch.Container, status *batch.ContainerStatus) *container {
	return &container{pod: r, spec: spec, status: status, past: r.past[spec.Name], begun: make(chan struct{})}
}

// keep runs the container and restarts it by its restart policy until stop is closed.
// It reports whether the last process succeeded. The exits of an earlier run come
// first, as if they had happened now.
func (c *container) keep(policy batch.RestartPolicy, stop <-chan struct{}) bool {
	restarts := c.pod.host.restarts
	key := c.pod.pod.UID + "/" + c.spec.Name
	defer restarts.Reset(key)
	for run := 0; ; run++ {
		e, ran := c.attempt(run, stop)
		if !ran {
			return false
		}
		d := restarts.Exited(key, backoff.ExitPolicy{RestartPolicy: policy},
			backoff.Exit{Run: int64(run) + 1, Code: int32(e.Code), Started: e.Began, Finished: e.At})
		replayed := run+1 < len(c.past)
		if d.Action != backoff.ActionRestart || isClosed(stop) && !replayed {
			return e.Code == 0
		}
		if !replayed {
			c.pod.host.again(c.pod, c.spec.Name, run+1, e, d.Delay)
			_, wait := restarts.CanStart(key)
			select {
			case <-time.After(wait):
			case <-stop:
				return false
			}
		}
		c.pod.update(func(*batch.PodStatus) { c.status.RestartCount++ })
	}
}

// attempt runs the run-th process of the container until it exits or stop is closed.
// ran is false if stop was closed before a process started. A command that cannot be
// run has an exit, too.
func (c *container) attempt(run int, stop <-chan struct{}) (e exit, ran bool) {
	prefix := c.pod.pod.Name + " " + c.spec.Name
	if run < len(c.past) {
		e, ran = c.past[run], true
		c.pod.host.output.replay(prefix, e.Output)
	} else {
		e, ran = c.once(prefix, run, stop)
	}
	if ran {
		c.ended(e)
	}
	return e, ran
}

// once runs a process to its exit, and again if the process was lost with its guard.
func (c *container) once(prefix string, run int, stop <-chan struct{}) (e exit, ran bool) {
	for {
		p, err := c.start(prefix, run, stop)
		if failure, ok := err.(*process.StartError); ok {
			c.pod.host.event(c.pod.pod.Name, "container %s cannot start: %v", c.spec.Name, failure)
			now := time.Now()
			return exit{Code: failure.Code, Message: failure.Error(), Began: now, At: now}, true
		}
		if err != nil {
			return exit{}, false
		}
		c.beginOnce.Do(func() { close(c.begun) })
		c.running(p.Began)
		c.attend(p, stop)
		if p.Wait().Lost && !isClosed(stop) {
			c.pod.host.event(c.pod.pod.Name, "container %s was killed with its guard: runs again", c.spec.Name)
			continue
		}
		return exitOf(p), true
	}
}

// attend waits for the exit of a process. When stop is closed, it terminates the
// process as a kubelet does. The first process gets SIGTERM; after the grace period,
// all remaining ones get SIGKILL.
func (c *container) attend(p *process.Process, stop <-chan struct{}) {
	select {
	case <-p.Done():
		return
	case <-stop:
	}
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.Done():
	case <-c.pod.kill:
		p.Signal(syscall.SIGKILL)
		<-p.Done()
	}
}

// shortage is the backoff between attempts to start a process while the machine lacks a
// resource.
var shortage = backoff.Policy{Initial: 10 * time.Millisecond, Max: time.Second}

// start starts the container's process. It retries while the machine lacks a resource,
// which does not fail the pod. The error is a StartError, or os.ErrClosed if stop was
// closed first.
func (c *container) start(prefix string, run int, stop <-chan struct{}) (*process.Process, error) {
	h, pod := c.pod.host, &c.pod.pod
	argv, env, err := h.config.environment(h.machine, pod, c.spec, h.sources[c.spec.Name])
	if err != nil {
		c.waitForConfig(err, stop)
		return nil, os.ErrClosed
	}
	for failures := 1; ; failures++ {
		if isClosed(stop) {
			return nil, os.ErrClosed
		}
		p, err := h.children.Start(process.Command{
			Args: argv, Env: env, Dir: c.spec.WorkingDir,
			Output: h.output.open(prefix),
			Record: h.store.key(pod.UID, c.spec.Name, run),
		})
		if _, ok := err.(*process.StartError); err == nil || ok {
			return p, err
		}
		h.shortage.Do(func() { h.event(pod.Name, "cannot start yet: %v; other pods may wait for the same reason", err) })
		select {
		case <-time.After(shortage.Delay(failures)):
		case <-stop:
		}
	}
}

// waitForConfig waits until stop is closed. A kubelet waits for a missing Secret to
// appear, but here it never does.
func (c *container) waitForConfig(missing error, stop <-chan struct{}) {
	const reason = "CreateContainerConfigError"
	c.pod.update(func(*batch.PodStatus) {
		c.status.State = batch.ContainerState{Waiting: &batch.ContainerStateWaiting{Reason: reason, Message: missing.Error()}}
	})
	c.pod.host.event(c.pod.pod.Name, "container %s waits: %s: %v; interrupt runjob (Ctrl-C) to end the wait", c.spec.Name, reason, missing)
	<-stop
}

// running publishes the start of the container's process.
func (c *container) running(at time.Time) {
	first := false
	c.pod.update(func(*batch.PodStatus) {
		first, c.pod.begun = !c.pod.begun, true
		c.status.State = batch.ContainerState{Running: &batch.ContainerStateRunning{StartedAt: at}}
	})
	if first {
		c.pod.host.started(c.pod, at)
	}
}

// ended publishes the exit of the container's process.
func (c *container) ended(e exit) {
	reason := "Completed"
	switch {
	case e.Message != "":
		reason = "StartError"
	case e.Code != 0:
		reason = "Error"
	}
	c.pod.update(func(*batch.PodStatus) {
		c.pod.begun = true
		c.status.State = batch.ContainerState{Terminated: &batch.ContainerStateTerminated{
			ExitCode: int32(e.Code), Signal: int32(e.Signal), Reason: reason, Message: e.Message, StartedAt: e.Began, FinishedAt: e.At,
		}}
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
