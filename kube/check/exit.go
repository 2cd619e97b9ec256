package check

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/seconds"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/lint"
	"github.com/restartkit/restart/kube/convert"
)

// ExitEffect is the effect of a container's exit with a code.
type ExitEffect struct {
	Container string `json:"container"`
	Code      int32  `json:"code"`
	Text      string `json:"text"` // one sentence
}

// AfterExit returns what happens after each init container and container of a valid object
// exits with the code, without any signal, deletion or disruption. It leaves out the
// fields that the version of Kubernetes drops. It returns nil for an object of a kind that
// Judge does not judge.
func (o *Object) AfterExit(code int32, opts Options) (effects []ExitEffect) {
	a := o.aftermath(opts)
	if a == nil {
		return nil
	}
	for i := range a.pod.InitContainers {
		c := &a.pod.InitContainers[i]
		effects = append(effects, ExitEffect{c.Name, code, a.ofExit(c, !isSidecar(c), code)})
	}
	for i := range a.pod.Containers {
		c := &a.pod.Containers[i]
		effects = append(effects, ExitEffect{c.Name, code, a.ofExit(c, false, code)})
	}
	return effects
}

const (
	drainedCode = 143 // exit code of a program that SIGTERM ends
	killedCode  = 137 // of one that SIGKILL ends, after its grace period
)

// AfterDrain returns what happens after kubectl drain has evicted a pod of a valid object,
// whose containers then end with exit code 143, in one sentence. It is "" for an object of
// a kind that Judge does not judge.
func (o *Object) AfterDrain(opts Options) string {
	a := o.aftermath(opts)
	switch {
	case a == nil:
		return ""
	case a.kind == "Pod":
		return "the pod is deleted, if kubectl drain is told to with --force, and nothing starts another one"
	case a.kind == "DaemonSet":
		return "kubectl drain passes over pods of a DaemonSet, if it is told to with --ignore-daemonsets"
	case a.job == nil:
		return "the pod is deleted, and another one starts on another node"
	}
	drained := drainedPod(a.job, drainedCode)
	if opts.minor() < setsDisruptionTarget {
		drained.Status.Conditions = slices.DeleteFunc(drained.Status.Conditions, func(c batch.PodCondition) bool { return c.Type == batch.DisruptionTarget })
		return "the pod fails; " + a.ofFailure(jobpolicy.MatchPod(a.job.PodFailurePolicy, drained))
	}
	return "the pod fails with the condition DisruptionTarget; " + a.ofFailure(jobpolicy.MatchPod(a.job.PodFailurePolicy, drained))
}

// failedPod returns a pod that failed because these containers ended with a code, with the
// conditions that a kubelet sets on each pod that has run.
func failedPod(code int32, containers ...string) *batch.Pod {
	p := &batch.Pod{Status: batch.PodStatus{Phase: batch.PodFailed, Conditions: []batch.PodCondition{
		{Type: "PodScheduled", Status: batch.ConditionTrue},
		{Type: "PodReadyToStartContainers", Status: batch.ConditionFalse},
		{Type: "ContainersReady", Status: batch.ConditionFalse},
		{Type: batch.PodReady, Status: batch.ConditionFalse},
	}}}
	for _, name := range containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, batch.ContainerStatus{
			Name:  name,
			State: batch.ContainerState{Terminated: &batch.ContainerStateTerminated{ExitCode: code}},
		})
	}
	return p
}

// drainedPod returns a pod of a Job that was evicted and whose containers ended with a code.
func drainedPod(job *batch.JobSpec, code int32) *batch.Pod {
	var names []string
	for i := range job.Template.Spec.Containers {
		names = append(names, job.Template.Spec.Containers[i].Name)
	}
	p := failedPod(code, names...)
	p.Status.Conditions = append(p.Status.Conditions, batch.PodCondition{Type: batch.DisruptionTarget, Status: batch.ConditionTrue})
	return p
}

// aftermath is what decides about the time after an exit.
type aftermath struct {
	kind string // of the object
	pod  *corev1.PodSpec
	job  *batch.JobSpec // with defaults; nil if the pod is not of a Job

	dropped     []int // indexes of the rules that the version drops from the Job's podFailurePolicy
	runsOn      bool  // some container of the pod, which no Job owns, never stays ended
	restartsAll bool  // a rule of a container that runs beside the others restarts all
}

