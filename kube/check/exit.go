package check

import (
	"fmt"
	"math"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/convert"
)

// ExitEffect is the effect of a container's exit with a code.
type ExitEffect struct {
	Container string `json:"container"`
	Code      int32  `json:"code"`
	Text      string `json:"text"` // one sentence
}

// AfterExit returns what happens after each init container and container of a valid object
// exits with the code, without any signal, deletion or disruption. It returns nil for an
// object of a kind that Judge does not judge.
func (o *Object) AfterExit(code int32) (effects []ExitEffect) {
	pod := o.podSpec()
	if pod == nil {
		return nil
	}
	var job *batch.JobSpec
	if of := o.Job(); of != nil {
		job = &convert.Job(of).Spec
		job.Default()
	}
	for i := range pod.InitContainers {
		c := &pod.InitContainers[i]
		effects = append(effects, ExitEffect{c.Name, code, afterExit(pod, c, !isSidecar(c), job, code)})
	}
	for i := range pod.Containers {
		c := &pod.Containers[i]
		effects = append(effects, ExitEffect{c.Name, code, afterExit(pod, c, false, job, code)})
	}
	return effects
}

// podSpec returns the specification of the object's pods, or nil.
func (o *Object) podSpec() *corev1.PodSpec {
	switch value := o.Value.(type) {
	case *corev1.Pod:
		return &value.Spec
	case *appsv1.ReplicaSet:
		return &value.Spec.Template.Spec
	case *appsv1.Deployment:
		return &value.Spec.Template.Spec
	case *appsv1.StatefulSet:
		return &value.Spec.Template.Spec
	case *appsv1.DaemonSet:
		return &value.Spec.Template.Spec
	case *batchv1.Job, *batchv1.CronJob:
		return &o.Job().Spec.Template.Spec
	}
	return nil
}

// afterExit describes the effect of a container's exit. job is nil if the pod is not of a Job.
func afterExit(pod *corev1.PodSpec, c *corev1.Container, isInit bool, job *batch.JobSpec, code int32) string {
	policy := convert.ExitPolicy(pod, c)
	action, rule := policy.DecideExit(backoff.Exit{Code: code}, 1)
	why := fmt.Sprintf(" (restartPolicy %s)", policy.RestartPolicy)
	switch {
	case rule >= 0:
		why = fmt.Sprintf(" (restartPolicyRules[%d])", rule)
	case policy.RestartPolicy == "":
		why = " (restartPolicy Always)"
	}
	switch {
	case action == backoff.ActionRestartAll:
		return "all containers of the pod restart as soon as all have ended, without a delay" + why
	case action == backoff.ActionRestart:
		return "it restarts in its pod " + delays(backoff.CrashLoop()) + why + countedInPlace(job)
	case code == 0 && isInit:
		return "it is done, and the pod goes on"
	case code == 0:
		return "it is done; the pod succeeds if all of its containers do" + why
	}
	text := "it stays ended, and the pod fails"
	if !isInit && len(pod.Containers) > 1 {
		text += " once its other containers have ended"
	}
	if text += why; job != nil {
		text += "; " + afterFailure(job, c.Name, code)
	}
	return text
}

// countedInPlace says which limit of a Job counts restarts in place.
func countedInPlace(job *batch.JobSpec) string {
	switch {
	case job == nil:
		return ""
	case job.Template.Spec.RestartPolicy != batch.RestartPolicyOnFailure:
		return "; no limit of the Job counts these restarts"
	case *job.BackoffLimit == math.MaxInt32:
		return "; nothing limits these restarts"
	case *job.BackoffLimit <= 1:
		return "; the Job fails at the first restart"
	}
	return fmt.Sprintf("; the Job fails at %d restarts in all (backoffLimit)", *job.BackoffLimit)
}

// afterFailure describes the reaction of a Job to a pod that failed by a container's exit
// code.
func afterFailure(job *batch.JobSpec, container string, code int32) string {
	match := jobpolicy.MatchExit(job.PodFailurePolicy, container, code)
	why := ""
	if match.Rule >= 0 {
		why = fmt.Sprintf(" (podFailurePolicy.rules[%d])", match.Rule)
	}
	isPerIndex := job.CompletionMode == batch.IndexedCompletion && job.BackoffLimitPerIndex != nil
	switch match.Action {
	case batch.ActionFailJob:
		return "the Job fails at once" + why
	case batch.ActionFailIndex:
		return "its index fails at once" + why
	case batch.ActionIgnore:
		return "another pod starts " + delays(backoff.JobPod()) + ", and the failure counts towards no limit" + why
	}
	limit, name, who := *job.BackoffLimit, "backoffLimit", "the Job"
	if isPerIndex {
		limit, name, who = *job.BackoffLimitPerIndex, "backoffLimitPerIndex", "the index"
	}
	switch limit {
	case 0:
		return fmt.Sprintf("%s fails, since %s is 0%s", who, name, why)
	case math.MaxInt32:
		return "another pod starts " + delays(backoff.JobPod()) + ", without a limit" + why
	}
	return fmt.Sprintf("another pod starts %s, and %s fails with failure %d (%s)%s", delays(backoff.JobPod()), who, int64(limit)+1, name, why)
}

// delays says how long the delays of a curve are.
func delays(p backoff.Policy) string {
	longest := strings.TrimSuffix(p.Max.String(), "0s") // 5m for 5m0s
	return fmt.Sprintf("after %v, then %v and so on, up to %s", p.Initial, 2*p.Initial, longest)
}
