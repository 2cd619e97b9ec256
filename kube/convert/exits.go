package convert

import (
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/backoff"
)

// Exits returns the ends that a container's status shows, the earlier one first: at
// most that in its last state and that in its state. Report all of them to a Restarter
// whenever the status changes. An end that the status shows again has the same Run
// again, as far as restartCount tells; the first one has 1. A status shows no more than
// two ends, so earlier ones go unseen if nobody looked in between.
//
// An end whose time is not known has no Finished. A container that never started has
// no Started, also where the runtime says 1970.
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
	if t := s.LastTerminationState.Terminated; t != nil {
		exits = append([]backoff.Exit{exitOf(t, run)}, exits...)
	}
	return exits
}

// PodExits returns the Exits of all init containers and containers of a pod, by
// container.
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

// ExitPolicy returns the restart policy and rules that hold for a container of a
// pod with this specification.
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
	if c.RestartPolicy != nil {
		policy.RestartPolicy = backoff.RestartPolicy(*c.RestartPolicy)
	}
	return policy
}

// latestRun returns the number, from 1, of the latest run that the status shows the
// end of. The kubelet's restartCount is the number of runs before the container that
// the status is about. While that container has not come to exist, the status is
// about the one before it, but for what the kubelet infers: of a container that it
// lost it counts the next run at once.
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
		return ended + 1 // CrashLoopBackOff, ImagePullBackOff and their like
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

// known returns the time, zero if it is the beginning of Unix time or earlier, where
// runtimes put what has not happened.
func known(t metav1.Time) time.Time {
	if t.Unix() <= 0 {
		return time.Time{}
	}
	return t.Time
}
