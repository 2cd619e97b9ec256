package jobcontroller_test

import (
	"slices"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/indexset"
)

// chaosRecord is what the server has shown.
type chaosRecord struct {
	t      *testing.T
	mu     sync.Mutex
	counts map[string]int
	jobs   map[types.UID]*chaosJob
	pods   map[types.UID]*corev1.Pod // as seen last
	gone   map[types.UID]bool
}

type chaosJob struct {
	last        *batchv1.Job
	named, left [2]map[types.UID]bool // pods that were ever uncounted, and not any more
	suspended   bool                  // ever
}

func newChaosRecord(t *testing.T) *chaosRecord {
	return &chaosRecord{t: t, counts: map[string]int{}, jobs: map[types.UID]*chaosJob{}, pods: map[types.UID]*corev1.Pod{}, gone: map[types.UID]bool{}}
}

func (r *chaosRecord) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

// job checks a status against those before it. A watch may leave out versions after
// etcd was restarted, so that a pod may have been named without being seen.
func (r *chaosRecord) job(job *batchv1.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	j := r.jobs[job.UID]
	if j == nil {
		j = &chaosJob{named: [2]map[types.UID]bool{{}, {}}, left: [2]map[types.UID]bool{{}, {}}}
		r.jobs[job.UID] = j
	}
	j.last = job
	j.suspended = j.suspended || job.Spec.Suspend != nil && *job.Spec.Suspend
	u := job.Status.UncountedTerminatedPods
	if u == nil {
		return
	}
	for i, now := range [2][]types.UID{u.Succeeded, u.Failed} {
		for uid := range j.named[i] {
			if !slices.Contains(now, uid) {
				j.left[i][uid] = true
			}
		}
		for _, uid := range now {
			if j.left[i][uid] || j.named[1-i][uid] {
				r.t.Errorf("%s: pod %s is counted twice: %+v", job.Name, uid, job.Status)
			}
			j.named[i][uid] = true
		}
	}
}

// pod checks a pod against the others of its Job.
func (r *chaosRecord) pod(pod *corev1.Pod, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.pods[pod.UID]; !known && podActive(pod) && index(pod) >= 0 {
		for _, other := range r.pods {
			if !r.gone[other.UID] && podActive(other) && index(other) == index(pod) && metav1.GetControllerOf(other).UID == metav1.GetControllerOf(pod).UID {
				r.t.Errorf("pod %s was created beside %s of the same index", pod.Name, other.Name)
			}
		}
	}
	r.pods[pod.UID], r.gone[pod.UID] = pod, gone
}

func podEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func podActive(pod *corev1.Pod) bool { return !podEnded(pod) && pod.DeletionTimestamp == nil }

func (r *chaosRecord) running() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, pod := range r.pods {
		if !r.gone[uid] && !podEnded(pod) {
			n++
		}
	}
	return n
}

func (r *chaosRecord) endedJobs() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range r.jobs {
		if complete(j.last) || holds(batchv1.JobFailed, "")(j.last) {
			n++
		}
	}
	return n
}

// check compares the final counts with the pods that there were. Pods that were deleted
// because the Job was suspended count nothing.
func (r *chaosRecord) check(table map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for what, n := range r.counts {
		table[what] += n
	}
	for uid, j := range r.jobs {
		var succeeded, failed int
		failures := map[int]int{}
		for _, pod := range r.pods {
			if metav1.GetControllerOf(pod).UID != uid || !podEnded(pod) {
				continue
			}
			table["check: pod ended"]++
			switch {
			case pod.Status.Phase == corev1.PodSucceeded:
				succeeded++
			case pod.DeletionTimestamp == nil || !j.suspended:
				failed++
				failures[index(pod)]++
			}
		}
		s := j.last.Status
		table["check: end counted"] += int(s.Failed + s.Succeeded)
		if indexes, err := indexset.Parse(s.CompletedIndexes); indexed(j.last) && (err != nil || indexes.Len() != int(s.Succeeded)) {
			r.t.Errorf("%s: %d indexes completed, status %+v, %v", j.last.Name, indexes.Len(), s, err)
		}
		if !j.suspended && (int(s.Failed) != failed || int(s.Succeeded) != succeeded) {
			r.t.Errorf("%s: %d pods succeeded and %d failed, status %+v", j.last.Name, succeeded, failed, s)
		}
		if l := j.last.Spec.BackoffLimitPerIndex; l != nil && !j.suspended {
			for i, n := range failures {
				if n > int(*l)+1 {
					r.t.Errorf("%s: index %d failed %d times, its limit is %d", j.last.Name, i, n, *l)
				}
			}
		}
		if u := s.UncountedTerminatedPods; u != nil && len(u.Failed)+len(u.Succeeded) > 0 {
			r.t.Errorf("%s has ended with uncounted pods: %+v", j.last.Name, s)
		}
	}
}

func indexed(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}
