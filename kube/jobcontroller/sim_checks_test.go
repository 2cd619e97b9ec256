package jobcontroller

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/convert"
)

// simRecord is the content of a Job's statuses so far.
type simRecord struct {
	named, left [2]map[types.UID]bool // of succeeded and failed pods: ever uncounted, and not any more
	parallelism int32                 // the most that there was
	removed     bool
	seen        []simSeen // versions that the controller was shown
	suspended   time.Time // when a status said last that the Job is

	// After the deletion of unwanted pods the counts of their indexes start over, here
	// as in Kubernetes.
	startedOver bool
}

type simSeen struct {
	at      time.Time
	version int
}

// sees records a version of a Job shown by the controller's informer.
func (s *sim) sees(by *running, job *batchv1.Job) {
	s.locked(func() {
		if r := s.records[job.UID]; by == s.control {
			version, _ := strconv.Atoi(job.ResourceVersion)
			r.seen = append(r.seen, simSeen{time.Now(), version})
		}
	})
}

// onStatus checks a written status.
func (s *sim) onStatus(old, job *batchv1.Job) {
	s.note("check: status is one that the API server takes", 1)
	if finished(old) {
		s.Errorf("%s has finished, and its status is written again: %+v", job.Name, job.Status)
	}
	if err := convert.Job(job).ValidateStatus(); err != nil {
		s.Errorf("%s: a status that cannot be: %v", job.Name, err)
	}
	r := s.records[job.UID]
	if has(job, batchv1.JobSuspended) && !has(old, batchv1.JobSuspended) {
		r.suspended = time.Now()
	}
	u := job.Status.UncountedTerminatedPods
	if u == nil {
		u = &batchv1.UncountedTerminatedPods{}
	}
	for i, now := range [2][]types.UID{u.Succeeded, u.Failed} {
		for uid := range r.named[i] {
			if !slices.Contains(now, uid) {
				r.left[i][uid] = true
			}
		}
		for _, uid := range now {
			s.note("check: no UID is named again once it is counted", 1)
			if r.left[i][uid] || r.named[1-i][uid] {
				s.Errorf("%s: pod %s is counted twice: %+v", job.Name, uid, job.Status)
			}
			r.named[i][uid] = true
		}
	}
	if got, want := int(job.Status.Failed)+len(u.Failed), len(r.named[1]); got != want {
		s.Errorf("%s: %d failures, %d pods were named", job.Name, got, want)
	}
	if got, want := int(job.Status.Succeeded)+len(u.Succeeded), len(r.named[0]); got != want && !indexed(job) {
		s.Errorf("%s: %d successes, %d pods were named", job.Name, got, want)
	}
}

// onUntrack checks that a pod's end is recorded before its finalizer is removed. As in
// Kubernetes, an unwanted pod loses the finalizer before its deletion, and its end
// counts for nothing. The plan saw such a pod active, so either the pod is still
// active, or the controller lives to delete it.
func (s *sim) onUntrack(pod *corev1.Pod) {
	ref := metav1.GetControllerOf(pod)
	job, _ := s.server.objects["jobs"][keyOf("ns", ref.Name)].(*batchv1.Job)
	if !ended(pod) || job == nil || job.UID != ref.UID || finished(job) {
		return
	}
	if seen := s.control.pods.get(keyOf(pod.Namespace, pod.Name)); seen == nil || !ended(seen) {
		s.note("check: released while it was seen active", 1)
		return
	}
	s.note("check: released only after its end is recorded", 1)
	r, plain := s.records[job.UID], convert.Pod(pod)
	switch {
	case r.named[0][pod.UID] || r.named[1][pod.UID]:
	case indexed(job) && s.indexEnded(job, pod):
	case !jobpolicy.MatchPod(convert.PodFailurePolicy(job.Spec.PodFailurePolicy), plain).Counted():
	case has(job, batchv1.JobSuccessCriteriaMet):
	default:
		s.unproven[pod.UID] = pod
	}
}

func (s *sim) indexEnded(job *batchv1.Job, pod *corev1.Pod) bool {
	completed, _ := indexset.ParseLenient(job.Status.CompletedIndexes)
	return completed.Contains(simIndex(pod))
}

func has(job *batchv1.Job, t batchv1.JobConditionType) bool {
	c := conditionOf(job.Status.Conditions, t)
	return c != nil && c.Status == corev1.ConditionTrue
}

func simIndex(pod *corev1.Pod) int {
	i, err := strconv.Atoi(pod.Annotations[batch.JobCompletionIndexAnnotation])
	if err != nil {
		return -1
	}
	return i
}

