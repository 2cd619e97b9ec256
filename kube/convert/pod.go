package convert

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Pod converts a pod to the fields that jobpolicy knows.
func Pod(p *corev1.Pod) *batch.Pod {
	return Pods([]*corev1.Pod{p})[0]
}

// Pods converts pods for [jobpolicy.Input], faster than Pod. Up to 256 pods share a
// block of memory, which stays alive while one of them is in use.
func Pods(pods []*corev1.Pod) []*batch.Pod {
	if len(pods) == 0 {
		return nil
	}
	all := make([]*batch.Pod, len(pods))
	for from := 0; from < len(pods); from += blockOfPods {
		to := min(from+blockOfPods, len(pods))
		convertBlock(all[from:to], pods[from:to])
	}
	return all
}

// blockOfPods is how many pods are converted together. Each pod is read twice, to count
// and to copy. With this number pods remain in the processor's cache in between, which
// saves a tenth of the time with ten thousand pods.
const blockOfPods = 256

func convertBlock(all []*batch.Pod, pods []*corev1.Pod) {
	var size podSizes
	for _, p := range pods {
		if p != nil {
			size.add(p)
		}
	}
	room := size.room()
	for i, p := range pods {
		if p != nil {
			all[i] = room.pod(p)
		}
	}
}

// podSizes counts the elements of each kind in pods that jobpolicy knows.
type podSizes struct {
	pods, containers, env, conditions, statuses, terminated int
}

func (n *podSizes) add(p *corev1.Pod) {
	n.pods++
	n.conditions += len(p.Status.Conditions)
	for _, containers := range [...][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		n.containers += len(containers)
		for i := range containers {
			n.env += len(containers[i].Env)
		}
	}
	for _, statuses := range [...][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		n.statuses += len(statuses)
		for i := range statuses {
			if statuses[i].State.Terminated != nil {
				n.terminated++
			}
		}
	}
}

// podRoom is memory for a number of pods, allocated at once, because the allocator and
// the garbage collector take longer for thousands of small objects than the copy does.
type podRoom struct {
	pods       []batch.Pod
	containers []batch.Container
	env        []batch.EnvVar
	conditions []batch.PodCondition
	statuses   []batch.ContainerStatus
	terminated []batch.ContainerStateTerminated
}

func (n *podSizes) room() *podRoom {
	return &podRoom{
		pods:       make([]batch.Pod, n.pods),
		containers: make([]batch.Container, n.containers),
		env:        make([]batch.EnvVar, n.env),
		conditions: make([]batch.PodCondition, n.conditions),
		statuses:   make([]batch.ContainerStatus, n.statuses),
		terminated: make([]batch.ContainerStateTerminated, n.terminated),
	}
}

// take cuts off n elements, returning nil for 0.
func take[T any](room *[]T, n int) []T {
	if n == 0 {
		return nil
	}
	taken := (*room)[:n:n]
	*room = (*room)[n:]
	return taken
}

func (r *podRoom) pod(p *corev1.Pod) *batch.Pod {
	pod := &take(&r.pods, 1)[0]
	pod.Kind = p.Kind
	pod.APIVersion = p.APIVersion
	setMeta(&pod.ObjectMeta, &p.ObjectMeta)
	r.spec(&pod.Spec, &p.Spec)
	s := &pod.Status
	s.Phase = batch.PodPhase(p.Status.Phase)
	s.Conditions = r.podConditions(p.Status.Conditions)
	s.Message = p.Status.Message
	s.Reason = p.Status.Reason
	s.StartTime = timeAt(p.Status.StartTime)
	s.InitContainerStatuses = r.containerStatuses(p.Status.InitContainerStatuses)
	s.ContainerStatuses = r.containerStatuses(p.Status.ContainerStatuses)
	return pod
}

func (r *podRoom) spec(spec *batch.PodSpec, s *corev1.PodSpec) {
	spec.InitContainers = r.specContainers(s.InitContainers)
	spec.Containers = r.specContainers(s.Containers)
	spec.RestartPolicy = batch.RestartPolicy(s.RestartPolicy)
	spec.TerminationGracePeriodSeconds = s.TerminationGracePeriodSeconds
	spec.NodeName = s.NodeName
	spec.Hostname = s.Hostname
	spec.Subdomain = s.Subdomain
	spec.NodeSelector = s.NodeSelector
	if s.OS != nil {
		spec.OS = &batch.PodOS{Name: string(s.OS.Name)}
	}
	spec.ReadinessGates = each(s.ReadinessGates, func(g *corev1.PodReadinessGate) batch.PodReadinessGate {
		return batch.PodReadinessGate{ConditionType: batch.PodConditionType(g.ConditionType)}
	})
	if s.SchedulingGroup != nil {
		spec.SchedulingGroup = &batch.PodSchedulingGroup{PodGroupName: s.SchedulingGroup.PodGroupName}
	}
}

// specContainers converts the containers. Variables with a value from elsewhere keep
// only their name.
func (r *podRoom) specContainers(containers []corev1.Container) []batch.Container {
	all := take(&r.containers, len(containers))
	for i := range all {
		c, from := &all[i], &containers[i]
		c.Name = from.Name
		c.Image = from.Image
		c.Command = from.Command
		c.Args = from.Args
		c.WorkingDir = from.WorkingDir
		c.RestartPolicy = batch.RestartPolicy(valueAt(from.RestartPolicy))
		for j := range from.RestartPolicyRules {
			c.RestartPolicyRules = append(c.RestartPolicyRules, batch.ContainerRestartRule{Action: backoff.Action(from.RestartPolicyRules[j].Action)})
		}
		c.Env = take(&r.env, len(from.Env))
		for j := range c.Env {
			c.Env[j].Name = from.Env[j].Name
			c.Env[j].Value = from.Env[j].Value
		}
	}
	return all
}

func (r *podRoom) podConditions(conditions []corev1.PodCondition) []batch.PodCondition {
	all := take(&r.conditions, len(conditions))
	for i := range all {
		c, from := &all[i], &conditions[i]
		c.Type = batch.PodConditionType(from.Type)
		c.Status = batch.ConditionStatus(from.Status)
		c.LastTransitionTime = from.LastTransitionTime.Time
		c.Reason = from.Reason
		c.Message = from.Message
	}
	return all
}

func (r *podRoom) containerStatuses(statuses []corev1.ContainerStatus) []batch.ContainerStatus {
	all := take(&r.statuses, len(statuses))
	for i := range all {
		s, from := &all[i], &statuses[i]
		s.Name = from.Name
		s.Ready = from.Ready
		s.RestartCount = from.RestartCount
		if w := from.State.Waiting; w != nil {
			s.State.Waiting = &batch.ContainerStateWaiting{Reason: w.Reason, Message: w.Message}
		}
		if running := from.State.Running; running != nil {
			s.State.Running = &batch.ContainerStateRunning{StartedAt: running.StartedAt.Time}
		}
		if t := from.State.Terminated; t != nil {
			s.State.Terminated = &take(&r.terminated, 1)[0]
			*s.State.Terminated = batch.ContainerStateTerminated{
				ExitCode:   t.ExitCode,
				Signal:     t.Signal,
				Reason:     t.Reason,
				Message:    t.Message,
				StartedAt:  t.StartedAt.Time,
				FinishedAt: t.FinishedAt.Time,
			}
		}
	}
	return all
}
