package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// summarize sets Summary, Trouble and Advice.
func (j *jobView) summarize(x *Job) {
	if c, finished := j.job.Status.Finished(); finished {
		x.Trouble = c.Type == batch.JobFailed
		word := "it has completed"
		if x.Trouble {
			word = "it has failed"
			x.Advice = j.failureAdvice(x)
		}
		x.Summary = word + conditionText(string(c.Reason), c.Message)
		if x.Trouble && len(x.Failures) > 0 {
			x.Summary += "; the latest failed pod: " + x.Failures[0].text()
		}
		return
	}
	for _, c := range x.Conditions {
		switch batch.JobConditionType(c.Type) {
		case batch.JobFailureTarget:
			x.Summary, x.Trouble = "it is failing and waits for its pods to end"+conditionText(c.Reason, c.Message)+j.endings(), true
			x.Advice = j.failureAdvice(x)
			return
		case batch.JobSuccessCriteriaMet:
			x.Summary = "it has met its success criteria and waits for its pods to end" + conditionText(c.Reason, c.Message) + j.endings()
			return
		}
	}
	s := &j.job.Status
	waiting := 0
	for i := range x.Indexes {
		if x.Indexes[i].Start != nil {
			waiting++
		}
	}
	blockers := j.blockers()
	switch {
	case !j.object.DeletionTimestamp.IsZero():
		x.Summary = "it is being deleted, since " + ago(j.object.DeletionTimestamp.Time, j.Now)
		if len(j.object.Finalizers) > 0 {
			x.Summary += "; finalizers keep it: " + line(strings.Join(j.object.Finalizers, ", "))
		}
	case j.spec.Suspend:
		x.Summary, x.Trouble = "it is suspended; set spec.suspend to false to resume it", true
		if resumed := resumedWhen(j.object); resumed != "" {
			x.Summary = "it is suspended until " + resumed
		}
	case j.raw:
		x.Summary, x.Advice = asInAManifest, judgeManifests
	case j.deadlineOver():
		x.Summary, x.Trouble = j.deadlineText(), true
		if !j.Undated && j.Now.Sub(j.deadline) > overdueAfter {
			x.Advice = "see whether the Job controller runs: it should have failed the Job by now"
		}
	case j.paused():
		x.Summary, x.Trouble = fmt.Sprintf("it starts no pods, because spec.parallelism is 0: %d active, %d succeeded, %d failed", s.Active, s.Succeeded, s.Failed), true
		x.Advice = "set spec.parallelism to 1 or more"
	case j.hidden:
		whose := "its pods"
		if len(j.objects) > 0 {
			whose = "some of its pods"
		}
		x.Summary = fmt.Sprintf("%d active, %d succeeded, %d failed; %s are %s, so nothing is said about what comes next", s.Active, s.Succeeded, s.Failed, whose, j.Partial)
		x.Trouble = s.Active == 0
		x.Advice = j.logsOfAll()
	case j.foreign:
		x.Summary = fmt.Sprintf("%s runs it, whose delays are not known", line(j.spec.ManagedBy))
	case len(blockers) > 0:
		x.Summary, x.Trouble = j.blockedText(blockers), j.overdue(blockers[0])
		if x.Trouble && blockers[0].Spec.NodeName != "" {
			x.Advice = j.nodeAdvice(blockers[0])
		}
	case x.Start != nil && len(j.plan.Create) == 0:
		x.Summary, x.Trouble = "its next pod starts "+x.Start.soon(j.Options)+", after a delay because of a failure", true
		if x.Start.Never {
			x.Summary = j.deadlineText()
		}
		if len(x.Failures) > 0 {
			x.Summary += "; the latest failed pod: " + x.Failures[0].text()
		}
		x.Summary += j.nearLimit(x)
		x.Advice = j.failureAdvice(x)
	case x.Start != nil:
		x.Summary = j.podsDue()
		x.Trouble = j.Now.Sub(j.object.CreationTimestamp.Time) > time.Minute
		if e := latestEvent(j.EventsOf("Job", &j.object.ObjectMeta), "FailedCreate"); e != nil {
			x.Summary, x.Trouble = "its pods cannot be created: "+line(e.Message), true
			x.Advice = createAdvice(e.Message, j.object.Namespace)
		}
	case len(x.Waiting) > 0:
		suchAs := ""
		if len(x.Waiting) > 1 {
			suchAs = "such as "
		}
		x.Summary, x.Trouble = fmt.Sprintf("%s in trouble, %s%s: %s", counted(len(x.Waiting), "pod"), suchAs, line(x.Waiting[0].Name), x.Waiting[0].Summary), true
		x.Summary += j.nearLimit(x)
		x.Advice = x.Waiting[0].Advice
	case waiting > 0:
		x.Summary, x.Trouble = counted(waiting, "index")+" waiting for a delay after a failure", true
		x.Advice = j.failureAdvice(x)
	default:
		x.Summary = fmt.Sprintf("nothing is wrong: %d active, %d succeeded, %d failed", s.Active, s.Succeeded, s.Failed)
	}
}

