package main

import (
	"slices"
	"sync"
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// podRun runs the containers of one pod as processes, in the kubelet's order. The init
// containers run one after another, then the others in parallel; sidecars end last.
// Every change of the pod's status is published. Except for run, methods are safe for
// concurrent use.
type podRun struct {
	host  *host
	pod   batch.Pod // metadata and spec at its creation
	past  history   // of the same pod in an earlier run
	grace time.Duration

	index, attempt int // index is -1 for a NonIndexed Job

	stopOnce, killOnce sync.Once
	stop, kill         chan struct{} // closed to terminate or kill the pod
	expired            chan struct{} // closed when the pod is killed because the grace period is over
	sidecars           []*sidecar

	mu     sync.Mutex
	status batch.PodStatus
	begun  bool // a process was started
}

func newPodRun(h *host, pod batch.Pod, past history) *podRun {
	r := &podRun{host: h, pod: pod, past: past, grace: gracePeriod(&pod.Spec), stop: make(chan struct{}), kill: make(chan struct{}), expired: make(chan struct{})}
	r.status = batch.PodStatus{Phase: batch.PodPending, StartTime: time.Now(), Conditions: pod.Status.Conditions}
	for _, c := range pod.Spec.InitContainers {
		r.status.InitContainerStatuses = append(r.status.InitContainerStatuses, waitingStatus(c.Name))
	}
	for _, c := range pod.Spec.Containers {
		r.status.ContainerStatuses = append(r.status.ContainerStatuses, waitingStatus(c.Name))
	}
	return r
}

func gracePeriod(spec *batch.PodSpec) time.Duration {
	if s := spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(min(*s, int64(1<<62/time.Second))) * time.Second
	}
	return defaultGrace
}

// terminate sends SIGTERM to the pod's processes and, after the grace period, SIGKILL.
func (r *podRun) terminate() {
	r.stopOnce.Do(func() {
		close(r.stop)
		time.AfterFunc(r.grace, func() {
			r.killOnce.Do(func() { close(r.expired); close(r.kill) })
		})
	})
}

// graceOver reports whether the pod was killed because its grace period was over.
func (r *podRun) graceOver() bool { return isClosed(r.expired) }

// killNow kills the pod's processes.
func (r *podRun) killNow() {
	r.terminate()
	r.killOnce.Do(func() { close(r.kill) })
}

// run runs the pod to its end.
func (r *podRun) run() {
	ok := r.runInit() && r.runMain()
	r.endSidecars()
	r.finish(ok)
}

// runInit runs the init containers and starts the sidecars among them. It reports
// whether the other containers may start.
func (r *podRun) runInit() bool {
	over, at := r.past.over(&r.pod.Spec)
	for i := range r.pod.Spec.InitContainers {
		c := r.container(r.pod.Spec.InitContainers[i], &r.status.InitContainerStatuses[i])
		isSidecar := c.spec.RestartPolicy == batch.RestartPolicyAlways
		switch {
		case isSidecar && over:
			c.ended(exit{Began: at, At: at}) // no container needs it any more
		case isSidecar:
			r.startSidecar(c)
		case !c.keep(r.pod.Spec.RestartPolicy, r.stop):
			return false
		}
	}
	return true
}

// sidecar is a container that runs beside the others.
type sidecar struct{ stop, done chan struct{} }

// startSidecar starts a sidecar and waits until it runs.
func (r *podRun) startSidecar(c *container) {
	s := &sidecar{stop: make(chan struct{}), done: make(chan struct{})}
	r.sidecars = append(r.sidecars, s)
	go func() {
		defer close(s.done)
		c.keep(batch.RestartPolicyAlways, s.stop)
	}()
	select {
	case <-c.begun:
	case <-r.stop:
	}
}

// runMain runs the containers and reports whether all succeeded.
func (r *podRun) runMain() bool {
	var all sync.WaitGroup
	ended := make([]bool, len(r.pod.Spec.Containers))
	r.update(func(s *batch.PodStatus) { s.Phase = batch.PodRunning })
	for i := range r.pod.Spec.Containers {
		c := r.container(r.pod.Spec.Containers[i], &r.status.ContainerStatuses[i])
		all.Go(func() { ended[i] = c.keep(r.pod.Spec.RestartPolicy, r.stop) })
	}
	all.Wait()
	return !slices.Contains(ended, false)
}

// endSidecars ends the sidecars one by one, the last first.
func (r *podRun) endSidecars() {
	if len(r.sidecars) == 0 {
		return
	}
	timer := time.AfterFunc(r.grace, r.killNow)
	defer timer.Stop()
	for _, s := range slices.Backward(r.sidecars) {
		close(s.stop)
		<-s.done
	}
}

const defaultGrace = 30 * time.Second
