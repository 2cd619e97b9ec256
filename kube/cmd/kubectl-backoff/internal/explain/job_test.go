package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/jobcontroller"
)

// jobOf returns a Job that started ten minutes before noon.
func jobOf(change func(*batchv1.Job)) *batchv1.Job {
	start, one := at(-600), int32(1)
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "j", Namespace: "default", UID: "j", CreationTimestamp: start},
		Spec: batchv1.JobSpec{Completions: &one, Parallelism: &one,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c"}}}}},
		Status: batchv1.JobStatus{StartTime: &start},
	}
	change(job)
	return job
}

// jobPod returns a pod of a Job that has ended with the exit code some seconds after noon.
func jobPod(name string, code int32, seconds int, tracked bool) *corev1.Pod {
	p := podIn(corev1.RestartPolicyNever, 0, corev1.ContainerState{Terminated: ended(code, seconds)}, nil)
	p.Name, p.UID, p.CreationTimestamp = name, types.UID(name), at(seconds-5)
	if p.Status.Phase = corev1.PodFailed; code == 0 {
		p.Status.Phase = corev1.PodSucceeded
	}
	if tracked {
		p.Finalizers = []string{batch.JobTrackingFinalizer}
	}
	return p
}

// ownedBy returns a Job with pods that it controls.
func ownedBy(job *batchv1.Job, pods []*corev1.Pod) Objects {
	yes := true
	for _, p := range pods {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: job.Name, UID: job.UID, Controller: &yes}}
	}
	return Objects{Jobs: []*batchv1.Job{job}, Pods: pods}
}