// resumedWhen says when a suspended Job is resumed, or returns "" if that is up to its user.
// A queue or an owner would suspend it again.
func resumedWhen(job *batchv1.Job) string {
	if queue := job.Labels["kueue.x-k8s.io/queue-name"]; queue != "" {
		return "the queue " + line(queue) + " admits it"
	}
	if c := metav1.GetControllerOf(job); c != nil && c.Kind != "CronJob" {
		return line(c.Kind) + " " + line(c.Name) + " resumes it"
	}
	return ""
}

// paused reports whether the Job starts no pods until its parallelism is raised.
func (j *jobView) paused() bool {
	return j.spec.Parallelism != nil && *j.spec.Parallelism == 0 && !j.foreign && !j.createsNoMore()
}

// text describes a failed pod in a summary.
func (f *Failure) text() string {
	text := line(f.Pod) + ": " + f.Exit
	if f.Message != "" {
		text += ", with the last words " + quoted(lastLine(f.Message))
	}
	return text
}

// nearLimit says that a failure more or two end the Job.
func (j *jobView) nearLimit(x *Job) string {
	for _, l := range x.Limits {
		if l.Name == "backoffLimit" && l.Left > 0 && l.Left <= 2 {
			return fmt.Sprintf("; %s (backoffLimit %d)", more(l.Left, "failure ends the Job", "failures end the Job"), l.Max)
		}
	}
	return ""
}

// createsNoMore reports whether the Job is ending, being deleted, or a work queue of which a
// pod has succeeded.
func (j *jobView) createsNoMore() bool {
	for _, c := range j.object.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobFailureTarget || c.Type == batchv1.JobSuccessCriteriaMet) {
			return true
		}
	}
	return j.object.DeletionTimestamp != nil || j.spec.Completions == nil && j.job.Status.Succeeded > 0
}

// blockers returns the pods for whose end the Job waits before it creates others, the
// one due first in front. There are none unless podReplacementPolicy is Failed.
func (j *jobView) blockers() (all []*corev1.Pod) {
	if j.spec.PodReplacementPolicy != batch.PodReplacementFailed || j.spec.Suspend || j.foreign || j.createsNoMore() {
		return nil
	}
	active := 0
	for _, p := range j.objects {
		switch {
		case podEnded(p):
		case p.DeletionTimestamp != nil:
			all = append(all, p)
		default:
			active++
		}
	}
	wanted := 1
	if j.spec.Parallelism != nil {
		wanted = int(*j.spec.Parallelism)
	}
	if j.spec.Completions != nil {
		wanted = min(wanted, int(*j.spec.Completions)-int(j.job.Status.Succeeded))
	}
	if active >= wanted {
		return nil
	}
	slices.SortFunc(all, func(p, q *corev1.Pod) int { return p.DeletionTimestamp.Compare(q.DeletionTimestamp.Time) })
	return all
}

func (j *jobView) blockedText(blockers []*corev1.Pod) string {
	first := blockers[0]
	text := "it waits for " + counted(len(blockers), "terminating pod") + " to end before it creates another, because podReplacementPolicy is Failed"
	v := &podView{Explainer: j.Explainer, p: first, silent: j.silence(first)}
	what := strings.TrimPrefix(v.podOver(), "it ")
	text += fmt.Sprintf("; pod %s %s", line(first.Name), what)
	if j.overdue(first) {
		text += "; nothing replaces the pod until its end is known"
	}
	return text
}

// endings names the pods for whose end a Job waits that has been decided.
func (j *jobView) endings() string {
	for _, p := range j.objects {
		if !podEnded(p) && j.overdue(p) {
			v := &podView{Explainer: j.Explainer, p: p, silent: j.silence(p)}
			return fmt.Sprintf("; pod %s %s", line(p.Name), strings.TrimPrefix(v.podOver(), "it "))
		}
	}
	return ""
}

// restartsInPlace reports whether the kubelet restarts the containers of the Job's pods.
func (j *jobView) restartsInPlace() bool {
	return j.spec.Template.Spec.RestartPolicy == batch.RestartPolicyOnFailure
}

