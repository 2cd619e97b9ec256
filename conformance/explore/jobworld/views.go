package jobworld

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// noon is the time of every view. Ends lie before it.
var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// Slot returns the slot of the pod with this UID or name, -1 for any other text.
func Slot(uid string) int {
	if len(uid) != len("pod-0") || uid[:len("pod-")] != "pod-" {
		return -1
	}
	return int(uid[len("pod-")] - '0')
}

// UID returns the UID of the pod in a slot.
func UID(slot int) string { return uids[slot] }

var uids = [Most]string{"pod-0", "pod-1", "pod-2", "pod-3", "pod-4", "pod-5", "pod-6", "pod-7"}

var (
	conditionTypes = [...]batch.JobConditionType{"", batch.JobSuspended, batch.JobComplete, batch.JobFailed, batch.JobFailureTarget, batch.JobSuccessCriteriaMet}
	reasons        = [...]batch.Reason{
		"", batch.JobReasonPodFailurePolicy, batch.JobReasonBackoffLimitExceeded, batch.JobReasonDeadlineExceeded, batch.JobReasonMaxFailedIndexesExceeded,
		batch.JobReasonFailedIndexes, batch.JobReasonSuccessPolicy, batch.JobReasonCompletionsReached, batch.JobReasonSuspended, batch.JobReasonResumed,
	}
	// messages are those that controllers compare. The others are left out.
	messages = map[batch.Reason]string{batch.JobReasonSuspended: "Job suspended", batch.JobReasonResumed: "Job resumed"}
)

// views builds views from states. It keeps the parts, which nobody modifies.
type views struct {
	world *World
	pods  map[podKey]*batch.Pod
	lists map[[4]condition][]batch.JobCondition
}

type podKey struct {
	slot, index       int8
	look              look
	failures, ignored uint8
	code9             bool
	age               uint8
}

func newViews(w *World) views {
	return views{w, make(map[podKey]*batch.Pod), make(map[[4]condition][]batch.JobCondition)}
}

// view returns the view of the controller.
func (v *views) view(s *state) View {
	j := &batch.Job{ObjectMeta: batch.ObjectMeta{Name: "job", Namespace: "ns", UID: "job"}, Spec: v.world.spec, Status: v.status(&s.seen)}
	j.Spec.Suspend = s.seen.suspend
	u := j.Status.UncountedTerminatedPods
	pods := make([]*batch.Pod, 0, s.n)
	for i := range s.pods[:s.n] {
		p := &s.pods[i]
		switch p.seenListed {
		case listedSucceeded:
			u.Succeeded = append(u.Succeeded, uids[i])
		case listedFailed:
			u.Failed = append(u.Failed, uids[i])
		}
		if p.seen != absent {
			pods = append(pods, v.pod(i, p, p.seen))
		}
	}
	return View{Job: j, Pods: pods, Now: noon}
}

// status returns the status of a Job, with no uncounted pods.
func (v *views) status(j *job) batch.JobStatus {
	st := batch.JobStatus{
		Active: int32(j.active), Succeeded: int32(j.succeeded), Failed: int32(j.failures),
		CompletedIndexes: indexTexts[j.completed], UncountedTerminatedPods: new(batch.UncountedTerminatedPods),
	}
	if j.ready > 0 {
		st.Ready = &numbers[j.ready-1]
	}
	if j.terminating > 0 {
		st.Terminating = &numbers[j.terminating-1]
	}
	if j.failed != noIndexes {
		st.FailedIndexes = &indexTexts[j.failed]
	}
	if j.started {
		st.StartTime = noon.Add(-time.Hour)
	}
	if j.finished {
		st.CompletionTime = noon
	}
	list, known := v.lists[j.conditions]
	if !known {
		for _, c := range j.conditions {
			if c == 0 {
				break
			}
			reason := reasons[c&15]
			one := batch.JobCondition{Type: conditionTypes[c>>5], Status: batch.ConditionFalse, Reason: reason, Message: messages[reason], LastTransitionTime: noon}
			if c&16 != 0 {
				one.Status = batch.ConditionTrue
			}
			list = append(list, one)
		}
		list = slices.Clip(list)
		v.lists[j.conditions] = list
	}
	st.Conditions = list
	return st
}

var (
	numbers    = [...]int32{0, 1, 2, 3, 4, 5, 6, 7, 8}
	indexTexts = [1 << indexes]string{"", "0", "1", "0,1", "2", "0,2", "1,2", "0-2"}
)