func newAftermath(kind string, pod *corev1.PodSpec) *aftermath {
	a := &aftermath{kind: kind, pod: pod}
	for i := range pod.Containers {
		c := &pod.Containers[i]
		_, ends := staysEnded(pod, c)
		a.runsOn = a.runsOn || !ends
		a.restartsAll = a.restartsAll || mayRestartAll(c)
	}
	for i := range pod.InitContainers {
		if c := &pod.InitContainers[i]; isSidecar(c) {
			a.restartsAll = a.restartsAll || mayRestartAll(c)
		}
	}
	return a
}

func mayRestartAll(c *corev1.Container) bool {
	return slices.ContainsFunc(c.RestartPolicyRules, func(r corev1.ContainerRestartRule) bool {
		return r.Action == corev1.ContainerRestartRuleActionRestartAllContainers
	})
}

// aftermath returns nil for an object of a kind that Judge passes over.
func (o *Object) aftermath(opts Options) *aftermath {
	pod := o.podSpec()
	if pod == nil {
		return nil
	}
	minor := opts.minor()
	a := newAftermath(o.Kind, keptInPod(pod, minor))
	if of := o.Job(); of != nil {
		spec := convert.Job(of).Spec
		a.job, a.dropped = keptInJob(spec, minor), droppedRules(&spec, minor)
		a.job.Default()
	}
	return a
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

// ofExit describes the effect of a container's exit.
func (a *aftermath) ofExit(c *corev1.Container, isInit bool, code int32) string {
	policy := convert.ExitPolicy(a.pod, c)
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
		text := "all containers of the pod restart, without a delay" + why + a.countedInPlace()
		if len(a.pod.Containers)+len(a.pod.InitContainers) > 1 {
			text = "the other containers get 2s to end, and then " + text // minimumGracePeriodInSeconds of the kubelet
			if a.job != nil && a.job.Template.Spec.RestartPolicy == batch.RestartPolicyOnFailure && *a.job.BackoffLimit < math.MaxInt32 {
				text += ", of which each container counts as one"
			}
		}
		return text
	case action == backoff.ActionRestart:
		return "it restarts in its pod " + a.delaysInPlace() + why + a.countedInPlace()
	case code == 0 && isInit:
		return "it is done, and the pod goes on"
	case a.job == nil && !isInit && a.runsOn && a.restartsAll:
		return "it stays ended, and the pod runs on without it until a rule restarts all of its containers" + why
	case a.job == nil && !isInit && a.runsOn:
		return "it stays ended, and the pod runs on without it and is not Ready again" + why
	case a.isKeptRunning():
		return a.ofEnd(c, isInit, code, why)
	case code == 0:
		return "it is done; the pod succeeds if all of its containers do" + why
	}
	text := "it stays ended, and the pod fails"
	if !isInit && len(a.pod.Containers) > 1 {
		text += " once its other containers have ended"
	}
	if text += why; a.job != nil {
		text += "; " + a.ofFailure(jobpolicy.MatchPod(a.job.PodFailurePolicy, failedPod(code, c.Name)))
	}
	return text
}

// isKeptRunning reports whether a controller replaces each pod that ends.
func (a *aftermath) isKeptRunning() bool { return a.job == nil && a.kind != "Pod" }

// ofEnd describes the effect of a container that stays ended in a pod which a controller
// replaces once it has ended.
func (a *aftermath) ofEnd(c *corev1.Container, isInit bool, code int32, why string) string {
	if !isInit && len(a.pod.Containers) > 1 {
		return "it stays ended, and the pod is not Ready from then on, and ends once its other containers have" + why + "; then " + a.replacement(code)
	}
	end := "fails"
	if code == 0 {
		end = "succeeds"
	}
	return "it stays ended, and the pod " + end + why + "; " + a.replacement(code)
}

// replacement describes how a controller replaces a pod that has ended. Only that of
// DaemonSets waits, from 1s to 15m, and only after failures.
func (a *aftermath) replacement(code int32) string {
	if a.kind == "DaemonSet" && code != 0 {
		return "another pod starts at once, then after 1s, then 2s and so on, up to 15m"
	}
	return "another pod starts at once, without a delay however often this happens"
}