// Jobs in unusual states, with parts of what is printed about each.
func TestJobs(t *testing.T) {
	two, three, seven := int32(2), int32(3), int32(7)
	indexed := batchv1.IndexedCompletion
	indexes := "0-2"
	for _, tt := range []struct {
		name string
		job  *batchv1.Job
		pods []*corev1.Pod
		says []string
	}{
		{"no pod yet", jobOf(func(*batchv1.Job) {}), nil, []string{"1 pod can start now", "the Job controller does not run or may not create pods"}},
		{"cut off before the counting", jobOf(func(j *batchv1.Job) {
			j.Spec.BackoffLimit = &three
			j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"a"}}
		}), []*corev1.Pod{jobPod("a", 1, -100, true), jobPod("b", 1, -90, true)},
			[]string{"1 in uncountedTerminatedPods; 1 ended but not yet in the status", "2 failures counted, 2 more fail", "2 pods ended more than a minute ago", "it may not be running"}},
		{"the streak ends with a success", jobOf(func(j *batchv1.Job) {
			j.Spec.Completions, j.Status.Succeeded, j.Status.Failed = &seven, 1, 2
		}), []*corev1.Pod{jobPod("a", 1, -30, false), jobPod("b", 0, -20, false), jobPod("c", 1, -5, false)}, []string{"between 12:00:05 and 12:00:07"}},
		{"failed pods are gone", jobOf(func(j *batchv1.Job) { j.Status.Failed = 4 }), []*corev1.Pod{jobPod("d", 1, -5, false)},
			[]string{"between 12:01:15 and", "3 earlier failed pods that the cluster no longer has"}},
		{"failed pods are gone, and the last is not in the status", jobOf(func(j *batchv1.Job) { j.Status.Failed = 3 }), []*corev1.Pod{jobPod("d", 1, -5, true)},
			[]string{"~in 1m15s to 1m17s", "4 failures counted", "its next pod starts in 1m15s to 1m17s, as an estimate",
				"from the delay after the last of 4 failures in a row, as the status counts them; sooner if the Job controller has restarted since"}},
		{"failed pods are gone, and the last is uncounted", jobOf(func(j *batchv1.Job) {
			j.Status.Failed, j.Status.UncountedTerminatedPods = 3, &batchv1.UncountedTerminatedPods{Failed: []types.UID{"d"}}
		}), []*corev1.Pod{jobPod("d", 1, -5, true)}, []string{"~in 1m15s to 1m17s"}},
		{"all failed pods are gone", jobOf(func(j *batchv1.Job) { j.Status.Failed = 3 }), nil, []string{"1 pod can start now"}},
		{"a success before the pods that are gone", jobOf(func(j *batchv1.Job) {
			j.Spec.Completions, j.Status.Succeeded, j.Status.Failed = &two, 1, 3
		}), []*corev1.Pod{jobPod("d", 1, -5, true)}, []string{"its next pod starts in 5s to 7s, after"}},
		{"our controller's memory", jobOf(func(j *batchv1.Job) {
			managed := ours
			j.Spec.ManagedBy = &managed
			j.Annotations = map[string]string{jobcontroller.AnnotationMemory: `{"job":"j","failures":2,"lastFailure":"2026-11-01T11:59:50Z"}`, "restartkit.dev/backoff-base": "30s"}
			j.Status.Failed = 2
		}), nil, []string{"between 12:00:50 and 12:00:52"}},
		{"another's memory and a wrong annotation", jobOf(func(j *batchv1.Job) {
			managed := ours
			j.Spec.ManagedBy = &managed
			j.Annotations = map[string]string{jobcontroller.AnnotationMemory: `{"job":"other"}`, "restartkit.dev/backoff-base": "-1s", "restartkit.dev/ignored-delay": "Some"}
		}), nil, []string{"not readable or another Job's", "the controller ignores an annotation: metadata.annotations[restartkit.dev/backoff-base]", "must be Same, Own or None"}},
		{"another controller", jobOf(func(j *batchv1.Job) { m := "example.com/controller"; j.Spec.ManagedBy = &m }), nil, []string{"example.com/controller runs it, whose delays are not known"}},
		{"restarts in place", jobOf(func(j *batchv1.Job) {
			j.Spec.BackoffLimit, j.Spec.Template.Spec.RestartPolicy = &three, corev1.RestartPolicyOnFailure
			j.Status.Active = 1
		}), []*corev1.Pod{podIn(corev1.RestartPolicyOnFailure, 2, waiting("CrashLoopBackOff", backOffMessage), ended(1, -5))},
			[]string{"2 restarts in place, 1 more fails it, too", "1 pod in trouble, p: container c (2 restarts) ended", "next start of c between 12:00:15"}},
		{"success policy", jobOf(func(j *batchv1.Job) {
			j.Spec.CompletionMode, j.Spec.Completions, j.Spec.Parallelism = &indexed, &seven, &two
			j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: &indexes, SucceededCount: &two}}}
			j.Status.CompletedIndexes, j.Status.Succeeded = "1,5", 2
		}), nil, []string{"successPolicy.rules[0] 2", "1 indexes of 0-2 succeeded, 1 more completes the Job"}},
		{"impossible status", jobOf(func(j *batchv1.Job) { j.Status.Failed = -1 }), nil, []string{"the status makes no sense, so nothing is predicted"}},
		{"unreadable indexes", jobOf(func(j *batchv1.Job) {
			j.Spec.CompletionMode, j.Spec.Completions, j.Spec.BackoffLimitPerIndex = &indexed, &three, &two
			text := "0,x"
			j.Status.FailedIndexes = &text
		}), nil, []string{"failed 0,x"}},
		{"unknown mode and condition", jobOf(func(j *batchv1.Job) {
			mode := batchv1.CompletionMode("Quantum")
			j.Spec.CompletionMode = &mode
			j.Status.Conditions = []batchv1.JobCondition{{Type: "Entangled", Status: corev1.ConditionTrue, Reason: "Why"}}
		}), nil, []string{`the completion mode "Quantum" is unknown`, "Entangled True (Why)"}},
		{"failing", jobOf(func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: "DeadlineExceeded"}}
		}), nil, []string{"it is failing and waits for its pods to end (DeadlineExceeded)"}},
		{"failing, with a failed pod", jobOf(func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded"}}
		}), []*corev1.Pod{jobPod("a", 1, -5, true)}, []string{"to do         see the log of the failed pod: kubectl logs -n default a -c c\n"}},
		{"failing, with a pod that restarts in place", jobOf(func(j *batchv1.Job) {
			j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
			j.Status.Active = 1
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded"}}
		}), []*corev1.Pod{podIn(corev1.RestartPolicyOnFailure, 2, waiting("CrashLoopBackOff", backOffMessage), ended(1, -5))},
			[]string{"to do         see the log of the failed run: kubectl logs -n default p -c c --previous\n"}},
		{"waiting for the next pod", jobOf(func(*batchv1.Job) {}), []*corev1.Pod{jobPod("a", 1, -5, true)},
			[]string{"its next pod starts in 5s to 7s", "to do         see the log of the failed pod: kubectl logs -n default a -c c\n"}},
		{"a deadline that deleted the pods", jobOf(func(j *batchv1.Job) {
			j.Spec.ActiveDeadlineSeconds, j.Status.Failed = new(int64(5)), 1
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonDeadlineExceeded}}
		}), nil, []string{"to do         raise activeDeadlineSeconds (5), or make it end sooner; the pods that ran at the deadline were deleted"}},
		{"failing, with a pod that is being deleted", jobOf(func(j *batchv1.Job) {
			j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded"}}
		}), []*corev1.Pod{func() *corev1.Pod {
			p := podIn(corev1.RestartPolicyOnFailure, 1, running, ended(1, -90))
			d := at(5)
			p.DeletionTimestamp = &d
			return p
		}()}, []string{"its logs with it; save them now: kubectl logs -n default p --all-containers"}},
		{"a pod that failed without an exit", jobOf(func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
		}), []*corev1.Pod{func() *corev1.Pod {
			p := jobPod("a", 1, -5, false)
			p.Status.ContainerStatuses, p.Status.Reason = nil, "Evicted"
			return p
		}()}, []string{"kubectl logs -n default a --all-containers"}},
		{"terminating pods", jobOf(func(j *batchv1.Job) {
			failed := batchv1.Failed
			j.Spec.PodReplacementPolicy, j.Status.Terminating = &failed, new(int32(1))
		}), []*corev1.Pod{func() *corev1.Pod {
			p := podIn(corev1.RestartPolicyNever, 0, running, nil)
			d := at(10)
			p.DeletionTimestamp, p.UID = &d, "t"
			return p
		}()}, []string{"it waits for 1 terminating pod to end"}},
		{"being deleted", jobOf(func(j *batchv1.Job) { d := at(-10); j.DeletionTimestamp = &d }), nil, []string{"it is being deleted, since 11:59:50 (10s ago)"}},
		{"suspended", jobOf(func(j *batchv1.Job) { j.Spec.Suspend = new(true) }), nil, []string{"it is suspended; set spec.suspend to false to resume it\n"}},
		{"suspended by Kueue", jobOf(func(j *batchv1.Job) {
			j.Spec.Suspend, j.Labels = new(true), map[string]string{"kueue.x-k8s.io/queue-name": "team-a"}
		}), nil, []string{"it is suspended until the queue team-a admits it\n", "it starts when the queue team-a admits it\n"}},
		{"suspended by its owner", jobOf(func(j *batchv1.Job) {
			j.Spec.Suspend, j.OwnerReferences = new(true), []metav1.OwnerReference{{Kind: "JobSet", Name: "train", Controller: new(true)}}
		}), nil, []string{"it is suspended until JobSet train resumes it\n", "it starts when JobSet train resumes it\n"}},
		{"suspended by its CronJob's template", jobOf(func(j *batchv1.Job) {
			j.Spec.Suspend, j.OwnerReferences = new(true), []metav1.OwnerReference{{Kind: "CronJob", Name: "train", Controller: new(true)}}
		}), nil, []string{"set spec.suspend to false to resume it", "it starts when spec.suspend is false"}},
		{"paused", jobOf(func(j *batchv1.Job) { j.Spec.Parallelism, j.Status.Failed = new(int32(0)), 2 }), nil,
			[]string{"it starts no pods, because spec.parallelism is 0: 0 active, 0 succeeded, 2 failed\n  to do         set spec.parallelism to 1 or more\n", "Paused   2 failures   it starts when spec.parallelism is above 0"}},
		{"paused by another controller", jobOf(func(j *batchv1.Job) {
			j.Spec.Parallelism, j.Spec.ManagedBy = new(int32(0)), new("example.com/controller")
		}), nil, []string{"example.com/controller runs it, whose delays are not known", "nothing waits"}},
		{"paused and past its deadline", jobOf(func(j *batchv1.Job) {
			j.Spec.Parallelism, j.Spec.ActiveDeadlineSeconds = new(int32(0)), new(int64(5))
		}), nil, []string{"its deadline was at 11:50:05", "DeadlineExceeded"}},
		{"an ignored failure", jobOf(func(j *batchv1.Job) {
			j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionIgnore,
				OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{143}}}}}
		}), []*corev1.Pod{jobPod("a", 143, -5, true)}, []string{"decided by podFailurePolicy.rules[0]: Ignore, it does not count", "0 failures counted, 7 more fail", "or if it has not kept a failure that a rule ignores"}},
	} {
		var text strings.Builder
		x := New(ownedBy(tt.job, tt.pods), noon).Job(tt.job)
		w := &Printer{W: &text, Options: noon}
		w.Job(&x)
		w.Next(New(ownedBy(tt.job, tt.pods), noon).Next())
		for _, part := range tt.says {
			if !strings.Contains(text.String(), part) {
				t.Errorf("%s: want %q in\n%s", tt.name, part, text.String())
			}
		}
	}
}

