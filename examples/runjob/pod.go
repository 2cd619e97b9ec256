package main

import (
	"slices"
	"sync"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/examples/internal/process"
	"github.com/restartkit/restart/jobpolicy"
)

// host is what the pods of this machine share.
type host struct {
	children *process.Children
	output   *output
	store    *store   // nil: nothing outlives this program
	machine  []string // environment of every process
	sources  envSources
	config   config
	restarts *backoff.Restarter[string] // of containers inside a pod
	publish  func(uid string, status *jobpolicy.PodStatus)
	event    func(pod, format string, args ...any) // something a person may want to know
	again    func(pod, container string, restart int, e exit, delay time.Duration)
	shortage sync.Once // the first time that a process has to wait is told
}

// podRun runs the containers of one pod as processes, as a kubelet would: first
// the init containers, one after the other, sidecars staying on; then the
// others together; the sidecars end last. Every change of its status is
// published. All methods but run may be called at any time, from any goroutine.
type podRun struct {
	host  *host
	pod   jobpolicy.Pod // metadata and specification as they were at first
	past  history       // of the same pod under another run
	grace time.Duration

	stopOnce, killOnce sync.Once
	stop, kill         chan struct{} // closed: end, end at once
	expired            chan struct{} // closed: to be ended at once since the grace period is over
	sidecars           []*sidecar

	mu     sync.Mutex
	status jobpolicy.PodStatus
	begun  bool // a process was started
}

const defaultGrace = 30 * time.Second

func newPodRun(h *host, pod jobpolicy.Pod, past history) *podRun {
	r := &podRun{host: h, pod: pod, past: past, grace: gracePeriod(&pod.Spec), stop: make(chan struct{}), kill: make(chan struct{}), expired: make(chan struct{})}
	r.status = jobpolicy.PodStatus{Phase: jobpolicy.PodPending, StartTime: time.Now(), Conditions: pod.Status.Conditions}
	for _, c := range pod.Spec.InitContainers {
		r.status.InitContainerStatuses = append(r.status.InitContainerStatuses, waitingStatus(c.Name))
	}
	for _, c := range pod.Spec.Containers {
		r.status.ContainerStatuses = append(r.status.ContainerStatuses, waitingStatus(c.Name))
	}
	return r
}

func gracePeriod(spec *jobpolicy.PodSpec) time.Duration {
	if s := spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(min(*s, int64(1<<62/time.Second))) * time.Second
	}
	return defaultGrace
}

func waitingStatus(name string) jobpolicy.ContainerStatus {
	return jobpolicy.ContainerStatus{Name: name, State: jobpolicy.ContainerState{Waiting: &jobpolicy.ContainerStateWaiting{Reason: "PodInitializing"}}}
}

// terminate ends the pod: its processes get SIGTERM, and SIGKILL when the grace
// period is over.
func (r *podRun) terminate() {
	r.stopOnce.Do(func() {
		close(r.stop)
		time.AfterFunc(r.grace, func() {
			r.killOnce.Do(func() { close(r.expired); close(r.kill) })
		})
	})
}

// graceOver reports whether the pod was given all of its grace period.
func (r *podRun) graceOver() bool { return isClosed(r.expired) }

// killNow ends the pod at once.
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

// runInit runs the init containers and starts the sidecars among them. It
// reports whether the others may start.
func (r *podRun) runInit() bool {
	over, at := r.past.over(&r.pod.Spec)
	for i := range r.pod.Spec.InitContainers {
		c := r.container(r.pod.Spec.InitContainers[i], &r.status.InitContainerStatuses[i])
		isSidecar := c.spec.RestartPolicy == jobpolicy.RestartPolicyAlways
		switch {
		case isSidecar && over:
			c.ended(exit{Began: at, At: at}) // there is nobody left that needs it
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
		c.keep(jobpolicy.RestartPolicyAlways, s.stop)
	}()
	select {
	case <-c.begun:
	case <-r.stop:
	}
}

// runMain runs the containers and reports whether all ended well.
func (r *podRun) runMain() bool {
	var all sync.WaitGroup
	ended := make([]bool, len(r.pod.Spec.Containers))
	r.update(func(s *jobpolicy.PodStatus) { s.Phase = jobpolicy.PodRunning })
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

// finish publishes how the pod ended.
func (r *podRun) finish(ok bool) {
	r.update(func(s *jobpolicy.PodStatus) {
		switch {
		case ok:
			s.Phase = jobpolicy.PodSucceeded
		case !r.begun:
			s.Phase, s.Reason, s.Message = jobpolicy.PodFailed, "Deleted", "Deleted while pending"
		default:
			s.Phase = jobpolicy.PodFailed
		}
	})
}

// lose says that the pod's processes were killed by someone else, with
// SIGKILL, as far as nothing is known of how they ended.
func (r *podRun) lose() {
	now := time.Now()
	for i := range r.pod.Spec.Containers {
		if c := r.container(r.pod.Spec.Containers[i], &r.status.ContainerStatuses[i]); len(c.past) == 0 {
			c.ended(exit{Code: 137, Signal: 9, Began: now, At: now})
		}
	}
}

// disrupt marks the pod as one that is ended from outside.
func (r *podRun) disrupt(c jobpolicy.PodCondition) {
	r.update(func(s *jobpolicy.PodStatus) { s.Conditions = setCondition(s.Conditions, c) })
}

// update changes the status and publishes it.
func (r *podRun) update(change func(*jobpolicy.PodStatus)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.status)
	r.setReady()
	published := r.status
	published.InitContainerStatuses = slices.Clone(r.status.InitContainerStatuses)
	published.ContainerStatuses = slices.Clone(r.status.ContainerStatuses)
	r.host.publish(r.pod.UID, &published)
}

// publish makes the pod known before it runs.
func (r *podRun) publish() { r.update(func(*jobpolicy.PodStatus) {}) }

// setReady brings the Ready condition up to date: there are no probes, so a pod
// is ready while all its containers run.
func (r *podRun) setReady() {
	c := jobpolicy.PodCondition{Type: jobpolicy.PodReady, Status: jobpolicy.ConditionFalse, LastTransitionTime: time.Now()}
	if r.status.Phase == jobpolicy.PodRunning && !slices.ContainsFunc(r.status.ContainerStatuses, func(c jobpolicy.ContainerStatus) bool { return c.State.Running == nil }) {
		c.Status = jobpolicy.ConditionTrue
	}
	r.status.Conditions = setCondition(r.status.Conditions, c)
}

// setCondition returns the conditions with c in them; one that is as c is
// already keeps its time. The slice it is given is not changed.
func setCondition(conditions []jobpolicy.PodCondition, c jobpolicy.PodCondition) []jobpolicy.PodCondition {
	i := slices.IndexFunc(conditions, func(old jobpolicy.PodCondition) bool { return old.Type == c.Type })
	switch {
	case i < 0:
		return append(slices.Clone(conditions), c)
	case conditions[i].Status == c.Status:
		return conditions
	}
	conditions = slices.Clone(conditions)
	conditions[i] = c
	return conditions
}
