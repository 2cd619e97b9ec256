package convert

import (
	"cmp"
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/backoff"
)

// Exits returns the exits in a container's last and current state, at most two. Report
// all of them to a Restarter whenever the status changes. The same exit has the same
// Run each time, counted from 1, as far as restartCount tells. Exits between
// observations may be missing.
//
// Finished is zero if unknown. Started is zero if the container never started, even
// where the runtime reports 1970.
func Exits(s *corev1.ContainerStatus) []backoff.Exit {
	if s == nil {
		return nil
	}
	var exits []backoff.Exit
	run := latestRun(s)
	if t := s.State.Terminated; t != nil {
		exits = append(exits, exitOf(t, run))
		run--
	}
	if t := s.LastTerminationState.Terminated; t != nil && !sameRun(t, s.State.Terminated) {
		exits = append([]backoff.Exit{exitOf(t, run)}, exits...)
	}
	return exits
}

// sameRun reports whether two states tell the end of one run. A kubelet that ends a pod
// while a container waits for its restart makes the last state the current one, too.
func sameRun(a, b *corev1.ContainerStateTerminated) bool {
	return b != nil && a.ContainerID != "" && a.ContainerID == b.ContainerID
}

// PodExits returns the Exits of a pod's init containers and containers, by name.
func PodExits(p *corev1.Pod) iter.Seq2[string, backoff.Exit] {
	return func(yield func(container string, e backoff.Exit) bool) {
		if p == nil {
			return
		}
		for _, statuses := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
			for i := range statuses {
				for _, e := range Exits(&statuses[i]) {
					if !yield(statuses[i].Name, e) {
						return
					}
				}
			}
		}
	}
}

// ExitPolicy returns the restart policy and rules of a container in a pod. In a pod that
// restarts always, a kubelet runs an init container without a policy of its own until it
// has succeeded once, so its policy is OnFailure. An init container is recognized by its
// name.
func ExitPolicy(pod *corev1.PodSpec, c *corev1.Container) backoff.ExitPolicy {
	policy := backoff.ExitPolicy{
		RestartPolicy: backoff.RestartPolicy(pod.RestartPolicy),
		Rules: each(c.RestartPolicyRules, func(r *corev1.ContainerRestartRule) backoff.Rule {
			rule := backoff.Rule{Action: backoff.Action(r.Action)}
			if codes := r.ExitCodes; codes != nil {
				rule.ExitCodes = &backoff.ExitCodes{
					Operator: backoff.Operator(codes.Operator),
					Values:   append([]int32(nil), codes.Values...),
				}
			}
			return rule
		}),
	}
	switch {
	case c.RestartPolicy != nil:
		policy.RestartPolicy = backoff.RestartPolicy(*c.RestartPolicy)
	case isInit(pod, c) && cmp.Or(pod.RestartPolicy, corev1.RestartPolicyAlways) == corev1.RestartPolicyAlways:
		policy.RestartPolicy = backoff.RestartPolicyOnFailure
	}
	return policy
}

// isInit reports whether the container is one of the pod's init containers.
func isInit(pod *corev1.PodSpec, c *corev1.Container) bool {
	return slices.ContainsFunc(pod.InitContainers, func(init corev1.Container) bool { return init.Name == c.Name })
}

// latestRun returns the number, from 1, of the latest run whose end the status shows.
// The kubelet's restartCount is the number of runs before the status' container. Until
// that container exists, the status describes the previous one. Only when the kubelet
// has lost a container and infers its end does it count the next run at once.
func latestRun(s *corev1.ContainerStatus) int64 {
	ended := int64(s.RestartCount)
	switch {
	case s.State.Terminated != nil:
		if s.State.Terminated.Reason == "ContainerStatusUnknown" {
			return ended
		}
		return ended + 1
	case s.State.Waiting != nil:
		switch s.State.Waiting.Reason {
		case "", "ContainerCreating", "PodInitializing", "RestartingAllContainers":
			return ended
		}
		return ended + 1 // such as CrashLoopBackOff and ImagePullBackOff
	}
	return ended
}

func exitOf(t *corev1.ContainerStateTerminated, run int64) backoff.Exit {
	return backoff.Exit{
		Run:      max(run, 0),
		Code:     t.ExitCode,
		Signal:   t.Signal,
		Reason:   t.Reason,
		Started:  known(t.StartedAt),
		Finished: known(t.FinishedAt),
	}
}

// known returns the time, or zero at or before the Unix epoch, which runtimes report
// for missing events.
func known(t metav1.Time) time.Time {
	if t.Unix() <= 0 {
		return time.Time{}
	}
	return t.Time
}