// A Job whose failure is decided has no limits left, and nobody can still save its pod.
func TestFailingJobsHaveNoLimits(t *testing.T) {
	job := jobOf(func(j *batchv1.Job) {
		j.Spec.Template.Spec.RestartPolicy, j.Spec.BackoffLimit = corev1.RestartPolicyOnFailure, new(int32(1))
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded"}}
	})
	pods := []*corev1.Pod{podIn(corev1.RestartPolicyOnFailure, 1, running, ended(1, -90))}
	if x := New(ownedBy(job, pods), noon).Job(job); len(x.Limits) > 0 || len(x.Notes) > 0 {
		t.Errorf("limits %v, notes %q", x.Limits, x.Notes)
	}
}

// A Job that started ten minutes ago and whose pod failed five seconds ago: no pod starts at
// or after the deadline.
func TestNoPodStartsAfterTheDeadline(t *testing.T) {
	failed := []*corev1.Pod{jobPod("a", 1, -5, true)} // its delay is over in 5s
	const starts = "its next pod starts in 5s to 7s"
	const looks = "so it fails as soon as the Job controller looks at it (DeadlineExceeded)"
	ofIndex := func(j *batchv1.Job) {
		j.Spec.CompletionMode, j.Spec.BackoffLimitPerIndex = new(batchv1.IndexedCompletion), new(int32(3))
	}
	indexPod := jobPod("a", 1, -5, true)
	indexPod.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: "0", batchv1.JobIndexFailureCountAnnotation: "0"}
	for _, tt := range []struct {
		name     string
		deadline int64
		change   func(*batchv1.Job)
		pods     []*corev1.Pod
		undated  bool
		says     []string
		not      []string
	}{
		{name: "before the delay is over", deadline: 603, pods: failed, not: []string{starts, "in 5s to 7s", "Delay"}, says: []string{
			"j: it fails at its deadline, 12:00:03, in 3s (DeadlineExceeded), before its next pod would start; the latest failed pod: a",
			"next start    never: the Job's deadline comes before the delay is over, at 12:00:05, in 5s", "\nnever "}},
		{name: "when the delay is over", deadline: 605, pods: failed, not: []string{starts}, says: []string{"\nnever "}},
		{name: "after the delay", deadline: 606, pods: failed, not: []string{"never", "DeadlineExceeded"}, says: []string{starts, "\nin 5s to 7s "}},
		{name: "none for a suspended Job", deadline: 603, pods: failed, not: []string{"DeadlineExceeded"}, says: []string{"it is suspended"},
			change: func(j *batchv1.Job) { j.Spec.Suspend = new(true) }},
		{name: "none for a suspended Job that was resumed and has not started", deadline: 3, pods: failed, not: []string{"DeadlineExceeded"}, says: []string{starts},
			change: func(j *batchv1.Job) { j.Status.StartTime = nil }},
		{name: "none for another controller's Job", deadline: 3, pods: failed, not: []string{"DeadlineExceeded"}, says: []string{"whose delays are not known"},
			change: func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/controller") }},
		{name: "just over", deadline: 600, not: []string{"can start now", "to do", "may not create pods"}, says: []string{
			"its deadline was at 12:00:00, 0s ago, " + looks, "never: the Job's deadline is over", "\nnever "}},
		{name: "long over", deadline: 569, not: []string{"can start now"}, says: []string{looks, "to do         see whether the Job controller runs"}},
		{name: "perhaps long over", deadline: 300, undated: true, not: []string{"could start by now", "to do"}, says: []string{looks + ", unless that has happened since the files were taken"}},
		{name: "over during the delay", deadline: 590, pods: failed, not: []string{starts}, says: []string{looks, "\nnever "}},
		{name: "over while a pod runs", deadline: 590, pods: []*corev1.Pod{podIn(corev1.RestartPolicyNever, 0, running, nil)}, not: []string{"nothing is wrong"}, says: []string{looks, "\nnever "},
			change: func(j *batchv1.Job) { j.Status.Active = 1 }},
		{name: "over, and the failure is decided", deadline: 590, not: []string{looks, "never"}, says: []string{"it is failing and waits for its pods to end"},
			change: func(j *batchv1.Job) {
				j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue}}
			}},
		{name: "over, and the limit of failures comes first", deadline: 590, pods: failed, not: []string{looks}, says: []string{"1 failure counted"},
			change: func(j *batchv1.Job) { j.Spec.BackoffLimit = new(int32(0)) }},
		{name: "before the delay of an index is over", deadline: 603, change: ofIndex, pods: []*corev1.Pod{indexPod}, not: []string{starts, "in 5s to 7s", "IndexDelay"}, says: []string{
			"it fails at its deadline, 12:00:03", "0: 1 failure; no next pod, because the Job's deadline comes before the delay is over", "\nnever "}},
	} {
		job := jobOf(func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = &tt.deadline })
		if tt.change != nil {
			tt.change(job)
		}
		o := noon
		o.Undated = tt.undated
		var text strings.Builder
		w, explainer := &Printer{W: &text, Options: o}, New(ownedBy(job, tt.pods), o)
		x := explainer.Job(job)
		w.Job(&x)
		w.Next(explainer.Next())
		for _, part := range tt.says {
			if !strings.Contains(text.String(), part) {
				t.Errorf("%s: want %q in\n%s", tt.name, part, text.String())
			}
		}
		for _, part := range tt.not {
			if strings.Contains(text.String(), part) {
				t.Errorf("%s: %q is in\n%s", tt.name, part, text.String())
			}
		}
	}
}