// staysEnded returns an exit code after which a container does not restart, if there is
// one: 1 if possible.
func staysEnded(pod *corev1.PodSpec, c *corev1.Container) (code int32, ends bool) {
	policy := convert.ExitPolicy(pod, c)
	most := int32(1)
	if len(policy.Rules) > 0 { // otherwise only failure and success differ
		most = 255
	}
	for n := range most + 1 {
		code = (n + 1) % (most + 1) // 1 to the greatest, then 0
		if action, _ := policy.DecideExit(backoff.Exit{Code: code}, 1); action == backoff.ActionStop {
			return code, true
		}
	}
	return 0, false
}

// delaysInPlace says how long the delays of a container's restarts in its pod are. A
// kubelet's first restart has none.
func (a *aftermath) delaysInPlace() string {
	most := math.MaxInt32
	if a.job != nil && a.job.Template.Spec.RestartPolicy == batch.RestartPolicyOnFailure {
		most = max(int(*a.job.BackoffLimit), 1)
	}
	if most == 1 {
		return "at once"
	}
	return "at once, then " + delays(backoff.CrashLoop(), most-1)
}

// countedInPlace says which limit of a Job counts restarts in place.
func (a *aftermath) countedInPlace() string {
	if a.job == nil {
		return ""
	}
	if isForeign(a.job) {
		return "; " + a.job.ManagedBy + " runs the Job, and decides what counts these restarts"
	}
	deadline, hasDeadline := a.deadline()
	limit := *a.job.BackoffLimit
	text := fmt.Sprintf("; the Job fails at %d restarts%s (backoffLimit)", limit, ofWhichPods(a.job))
	switch {
	case a.job.Template.Spec.RestartPolicy != batch.RestartPolicyOnFailure && hasDeadline:
		return "; no limit of the Job counts these restarts, but the Job fails " + afterDeadline(deadline)
	case a.job.Template.Spec.RestartPolicy != batch.RestartPolicyOnFailure:
		return "; no limit of the Job counts these restarts"
	case limit == math.MaxInt32 && hasDeadline:
		return "; the Job fails " + afterDeadline(deadline)
	case limit == math.MaxInt32:
		return "; nothing limits these restarts"
	case limit <= 1:
		text = "; the Job fails at the first restart"
	}
	if hasDeadline {
		text += ", or " + afterDeadline(deadline)
	}
	return text
}

// ofWhichPods says which restarts in place count towards a Job's backoffLimit: those of pods
// that have not ended.
func ofWhichPods(job *batch.JobSpec) string {
	if job.Completions != nil && *job.Completions <= 1 {
		return " in all"
	}
	return " of the pods that run at the time"
}

// isForeign reports whether another controller than Kubernetes' own runs the Job.
func isForeign(job *batch.JobSpec) bool {
	return job.ManagedBy != "" && job.ManagedBy != "kubernetes.io/job-controller"
}

// deadline returns the deadline of the Job.
func (a *aftermath) deadline() (deadline time.Duration, has bool) {
	if a.job.ActiveDeadlineSeconds == nil {
		return 0, false
	}
	return seconds.Duration(*a.job.ActiveDeadlineSeconds), true
}

func afterDeadline(deadline time.Duration) string {
	return fmt.Sprintf("after %v (activeDeadlineSeconds)", deadline)
}