// pod returns a pod that looks like this.
func (v *views) pod(slot int, p *pod, l look) *batch.Pod {
	key := podKey{int8(slot), p.index, l, p.failures, p.ignored, p.code9, p.age}
	if !l.ended() {
		key.code9 = false
		if !l.is(deleting) {
			key.age = 0
		}
	}
	if known := v.pods[key]; known != nil {
		return known
	}
	b := &batch.Pod{ObjectMeta: batch.ObjectMeta{Name: uids[slot], UID: uids[slot], Namespace: "ns", CreationTimestamp: noon.Add(-time.Hour)}}
	b.Spec = v.world.spec.Template.Spec
	if p.index >= 0 {
		b.Annotations = map[string]string{batch.JobCompletionIndexAnnotation: strconv.Itoa(int(p.index))}
		b.Labels = map[string]string{batch.JobCompletionIndexAnnotation: strconv.Itoa(int(p.index))}
		if v.world.spec.BackoffLimitPerIndex != nil {
			b.SetFailureCounts(int(p.failures), int(p.ignored))
		}
	}
	if l.is(tracked) {
		b.Track()
	}
	at := noon.Add(-time.Duration(key.age) * Unit)
	if l.is(deleting) {
		b.DeletionTimestamp = at
		b.DeletionGracePeriodSeconds = new(int64)
	}
	if l.is(disrupted) {
		b.Status.Conditions = append(b.Status.Conditions, batch.PodCondition{Type: batch.DisruptionTarget, Status: batch.ConditionTrue})
	}
	switch l.stage() {
	case pending:
		b.Status.Phase = batch.PodPending
	case running:
		b.Status.Phase, b.Spec.NodeName = batch.PodRunning, "node"
		b.Status.Conditions = append(b.Status.Conditions, batch.PodCondition{Type: batch.PodReady, Status: batch.ConditionTrue})
	case succeeded:
		b.Finish(0, at)
	case failed:
		b.Finish(exitCode(p, l), at)
	}
	v.pods[key] = b
	return b
}

// exitCode returns the exit code of a failed pod.
func exitCode(p *pod, l look) int32 {
	switch {
	case p.code9:
		return 9
	case l.is(deleting):
		return 143
	}
	return 1
}

// read sets j, but for its specification, and the pods' lists to the status.
func (s *state) read(st *batch.JobStatus) (j job, lists [Most]listed, err error) {
	small := func(name string, n int32) uint8 {
		if n < 0 || n >= 15 {
			err = fmt.Errorf("status.%s is %d", name, n)
			return 0
		}
		return uint8(n)
	}
	j = job{
		suspend: s.now.suspend, active: small("active", st.Active), succeeded: small("succeeded", st.Succeeded), failures: small("failed", st.Failed),
		failed: noIndexes, started: !st.StartTime.IsZero(), finished: !st.CompletionTime.IsZero(),
	}
	if st.Ready != nil {
		j.ready = 1 + small("ready", *st.Ready)
	}
	if st.Terminating != nil {
		j.terminating = 1 + small("terminating", *st.Terminating)
	}
	j.completed = bitsOf(st.CompletedIndexes)
	if st.FailedIndexes != nil {
		j.failed = bitsOf(*st.FailedIndexes)
	}
	if len(st.Conditions) > len(j.conditions) {
		return j, lists, fmt.Errorf("the status has %d conditions", len(st.Conditions))
	}
	for i, c := range st.Conditions {
		t, reason := slices.Index(conditionTypes[:], c.Type), slices.Index(reasons[:], c.Reason)
		if t < 1 || reason < 0 {
			return j, lists, fmt.Errorf("the status has the condition %s with reason %s", c.Type, c.Reason)
		}
		j.conditions[i] = condition(t<<5 | reason)
		if c.Status == batch.ConditionTrue {
			j.conditions[i] |= 16
		}
	}
	if u := st.UncountedTerminatedPods; u != nil {
		for _, list := range []struct {
			uids []string
			as   listed
		}{{u.Succeeded, listedSucceeded}, {u.Failed, listedFailed}} {
			for _, uid := range list.uids {
				slot := Slot(uid)
				if slot < 0 || slot >= s.n || lists[slot] != unlisted {
					return j, lists, fmt.Errorf("the status names pod %q, which is unknown or named twice", uid)
				}
				lists[slot] = list.as
			}
		}
	}
	return j, lists, err
}

// bitsOf returns the indexes of a text as bits.
func bitsOf(text string) (bits uint8) {
	set, _ := indexset.ParseLenient(text)
	for i := range set.Clip(indexes).All() {
		bits |= 1 << i
	}
	return bits
}