// A container does not start again if its pod or its Job fails at a deadline before.
func TestNoContainerStartsAfterTheDeadline(t *testing.T) {
	for _, tt := range []struct {
		name     string
		pod, job int64 // deadlines, which count from ten minutes ago; 0 means none
		says     string
	}{
		{"none", 0, 0, "it starts again"},
		{"of the pod", 603, 0, "it does not start again: the pod fails before, at its deadline, 12:00:03, in 3s"},
		{"of the pod, when the delay is over", 615, 0, "it does not start again: the pod fails before"},
		{"of the pod, after the delay", 616, 700, "it starts again"},
		{"of the Job", 700, 603, "it does not start again: its Job fails before, at its deadline, 12:00:03, in 3s"},
	} {
		pod := podIn(corev1.RestartPolicyOnFailure, 2, waiting("CrashLoopBackOff", backOffMessage), ended(1, -5)) // 15s are left
		job := jobOf(func(j *batchv1.Job) { j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure })
		if tt.pod > 0 {
			pod.Spec.ActiveDeadlineSeconds = &tt.pod
		}
		if tt.job > 0 {
			job.Spec.ActiveDeadlineSeconds = &tt.job
		}
		explainer := New(ownedBy(job, []*corev1.Pod{pod}), noon)
		if got := explainer.Pod(pod).Summary; !strings.Contains(got, tt.says) {
			t.Errorf("%s: %s; want %q", tt.name, got, tt.says)
		}
		for _, w := range explainer.Next() {
			if never := !strings.Contains(tt.says, "it starts again"); w.Kind == "Pod" && w.Never != never {
				t.Errorf("%s: next says %+v", tt.name, w)
			}
		}
	}
}

