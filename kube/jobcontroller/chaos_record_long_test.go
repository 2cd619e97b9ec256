//go:build long

package jobcontroller_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// chaosRecord is the history shown by the server.
type chaosRecord struct {
	t       *testing.T
	mu      sync.Mutex
	counts  map[string]int
	jobs    map[types.UID]*chaosJob
	pods    map[types.UID]*corev1.Pod // as seen last
	gone    map[types.UID]bool
	loose   map[types.UID]bool // pods that lost their finalizer before they ended: the Job did not want them, and they count nothing
	unclear map[types.UID]bool // pods that may have lost it before they ended: the version was left out

	etcdDown bool
	sureFrom time.Time // until then informers may leave out versions, as etcd was restarted
	holder   string    // of the Lease
	history  []seen
	told     map[types.UID]bool // Jobs whose history is in the log
}

// seen is a change shown by the server, of a Job or, without one, of the Lease.
type seen struct {
	at   time.Time
	job  types.UID
	text string
}

// note adds to the history.
func (r *chaosRecord) note(job types.UID, format string, args ...any) {
	r.history = append(r.history, seen{time.Now(), job, fmt.Sprintf(format, args...)})
}

// wrong reports an error, once, with the whole history of the Job.
func (r *chaosRecord) wrong(job types.UID, format string, args ...any) {
	r.t.Errorf(format, args...)
	if r.told[job] {
		return
	}
	r.told[job] = true
	var b strings.Builder
	for _, s := range r.history {
		if s.job == "" || s.job == job {
			fmt.Fprintf(&b, "\n%s %s", s.at.Format("04:05.000"), s.text)
		}
	}
	r.t.Log(b.String())
}

func (r *chaosRecord) etcdStops() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.etcdDown = true
	r.note("", "etcd is being restarted")
}

// etcdRestarted records that etcd and the API server have returned after an outage.
// After such an outage an informer delays its next request up to twice as long, plus
// 1.6 s. Before that, the server's own watches of etcd wait at most as long again.
func (r *chaosRecord) etcdRestarted(outage time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.etcdDown, r.sureFrom = false, time.Now().Add(10*time.Second+4*outage)
	r.note("", "etcd was restarted within %v", outage)
}

// unsure reports whether informers may have skipped versions.
func (r *chaosRecord) unsure() bool { return r.etcdDown || time.Now().Before(r.sureFrom) }

// lease records the leader.
func (r *chaosRecord) lease(l *coordinationv1.Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := l.Spec.HolderIdentity; h != nil && *h != r.holder {
		r.holder = *h
		r.counts["check: another replica leads"]++
		if strings.HasPrefix(*h, "replica-1-") {
			r.counts["fault: replica whose clock is ahead led"]++
		}
		r.note("", "%s leads", *h)
	}
}

type chaosJob struct {
	last        *batchv1.Job
	named, left [2]map[types.UID]bool // pods that were ever uncounted, and not any more
	suspended   bool                  // ever
}

func newChaosRecord(t *testing.T) *chaosRecord {
	return &chaosRecord{
		t: t, counts: map[string]int{}, jobs: map[types.UID]*chaosJob{}, pods: map[types.UID]*corev1.Pod{},
		gone: map[types.UID]bool{}, loose: map[types.UID]bool{}, unclear: map[types.UID]bool{}, told: map[types.UID]bool{},
	}
}

func (r *chaosRecord) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

// job checks a status against earlier ones. After a restart of etcd a watch may skip
// versions, so a status may name a pod never seen.
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
	r.note(job.UID, "%s version %s: %s", job.Name, job.ResourceVersion, statusText(job))
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
				r.wrong(job.UID, "%s: pod %s is counted twice: %s", job.Name, uid, statusText(job))
			}
			j.named[i][uid] = true
		}
	}
}

func statusText(job *batchv1.Job) string {
	s, failed := job.Status, ""
	if s.FailedIndexes != nil {
		failed = *s.FailedIndexes
	}
	return fmt.Sprintf("active %d succeeded %d failed %d uncounted %+v indexes %q failed ones %q", s.Active, s.Succeeded, s.Failed, s.UncountedTerminatedPods, s.CompletedIndexes, failed)
}

// pod checks a pod against the others of its Job. If versions may have been skipped,
// the end of another pod of its index may be unseen.
func (r *chaosRecord) pod(pod *corev1.Pod, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	owner := metav1.GetControllerOf(pod).UID
	tracked := slices.Contains(pod.Finalizers, batch.JobTrackingFinalizer)
	r.note(owner, "%s %s version %s: %s deleted %v tracked %v gone %v", pod.Name, pod.UID, pod.ResourceVersion, pod.Status.Phase, pod.DeletionTimestamp != nil, tracked, gone)
	if !podEnded(pod) && !tracked {
		r.loose[pod.UID] = true
	}
	if last := r.pods[pod.UID]; podEnded(pod) && !tracked && (last == nil || !podEnded(last)) && r.unsure() {
		r.unclear[pod.UID] = true
	}
	if _, known := r.pods[pod.UID]; !known && podActive(pod) && index(pod) >= 0 {
		for _, other := range r.pods {
			if r.gone[other.UID] || !podActive(other) || index(other) != index(pod) || metav1.GetControllerOf(other).UID != owner {
				continue
			}
			if r.unsure() {
				r.counts["not judged: pods of one index after a restart of etcd"]++
				continue
			}
			r.wrong(owner, "pod %s was created beside %s of the same index", pod.Name, other.Name)
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

// check compares the final counts with all pods. Pods deleted because of a suspension
// count nothing. After a restart of etcd, a pod first seen ended and without its
// finalizer may count, because the order of the two changes is unknown.
func (r *chaosRecord) check(table map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for what, n := range r.counts {
		table[what] += n
	}
	for uid, j := range r.jobs {
		var succeeded, failed, maySucceed, mayFail int
		failures := map[int]int{}
		for _, pod := range r.pods {
			if metav1.GetControllerOf(pod).UID != uid || !podEnded(pod) {
				continue
			}
			if r.loose[pod.UID] {
				table["check: pod that was not wanted"]++
				continue
			}
			if r.unclear[pod.UID] {
				table["not judged: end of a pod after a restart of etcd"]++
				if pod.Status.Phase == corev1.PodSucceeded {
					maySucceed++
				} else {
					mayFail++
				}
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
			r.wrong(uid, "%s: %d indexes completed, status %s, %v", j.last.Name, indexes.Len(), statusText(j.last), err)
		}
		isOf := func(counted int32, sure, may int) bool { return sure <= int(counted) && int(counted) <= sure+may }
		if !j.suspended && !(isOf(s.Failed, failed, mayFail) && isOf(s.Succeeded, succeeded, maySucceed)) {
			r.wrong(uid, "%s: %d to %d pods succeeded and %d to %d failed, status %s", j.last.Name, succeeded, succeeded+maySucceed, failed, failed+mayFail, statusText(j.last))
		}
		if l := j.last.Spec.BackoffLimitPerIndex; l != nil && !j.suspended {
			for i, n := range failures {
				if n > int(*l)+1 {
					r.wrong(uid, "%s: index %d failed %d times, its limit is %d", j.last.Name, i, n, *l)
				}
			}
		}
		if u := s.UncountedTerminatedPods; u != nil && len(u.Failed)+len(u.Succeeded) > 0 {
			r.wrong(uid, "%s has ended with uncounted pods: %s", j.last.Name, statusText(j.last))
		}
	}
}

func indexed(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}