// ofFailure describes the reaction of a Job to a pod that failed.
func (a *aftermath) ofFailure(match jobpolicy.Match) string {
	job, why := a.job, ""
	if isForeign(job) {
		return job.ManagedBy + " runs the Job, and decides what follows"
	}
	if match.Rule >= 0 {
		why = fmt.Sprintf(" (podFailurePolicy.rules[%d])", a.inFile(match.Rule))
	}
	switch match.Action {
	case batch.ActionFailJob:
		return "the Job fails at once" + why
	case batch.ActionFailIndex:
		return "its index fails at once" + why + a.ofFailedIndexes()
	}
	limit, name, who := *job.BackoffLimit, "backoffLimit", "the Job"
	which, inAll := "", ""
	if perIndex := job.BackoffLimitPerIndex; job.CompletionMode == batch.IndexedCompletion && perIndex != nil {
		if *perIndex < limit {
			if limit < math.MaxInt32 {
				inAll = fmt.Sprintf("; the Job fails with failure %d of all indexes (backoffLimit)", int64(limit)+1)
			}
			limit, name, who = *perIndex, "backoffLimitPerIndex", "the index"
			inAll += a.ofFailedIndexes()
		} else {
			which = " of all indexes"
		}
	}
	isIgnored := match.Action == batch.ActionIgnore
	if limit == 0 && !isIgnored {
		return fmt.Sprintf("%s fails, since %s is 0%s", who, name, why) + inAll
	}
	replaced := int(limit) // failures before the last one
	if isIgnored {
		replaced = math.MaxInt32
	}
	deadline, hasDeadline := a.deadline()
	inTime := replaced
	if hasDeadline {
		if inTime = replacedBefore(deadline, replaced); inTime == 0 {
			return "the pod is not replaced, since the Job fails " + afterDeadline(deadline) + why
		}
	}
	text := "another pod starts " + delays(backoff.JobPod(), inTime)
	switch isLast := inTime < replaced && a.deadlineIsFirst(); {
	case isIgnored && hasDeadline:
		return text + ", and the failure counts towards no limit" + why + "; the Job fails " + afterDeadline(deadline)
	case isIgnored:
		return text + ", and the failure counts towards no limit" + why
	case limit == math.MaxInt32 && hasDeadline:
		return text + ", and the Job fails " + afterDeadline(deadline) + why
	case limit == math.MaxInt32:
		return text + ", without a limit" + why
	case isLast:
		return text + fmt.Sprintf(", and the Job fails %s, before failure %d%s (%s)%s", afterDeadline(deadline), int64(limit)+1, which, name, why) + inAll
	}
	text += fmt.Sprintf(", and %s fails with failure %d%s (%s)", who, int64(limit)+1, which, name)
	switch {
	case hasDeadline && who == "the Job":
		text += ", or " + afterDeadline(deadline)
	case hasDeadline:
		text += ", or the Job " + afterDeadline(deadline)
	}
	return text + why + inAll
}

// ofFailedIndexes says when failed indexes fail the Job, if there is a limit.
func (a *aftermath) ofFailedIndexes() string {
	switch most := a.job.MaxFailedIndexes; {
	case most == nil || a.job.Completions != nil && *most >= *a.job.Completions: // never more
		return ""
	case *most == 0:
		return ", and with it the Job (maxFailedIndexes)"
	default:
		return fmt.Sprintf("; the Job fails with failed index %d (maxFailedIndexes)", int64(*most)+1)
	}
}

// inFile returns the index that a rule of the Job's podFailurePolicy has in the file.
func (a *aftermath) inFile(rule int) int {
	for _, dropped := range a.dropped {
		if dropped <= rule {
			rule++
		}
	}
	return rule
}

// replacedBefore returns how many of at most limit failures in a row are replaced before
// a deadline.
func replacedBefore(deadline time.Duration, limit int) (n int) {
	curve := backoff.JobPod()
	waited := time.Duration(0)
	for ; n < limit; n++ {
		delay := curve.Delay(n + 1)
		if delay >= deadline-waited {
			break
		}
		if waited += delay; delay == curve.Max { // as are all further ones
			return n + 1 + min(limit-n-1, int((deadline-waited-1)/delay))
		}
	}
	return n
}

// deadlineIsFirst reports whether the deadline passes before any limit of failures can be
// reached, even if pods fail together and others succeed between.
func (a *aftermath) deadlineIsFirst() bool {
	return slices.ContainsFunc(lint.Check(a.job), func(f lint.Finding) bool { return f.Kind == lint.KindDeadline })
}

// delays says how long the delays after so many failures are.
func delays(p backoff.Policy, failures int) string {
	text := fmt.Sprintf("after %v", p.Delay(1))
	if failures > 1 {
		text += fmt.Sprintf(", then %v", p.Delay(2))
	}
	if failures > 2 {
		longest := p.Delay(failures).String()
		if strings.HasSuffix(longest, "m0s") {
			longest = strings.TrimSuffix(longest, "0s") // 5m for 5m0s
		}
		text += " and so on, up to " + longest
	}
	return text
}