// A Job that creates no more pods waits for none of them to end.
func TestEndingJobsWaitForNoReplacement(t *testing.T) {
	const waits = "before it creates another"
	condition := func(of batchv1.JobConditionType) func(*batchv1.Job) {
		return func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: of, Status: corev1.ConditionTrue}}
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*batchv1.Job)
		waits  bool
	}{
		{"running", func(*batchv1.Job) {}, true},
		{"failing", condition(batchv1.JobFailureTarget), false},
		{"succeeding", condition(batchv1.JobSuccessCriteriaMet), false},
		{"being deleted", func(j *batchv1.Job) { now := at(0); j.DeletionTimestamp = &now }, false},
		{"a work queue", func(j *batchv1.Job) { j.Spec.Completions = nil }, true},
		{"a work queue that has succeeded", func(j *batchv1.Job) { j.Spec.Completions, j.Status.Succeeded = nil, 1 }, false},
	} {
		job := jobOf(func(j *batchv1.Job) { j.Spec.PodReplacementPolicy = new(batchv1.Failed) })
		tt.change(job)
		pod, until := podIn(corev1.RestartPolicyNever, 0, running, nil), at(20)
		pod.DeletionTimestamp = &until
		var text strings.Builder
		w, x := &Printer{W: &text, Options: noon}, New(ownedBy(job, []*corev1.Pod{pod}), noon)
		w.Next(x.Next())
		if got := strings.Contains(text.String(), waits); got != tt.waits {
			t.Errorf("%s: says %q: %v, want %v, in\n%s", tt.name, waits, got, tt.waits, text.String())
		}
	}
}

