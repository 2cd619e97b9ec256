package main

import (
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/examples/internal/process"
	"github.com/restartkit/restart/jobpolicy"
)

// container is one container of a pod, run as a process again and again.
type container struct {
	pod       *podRun
	spec      jobpolicy.Container
	status    *jobpolicy.ContainerStatus // changed in pod.update
	past      []exit                     // of processes that another run saw
	begun     chan struct{}              // closed when it has run for the first time
	beginOnce sync.Once
}

func (r *podRun) container(spec jobpolicy.Container, status *jobpolicy.ContainerStatus) *container {
	return &container{pod: r, spec: spec, status: status, past: r.past[spec.Name], begun: make(chan struct{})}
}

// keep runs the container, and again as its restart policy says, until stop is
// closed. It reports whether the last process ended well. Processes that another
// run saw come first, as if they had been run now.
func (c *container) keep(policy jobpolicy.RestartPolicy, stop <-chan struct{}) bool {
	restarts := c.pod.host.restarts
	key := c.pod.pod.UID + "/" + c.spec.Name
	defer restarts.Reset(key)
	for run := 0; ; run++ {
		e, ran := c.attempt(run, stop)
		if !ran {
			return false
		}
		d := restarts.Exited(key, backoff.ContainerPolicy{RestartPolicy: policy},
			backoff.Exit{Run: int64(run) + 1, Code: int32(e.Code), Started: e.Began, Finished: e.At})
		replayed := run+1 < len(c.past)
		if d.Action != backoff.Restart || isClosed(stop) && !replayed {
			return e.Code == 0
		}
		if !replayed {
			c.pod.host.again(c.pod.pod.Name, c.spec.Name, run+1, e, d.Delay)
			select {
			case <-time.After(restarts.Remaining(key)):
			case <-stop:
				return false
			}
		}
		c.pod.update(func(*jobpolicy.PodStatus) { c.status.RestartCount++ })
	}
}

// attempt is the run-th process of the container, brought to its end by stop. It
// reports whether there was one, or a command that cannot be run.
func (c *container) attempt(run int, stop <-chan struct{}) (exit, bool) {
	record := c.pod.host.store.record(c.pod.pod.UID, c.spec.Name, run)
	prefix := c.pod.pod.Name + " " + c.spec.Name
	if run < len(c.past) {
		c.pod.host.output.replay(prefix, logOf(record))
		c.ended(c.past[run])
		return c.past[run], true
	}
	e, ran := c.once(prefix, record, stop)
	if ran {
		c.ended(e)
	}
	return e, ran
}

// once runs a process to its end.
func (c *container) once(prefix, record string, stop <-chan struct{}) (e exit, ran bool) {
	p, out, err := c.start(prefix, record, stop)
	if failure, ok := err.(*process.StartError); ok {
		c.pod.host.event(c.pod.pod.Name, "container %s cannot start: %v", c.spec.Name, failure)
		now := time.Now()
		e = exit{Code: failure.Code, Message: failure.Error(), Began: now, At: now}
		if record != "" {
			_ = writeFile(record, e)
		}
		return e, true
	}
	if err != nil {
		return exit{}, false
	}
	c.beginOnce.Do(func() { close(c.begun) })
	c.running(p.Began)
	select {
	case <-p.Done():
	case <-stop:
		p.Signal(syscall.SIGTERM)
		select {
		case <-p.Done():
		case <-c.pod.kill:
			kill(p, record)
		}
	}
	e = exitOf(p.Wait())
	e.Began = p.Began
	out.finish()
	if record != "" {
		if recorded, ok := readRecord(record); ok {
			return recorded, true
		}
	}
	return e, true
}

// kill ends a process at once, one under a shim by way of that.
func kill(p *process.Process, record string) {
	if record != "" {
		p.Signal(killSignal)
	} else {
		p.Signal(syscall.SIGKILL)
	}
}

// shortage is how often a process is tried to be started while this machine is
// short of something.
var shortage = backoff.Policy{Initial: 10 * time.Millisecond, Max: time.Second}

// start starts the container's process. While the machine cannot start one it
// tries again: that is no failure of the pod. The error is a StartError, or says
// that stop came first.
func (c *container) start(prefix, record string, stop <-chan struct{}) (*process.Process, *stream, error) {
	h, pod := c.pod.host, &c.pod.pod
	argv, env, err := h.config.environment(h.machine, pod, c.spec, h.sources[c.spec.Name])
	if err != nil {
		c.waitForConfig(err, stop)
		return nil, nil, os.ErrClosed
	}
	for failures := 1; ; failures++ {
		if isClosed(stop) {
			return nil, nil, os.ErrClosed
		}
		out, err := h.output.open(prefix, logOf(record))
		if err == nil {
			cmd := process.Command{Args: argv, Env: env, Dir: c.spec.WorkingDir, Output: out.child}
			if record != "" {
				cmd = viaShim(cmd, record)
			}
			var p *process.Process
			p, err = h.children.Start(cmd)
			out.child.Close()
			if err == nil {
				return p, out, nil
			}
			out.finish()
			if _, ok := err.(*process.StartError); ok {
				return nil, nil, err
			}
		}
		h.shortage.Do(func() { h.event(pod.Name, "has to wait, and so may others: %v", err) })
		select {
		case <-time.After(shortage.Delay(failures)):
		case <-stop:
		}
	}
}

// waitForConfig waits until stop is closed, as a kubelet waits for a Secret that is
// not there: here none will come.
func (c *container) waitForConfig(missing error, stop <-chan struct{}) {
	const reason = "CreateContainerConfigError"
	c.pod.update(func(*jobpolicy.PodStatus) {
		c.status.State = jobpolicy.ContainerState{Waiting: &jobpolicy.ContainerStateWaiting{Reason: reason, Message: missing.Error()}}
	})
	c.pod.host.event(c.pod.pod.Name, "container %s waits: %s: %v; interrupt runjob (Ctrl-C) to end the wait", c.spec.Name, reason, missing)
	<-stop
}

// running publishes that the container's process has started.
func (c *container) running(at time.Time) {
	c.pod.update(func(*jobpolicy.PodStatus) {
		c.pod.begun = true
		c.status.State = jobpolicy.ContainerState{Running: &jobpolicy.ContainerStateRunning{StartedAt: at}}
	})
}

// ended publishes how the container's process ended.
func (c *container) ended(e exit) {
	reason := "Completed"
	switch {
	case e.Message != "":
		reason = "StartError"
	case e.Code != 0:
		reason = "Error"
	}
	c.pod.update(func(*jobpolicy.PodStatus) {
		c.pod.begun = true
		c.status.State = jobpolicy.ContainerState{Terminated: &jobpolicy.ContainerStateTerminated{
			ExitCode: int32(e.Code), Signal: int32(e.Signal), Reason: reason, Message: e.Message, StartedAt: e.Began, FinishedAt: e.At,
		}}
	})
}

// variables are set for every container of the pod.
func variables(pod *jobpolicy.Pod) map[string]string {
	variables := map[string]string{"HOSTNAME": pod.Name}
	if index, ok := pod.Annotations[jobpolicy.JobCompletionIndexAnnotation]; ok {
		variables["JOB_COMPLETION_INDEX"] = index
	}
	return variables
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