// onCreate checks a created pod against the others.
func (s *sim) onCreate(pod *corev1.Pod, all []*corev1.Pod) {
	ref := metav1.GetControllerOf(pod)
	if s.records[ref.UID].removed {
		return
	}
	job := s.server.objects["jobs"][keyOf("ns", ref.Name)].(*batchv1.Job)
	active := int32(0)
	for _, p := range all {
		if owner := metav1.GetControllerOf(p); owner == nil || owner.UID != job.UID || ended(p) || p.DeletionTimestamp != nil {
			continue
		}
		active++
		s.note("check: one active pod an index", 1)
		if indexed(job) && simIndex(p) == simIndex(pod) {
			s.Errorf("pod %s is created beside %s of the same index", pod.Name, p.Name)
		}
	}
	s.note("check: active at most parallelism", 1)
	if most := s.records[job.UID].parallelism; active >= most {
		s.Errorf("pod %s is created beside %d active ones, parallelism was at most %d", pod.Name, active, most)
	}
	if finished(job) {
		s.Errorf("pod %s is created for a Job that has finished", pod.Name)
	}
	s.note("check: nothing comes after the suspension", 1)
	if r := s.records[job.UID]; r.suspended.After(s.server.sent) {
		s.Errorf("pod %s is created by a request of %v, after the status says that %s is suspended", pod.Name, s.server.sent, job.Name)
	}
	s.note("check: made of the Job as it was seen", 1)
	if !s.madeOfWhatWasSeen(pod, job.UID) {
		s.Errorf("pod %s of %s is none that the Job wanted as it was seen when its creation was sent%s", pod.Name, job.Name, s.storyLocked(job, simIndex(pod)))
	}
}

// madeOfWhatWasSeen reports whether the Job wanted such a pod in a version at least as
// new as the one shown to the controller before it sent the request.
func (s *sim) madeOfWhatWasSeen(pod *corev1.Pod, uid types.UID) bool {
	least := 0
	for _, seen := range s.records[uid].seen {
		if seen.at.Before(s.server.sent) {
			least = max(least, seen.version)
		}
	}
	for _, c := range slices.Backward(s.server.history) {
		if c.object.GetUID() != uid {
			continue
		}
		job := c.object.(*batchv1.Job)
		if !deref(job.Spec.Suspend) && job.DeletionTimestamp == nil && job.Spec.Template.Spec.NodeSelector["zone"] == pod.Spec.NodeSelector["zone"] {
			return true
		}
		if c.version <= least {
			break
		}
	}
	return false
}

// check checks the final state.
func (s *sim) check() {
	for i := range 3 {
		job := s.server.job(fmt.Sprintf("job%d", i))
		if job == nil {
			continue
		}
		s.note("check: Job ends", 1)
		for _, c := range job.Status.Conditions {
			if c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed {
				s.note("end: "+string(c.Type), 1)
				s.note("reason: "+c.Reason, 1)
			}
		}
		if l := job.Spec.BackoffLimitPerIndex; l != nil && !s.records[job.UID].startedOver {
			runs := map[int]int{}
			for uid := range s.records[job.UID].named[1] {
				runs[s.indexOf(uid)]++
			}
			for index, n := range runs {
				s.note("check: no index ran beyond its limit", 1)
				if n > int(*l)+1 {
					s.Errorf("%s: index %d failed %d times, its limit is %d%s", job.Name, index, n, *l, s.story(job, index))
				}
			}
		}
	}
	for _, pod := range s.server.pods() {
		s.note("check: no finalizer left", 1)
		if tracked(pod) {
			s.Errorf("pod %s of %v keeps its finalizer", pod.Name, metav1.GetControllerOf(pod))
		}
	}
	for uid, pod := range s.unproven {
		if job := metav1.GetControllerOf(pod); !s.deleted[uid] && !s.records[job.UID].removed {
			s.Errorf("pod %s of %s was released without a record of its end: %s", pod.Name, job.Name, pod.Status.Phase)
		}
	}
}

// story returns the history of an index and of its Job.
func (s *sim) story(job *batchv1.Job, index int) string {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	return s.storyLocked(job, index)
}

func (s *sim) storyLocked(job *batchv1.Job, index int) string {
	var b strings.Builder
	for _, c := range s.server.history {
		switch o := c.object.(type) {
		case *corev1.Pod:
			if ref := metav1.GetControllerOf(o); ref != nil && ref.UID == job.UID && simIndex(o) == index {
				fmt.Fprintf(&b, "\n%s %s %s %s failures %s deleted %v tracked %v", c.at.Format("04:05.000"), c.kind, o.UID, o.Status.Phase,
					o.Annotations[batch.JobIndexFailureCountAnnotation], o.DeletionTimestamp != nil, tracked(o))
			}
		case *batchv1.Job:
			if o.UID == job.UID {
				var failed []types.UID
				if u := o.Status.UncountedTerminatedPods; u != nil {
					failed = u.Failed
				}
				fmt.Fprintf(&b, "\n%s Job failed %d uncounted %v active %d indexes %q %q suspended %v", c.at.Format("04:05.000"), o.Status.Failed, failed, o.Status.Active,
					o.Status.CompletedIndexes, deref(o.Status.FailedIndexes), deref(o.Spec.Suspend))
			}
		}
	}
	return b.String()
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// indexOf returns the index of a former pod.
func (s *sim) indexOf(uid types.UID) int {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	for _, c := range s.server.history {
		if c.object.GetUID() == uid {
			return simIndex(c.object.(*corev1.Pod))
		}
	}
	return -1
}