// What a kubelet or a runtime says of an end is no last word of the container.
func TestEndsThatNoContainerTold(t *testing.T) {
	for reason, want := range map[string]string{
		"ContainerStatusUnknown": "a: container c was lost: the kubelet has not seen its end",
		"StartError":             "a: container c ended with exit code 137, signal 9 SIGKILL (StartError): said",
		"Error":                  `a: container c ended with exit code 137, signal 9 SIGKILL (Error), with the last words "said"`,
	} {
		pod := jobPod("a", 137, -5, true)
		pod.Status.ContainerStatuses[0].State.Terminated.Reason, pod.Status.ContainerStatuses[0].State.Terminated.Message = reason, "said"
		job := jobOf(func(*batchv1.Job) {})
		x := New(ownedBy(job, []*corev1.Pod{pod}), noon).Job(job)
		if got := x.Failures[0].text(); got != want {
			t.Errorf("%s: %s, want %s", reason, got, want)
		}
	}
}

// Events about pods that are gone are a Job's own, not those of a Job whose name begins
// alike, or of an earlier Job of the same name.
func TestLostPodsAreTheJobsOwn(t *testing.T) {
	job := jobOf(func(j *batchv1.Job) {
		j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonBackoffLimitExceeded}}
	})
	objects := ownedBy(job, nil)
	for _, name := range []string{"j-72qg9", "j-wait-wkngd", "j-0-4sk2d", "j-hello"} {
		e := event("Unhealthy", "Liveness probe failed: "+name, 1, -60)
		e.InvolvedObject.Name = name
		objects.Events = append(objects.Events, e)
	}
	earlier := event("Unhealthy", "Liveness probe failed", 1, -3600)
	earlier.InvolvedObject.Name = "j-zzz22"
	objects.Events = append(objects.Events, earlier)
	names, texts := New(objects, noon).newJobView(job).lostPods()
	if got := strings.Join(names, " ") + ": " + fmt.Sprint(len(texts)); got != "j-0-4sk2d j-72qg9: 2" {
		t.Errorf("%s", got)
	}
}

