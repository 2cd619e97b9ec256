package convert

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/backoff"
)

// Role is the role of a container in its pod.
type Role string

// The roles of a container. Ephemeral containers have none, because a kubelet never
// restarts them.
const (
	RoleInit    Role = "init"      // runs to completion before later containers start
	RoleSidecar Role = "sidecar"   // an init container with restartPolicy Always
	RoleMain    Role = "container" // one of spec.containers
)

// History is the part of a container's history that its pod shows. It shares memory
// with the pod.
type History struct {
	Container *corev1.Container
	Role      Role
	Policy    backoff.ExitPolicy      // as ExitPolicy returns it
	Status    *corev1.ContainerStatus // nil if no kubelet has reported it
	Exits     []backoff.Exit          // as Exits returns them, the latest last
	Ended     int64                   // ended runs, as far as restartCount tells
	Unseen    int64                   // ended runs that Exits lacks
}

// Histories returns the histories of a pod's init containers and containers, in the
// order of the specification. It is nil for a nil pod.
func Histories(p *corev1.Pod) []History {
	if p == nil {
		return nil
	}
	all := make([]History, 0, len(p.Spec.InitContainers)+len(p.Spec.Containers))
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		role := RoleInit
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			role = RoleSidecar
		}
		all = append(all, history(p, c, role, p.Status.InitContainerStatuses))
	}
	for i := range p.Spec.Containers {
		all = append(all, history(p, &p.Spec.Containers[i], RoleMain, p.Status.ContainerStatuses))
	}
	return all
}

func history(p *corev1.Pod, c *corev1.Container, role Role, statuses []corev1.ContainerStatus) History {
	h := History{Container: c, Role: role, Policy: ExitPolicy(&p.Spec, c)}
	for i := range statuses {
		if statuses[i].Name != c.Name {
			continue
		}
		h.Status = &statuses[i]
		h.Exits = Exits(h.Status)
		h.Ended = max(int64(h.Status.RestartCount), int64(len(h.Exits)))
		for _, e := range h.Exits {
			h.Ended = max(h.Ended, e.Run)
		}
		h.Unseen = h.Ended - int64(len(h.Exits))
		break
	}
	return h
}

// Last returns the latest exit that the pod shows, and reports whether there is one.
func (h *History) Last() (e backoff.Exit, ok bool) {
	if len(h.Exits) == 0 {
		return backoff.Exit{}, false
	}
	return h.Exits[len(h.Exits)-1], true
}

// CrashLoopDelay returns the delay of the crash loop in which the container waits, and
// reports whether it waits in one whose delay the kubelet has named.
func (h *History) CrashLoopDelay() (time.Duration, bool) {
	if h.Status == nil || h.Status.State.Waiting == nil {
		return 0, false
	}
	return CrashLoopDelay(h.Status.State.Waiting.Message)
}

// RestartWindow returns the earliest and the latest time at which a kubelet with this
// syncFrequency restarts the container from its crash loop, and reports whether both
// are known. [backoff.KubeletRestart] describes the window. Statuses have whole
// seconds, so the exit may be up to a second later than they show, and the latest time
// includes that second.
func (h *History) RestartWindow(syncFrequency time.Duration) (from, to time.Time, ok bool) {
	delay, waits := h.CrashLoopDelay()
	exit, ended := h.Last()
	if !waits || !ended || exit.Finished.IsZero() {
		return time.Time{}, time.Time{}, false
	}
	w := backoff.KubeletRestart(delay, syncFrequency)
	return exit.Finished.Add(w.From), exit.Finished.Add(w.To).Add(time.Second), true
}

// CrashLoopDelay returns the delay in a kubelet's message about a waiting container,
// such as "back-off 10s restarting failed container=c pod=p", and reports whether the
// message is one.
func CrashLoopDelay(message string) (time.Duration, bool) {
	const prefix = "back-off "
	if len(message) < len(prefix) || !strings.EqualFold(message[:len(prefix)], prefix) {
		return 0, false
	}
	text, _, restarting := strings.Cut(message[len(prefix):], " restarting failed container")
	delay, err := time.ParseDuration(text)
	if !restarting || err != nil || delay < 0 {
		return 0, false
	}
	return delay, true
}