// podsAtTheLimit notes where pods and logs are, or will be, if restarts in place reach
// backoffLimit: the Job controller deletes the pod that still restarts.
func (j *jobView) podsAtTheLimit() []string {
	if !j.restartsInPlace() || j.foreign {
		return nil
	}
	c, finished := j.job.Status.Finished()
	switch {
	case finished && c.Type == batch.JobFailed && string(c.Reason) == string(batchv1.JobReasonBackoffLimitExceeded):
		text := "with restartPolicy OnFailure the pod that was still restarting is deleted when backoffLimit is reached, and its logs with it"
		if names, events := j.lostPods(); len(names) > 0 {
			text += "; Events still tell of " + sentence(": ", listed(names), sentence(" · ", events...))
		} else {
			text += "; Events would tell of it for an hour"
		}
		return []string{text + "; a log collector may have the logs; with restartPolicy Never, failed pods and their logs stay"}
	case !finished && !j.failing() && j.nearInPlace():
		return []string{fmt.Sprintf("when its restarts reach backoffLimit, the Job controller deletes the pod and its logs: save them before, with kubectl logs -n %s job/%s --all-containers", line(j.object.Namespace), line(j.object.Name))}
	}
	return nil
}

// nearInPlace reports whether the restarts of an unfinished Job's pods have used up half
// of backoffLimit.
func (j *jobView) nearInPlace() bool {
	if j.spec.BackoffLimit == nil {
		return false
	}
	restarts := j.restarts()
	return restarts > 0 && 2*restarts >= int64(*j.spec.BackoffLimit)
}

// lostPods returns the names of removed pods of the Job, and the Events about
// them.
func (j *jobView) lostPods() (names, texts []string) {
	there := make(map[string]bool)
	for _, p := range j.Pods {
		if p.Namespace == j.object.Namespace {
			there[p.Name] = true
		}
	}
	prefix := eventKey("Pod", j.object.Namespace, j.object.Name+"-")
	for key, list := range j.events {
		name := strings.TrimPrefix(key, eventKey("Pod", j.object.Namespace, ""))
		if !strings.HasPrefix(key, prefix) || there[name] || !podSuffix.MatchString(key[len(prefix):]) {
			continue
		}
		list = slices.DeleteFunc(slices.Clone(list), func(e *corev1.Event) bool { // of an earlier Job of the name
			return eventTime(e).Before(j.object.CreationTimestamp.Time)
		})
		if len(list) == 0 {
			continue
		}
		names = append(names, line(name))
		for _, e := range list {
			text := sentence(": ", line(e.Reason), line(e.Message))
			if e.Type == corev1.EventTypeWarning && worthShowing(e) && len(texts) < mostEvents && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	slices.Sort(names)
	return names, texts
}

// podSuffix matches the end of a pod's name, behind that of its Job: an index, if the
// Job is Indexed, and five random characters. It tells the pods of the Job report from those
// of the Job report-daily.
var podSuffix = regexp.MustCompile(`^(?:[0-9]+-)?[bcdfghjklmnpqrstvwxz2456789]{5}$`)

// failureAdvice says where to look after pods of a Job have failed.
func (j *jobView) failureAdvice(x *Job) string {
	namespace := line(j.object.Namespace)
	if len(x.Failures) > 0 {
		f := &x.Failures[0]
		text := fmt.Sprintf("see the log of the failed pod: kubectl logs -n %s %s", namespace, line(f.Pod))
		if f.container == "" {
			return text + " --all-containers"
		}
		return text + " -c " + line(f.container)
	}
	// A pod that still ends, or restarts in place, has the log of the run before.
	if len(x.Waiting) > 0 {
		for i := range x.Waiting[0].Containers {
			if c := &x.Waiting[0].Containers[i]; c.Restarts > 0 && c.last() != nil && c.last().Code != 0 {
				return fmt.Sprintf("see the log of the failed run: kubectl logs -n %s %s -c %s --previous", namespace, line(x.Waiting[0].Name), line(c.Name))
			}
		}
	}
	for _, p := range j.objects {
		if p.DeletionTimestamp != nil && !podEnded(p) {
			return fmt.Sprintf("its pod is being deleted, and its logs with it; save them now: kubectl logs -n %s %s --all-containers", namespace, line(p.Name))
		}
	}
	for _, c := range x.Conditions {
		if seconds := j.spec.ActiveDeadlineSeconds; c.Reason == string(batchv1.JobReasonDeadlineExceeded) && seconds != nil {
			return fmt.Sprintf("raise activeDeadlineSeconds (%d), or make it end sooner; the pods that ran at the deadline were deleted, and their logs with them", *seconds)
		}
	}
	if j.restartsInPlace() {
		return "the pod was deleted, and its logs with it (restartPolicy OnFailure): look in a log collector, and for an hour in kubectl events -n " + line(j.object.Namespace)
	}
	if j.Partial != "" {
		return j.logsOfAll()
	}
	return "its failed pods are gone, and their logs with them; a log collector may have them"
}

// logsOfAll says how to see the logs of pods that are missing from Pods.
func (j *jobView) logsOfAll() string {
	return fmt.Sprintf("see the logs of the pods that the cluster still has: kubectl logs -n %s -l %s=%s --all-containers --prefix",
		line(j.object.Namespace), batchv1.JobNameLabel, line(j.object.Name))
}