// Pods that files lack are not taken for pods that the cluster lacks.
func TestJobsWithoutTheirPods(t *testing.T) {
	const hidden = "its pods are not in the files, so nothing is said about what comes next"
	const logs = "kubectl logs -n default -l batch.kubernetes.io/job-name=j --all-containers --prefix"
	failed := batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}
	for _, tt := range []struct {
		name    string
		status  batchv1.JobStatus
		pods    []*corev1.Pod
		trouble bool
		says    string
		inPlace bool
	}{
		{"an active one", batchv1.JobStatus{Active: 1}, nil, false, "1 active, 0 succeeded, 0 failed; " + hidden, false},
		{"an active one beside one that is there", batchv1.JobStatus{Active: 1, Failed: 1}, []*corev1.Pod{jobPod("a", 1, -5, false)}, false, "some of " + hidden, false},
		{"the failed ones, on whose ends the delay depends", batchv1.JobStatus{Failed: 2}, nil, true, "0 active, 0 succeeded, 2 failed; " + hidden, false},
		{name: "the failures of indexes", status: batchv1.JobStatus{Failed: 2, FailedIndexes: new("")}, trouble: true, says: "the failures of each open index are kept by its latest pod, and the pods are not in the files"},
		{name: "restarts in place", status: batchv1.JobStatus{Active: 1}, says: "0 failures counted", inPlace: true},
		{"the logs", batchv1.JobStatus{Failed: 2}, nil, true, logs, false},
		{"how many", batchv1.JobStatus{Failed: 2}, nil, true, "2 failed pods, not in the files", false},
		{"after the end", batchv1.JobStatus{Failed: 2, Conditions: []batchv1.JobCondition{failed}}, nil, true, logs, false},
		{"none", batchv1.JobStatus{}, nil, true, "1 pod can start now", false},
		{"none of those that count", batchv1.JobStatus{Failed: 1}, []*corev1.Pod{jobPod("a", 1, -5, false)}, true, "its next pod starts in 5s to 7s", false},
	} {
		job := jobOf(func(j *batchv1.Job) {
			tt.status.StartTime, j.Status = j.Status.StartTime, tt.status
			if tt.status.FailedIndexes != nil {
				j.Spec.CompletionMode, j.Spec.Completions = new(batchv1.IndexedCompletion), new(int32(4))
				j.Spec.BackoffLimitPerIndex = new(int32(2))
			}
			if tt.inPlace {
				j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
			}
		})
		objects := ownedBy(job, tt.pods)
		objects.Partial = "not in the files"
		var text strings.Builder
		explainer := New(objects, noon)
		x := explainer.Job(job)
		(&Printer{W: &text, Options: noon}).Job(&x)
		if x.Trouble != tt.trouble || !strings.Contains(text.String(), tt.says) || strings.Contains(text.String(), "the cluster no longer has") {
			t.Errorf("%s: trouble %v, want %v, and %q in\n%s", tt.name, x.Trouble, tt.trouble, tt.says, text.String())
		}
		if strings.Contains(text.String(), "no open index has failed") || strings.Contains(text.String(), "restarts in place") {
			t.Errorf("%s: concludes from pods that are not there:\n%s", tt.name, text.String())
		}
		if waits := explainer.Next(); strings.Contains(text.String(), hidden) && len(waits) > 0 {
			t.Errorf("%s: %+v", tt.name, waits)
		}
	}
}

// The predicted start of the next pod is the moment from which the engine creates it.
func TestPredictedStartsAreTheEngines(t *testing.T) {
	checked := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		perIndex := rapid.Bool().Draw(t, "per index")
		n := int32(rapid.IntRange(1, 4).Draw(t, "completions"))
		job := jobOf(func(j *batchv1.Job) {
			j.Spec.Completions, j.Spec.Parallelism, j.Spec.BackoffLimit = &n, &n, new(int32(100))
			if perIndex {
				indexed := batchv1.IndexedCompletion
				j.Spec.CompletionMode, j.Spec.BackoffLimitPerIndex = &indexed, new(int32(50))
			}
		})
		var pods []*corev1.Pod
		for i := range int(n) {
			p := jobPod(fmt.Sprint("p", i), 1, -rapid.IntRange(0, 700).Draw(t, "ended before"), perIndex || rapid.Bool().Draw(t, "tracked"))
			if perIndex {
				p.Annotations = map[string]string{
					batch.JobCompletionIndexAnnotation:          fmt.Sprint(i),
					batch.JobIndexFailureCountAnnotation:        fmt.Sprint(rapid.IntRange(0, 8).Draw(t, "failures")),
					batch.JobIndexIgnoredFailureCountAnnotation: fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "ignored")),
				}
			}
			if !slices.Contains(p.Finalizers, batch.JobTrackingFinalizer) {
				job.Status.Failed++
			}
			pods = append(pods, p)
		}
		objects := ownedBy(job, pods)
		start := New(objects, noon).Job(job).Start
		if start == nil {
			t.Fatal("no pod is to start")
		}
		creates := func(now time.Time) bool {
			o := noon
			o.Now = now
			return len(New(objects, o).newJobView(job).plan.Create) > 0
		}
		if due := creates(noon.Now); due != start.From.Equal(noon.Now) {
			t.Fatalf("due %v, but predicted for %v", due, start.From)
		}
		if !creates(start.From) {
			t.Fatalf("no pod is created at %v", start.From)
		}
		if start.From.After(noon.Now) && creates(start.From.Add(-time.Millisecond)) {
			t.Fatalf("a pod is created before %v", start.From)
		}
		checked[start.From.After(noon.Now)]++
	})
	if checked[true] == 0 || checked[false] == 0 {
		t.Errorf("checked %v", checked)
	}
}

func TestCountsOfLimitsReadWell(t *testing.T) {
	for n, want := range map[int64]string{0: "which fails", 1: "1 more fails", 2: "2 more fail"} {
		if got := more(n, "fails", "fail"); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// A waiting index holds a place of parallelism, unless an annotation of our controller lets
// the others pass.
func TestWaitingIndexesHoldPlaces(t *testing.T) {
	for skip, holds := range map[string]bool{"false": true, "true": false} {
		job := jobOf(func(j *batchv1.Job) {
			managed, mode := ours, batchv1.IndexedCompletion
			j.Spec.ManagedBy, j.Spec.CompletionMode = &managed, &mode
			j.Spec.Completions, j.Spec.Parallelism, j.Spec.BackoffLimitPerIndex = new(int32(10)), new(int32(2)), new(int32(3))
			j.Annotations = map[string]string{jobcontroller.AnnotationSkipWaiting: skip}
		})
		pod := jobPod("a", 1, -5, true)
		pod.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: "0", batchv1.JobIndexFailureCountAnnotation: "0"}
		x := New(ownedBy(job, []*corev1.Pod{pod}), noon).Job(job)
		if got := strings.Contains(x.Summary, "index 0 holds a place while it waits"); got != holds {
			t.Errorf("%s %s: %s", jobcontroller.AnnotationSkipWaiting, skip, x.Summary)
		}
	}
}

// What a workload of a file needs is said before how to judge manifests.
func TestAdviceOnAWorkloadOfAFile(t *testing.T) {
	refused := Condition{Type: "ReplicaFailure", Status: "True", Reason: "FailedCreate", Message: `pods "w-1" is forbidden: exceeded quota: q`}
	for want, o := range map[string]Owner{
		judgeManifests: {Kind: "Deployment", Name: "w", Wanted: 1, Manifest: true},
		"quota":        {Kind: "Deployment", Name: "w", Wanted: 1, Manifest: true, Conditions: []Condition{refused}},
		"spec.suspend": {Kind: "CronJob", Name: "w", Manifest: true, Suspended: true},
	} {
		if w := New(Objects{}, noon).Workload(o, nil, nil); !strings.Contains(w.Advice, want) {
			t.Errorf("%+v: %q, want %q", o, w.Advice, want)
		}
	}
}
