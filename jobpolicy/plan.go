package jobpolicy

import (
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// Input is the input of Plan, which does not modify it.
type Input struct {
	Job *batch.Job

	// Pods are all visible pods of the Job, in any order. Each needs a UID or a name.
	// Of pods with the same UID, or without a UID and with the same name, Plan uses the
	// first and notes the others.
	Pods []*batch.Pod

	State State // the last one kept; see Plan

	// ExpectationsPending says that Pods does not show all creations and deletions of
	// earlier plans yet. If Pods comes from a cache, remember the UID of each created pod
	// until the cache shows it, and of each deleted pod until the cache shows it being
	// deleted or no longer shows it. Set ExpectationsPending as long as any is remembered.
	// After five minutes, forget it and plan again, because a pod may come and go unseen.
	ExpectationsPending bool

	// FinalizersRemoved lists pods, by UID or else by name, whose finalizers are
	// removed but may still show in Pods. Drop a pod once Pods shows it without the
	// finalizer or no longer shows it.
	FinalizersRemoved []string

	// Set NoPodChanges after a refused creation or deletion. Plan then does neither,
	// and ends no Job with active pods.
	NoPodChanges bool

	Now time.Time // the caller's clock; must be set
}

// Plan holds effects to carry out in this order:
//
//  1. Delete each pod of Delete. If its Untrack is set, first remove the finalizer.
//  2. For each Creation, create the pod that its Pod returns or, with client-go, that
//     NewPod in the package convert of the module kube returns. A pod counts only if it
//     has the tracking finalizer.
//  3. Write InterimStatus, if there is one, and State with it. Then keep State.
//  4. Remove the finalizer of each pod of Release. List the pod in
//     Input.FinalizersRemoved until Input.Pods shows the removal.
//  5. Write FinalStatus, if there is one.
//  6. Plan again after RequeueAfter, and on every change of the Job or its pods.
//
// InterimStatus records the ends of pods, Release removes their finalizers, and only a
// later status counts the failures. A crash therefore neither loses a failure nor counts
// it twice (KEP-3850). Once InterimStatus is written and Release names a finished pod,
// the caller may forget the pod.
//
// # Keeping State
//
// Store State in the same write as InterimStatus if possible. Without an InterimStatus,
// keep it in memory until the next one: what is new then concerns only the delays and
// Decisions of pods that the status does not name. A caller that keeps State in memory
// only, as Kubernetes' controller does, loses it with the process. Delays then start
// over, and some Decisions and their MetricDeltas are made again. No end is lost or
// counted twice if the first plan is made from the Job and pods of the API server, not of
// a cache.
//
// # Failed effects
//
// If an effect fails, skip the rest and plan again after a back-off.
//
//   - A deletion or creation: plan again at once with NoPodChanges, and with
//     ExpectationsPending if others succeeded, and carry out that plan. A quota that counts
//     finished pods refuses creations until finished pods are released, so merely stopping
//     would release none. With a limit per index, the last failed pod of an index is
//     released only once its replacement exists, so such a quota must exceed the Job's
//     parallelism.
//   - InterimStatus, also because of a conflict: discard State, which describes the
//     unwritten status. If another controller has written a state meanwhile, continue from
//     that state, and list the pods from the API server, because a cache may still show
//     pods as new that the other controller has counted.
//   - A release: do not list the pod in FinalizersRemoved, and skip FinalStatus. The next
//     plan releases the pod again.
//   - FinalStatus: nothing. The next plan writes it.
//
// # Older Jobs
//
// Caches of Jobs and of pods lag independently. On a Job older than State, Plan returns an
// empty plan with RequeueStaleJob and a note. To go on sooner than Engine.Plan says, read
// the Job from the API server; if its status is still behind because another client has set
// it back, set State.Written to its zero value.
type Plan struct {
	Delete        []Deletion       // pods to delete
	Create        []Creation       // pods to create
	InterimStatus *batch.JobStatus // status to write, nil if unchanged
	Release       []PodRef         // pods to remove the tracking finalizer from, even running ones if the Job ends
	FinalStatus   *batch.JobStatus // status to write last, nil if unchanged

	State         State         // for the next plan; see Keeping State
	RequeueAfter  time.Duration // 0 if the plan waits for nothing
	RequeueReason RequeueReason // why to plan again
	Decisions     []PodDecision // one per newly finished pod, ordered by index and UID
	MetricDeltas  MetricDeltas  // valid once InterimStatus, if any, is written
	Notes         []string      // unreadable or skipped input, and why a plan is empty
}

// PodRef names a pod. UID may be "".
type PodRef struct{ Name, UID string }

// Deletion is a pod to delete. If Untrack is set, first remove the pod's tracking
// finalizer ([batch.JobTrackingFinalizer]), so that its end does not count.
type Deletion struct {
	PodRef
	Untrack bool
}

// RequeueReason says why to plan again even without a change. "" means no reason.
type RequeueReason string

// The reasons for planning again.
const (
	RequeueDelay    RequeueReason = "Delay"    // the replacement of a failed pod is due
	RequeueBatch    RequeueReason = "Batch"    // like RequeueDelay, postponed to MinRequeue
	RequeueDeadline RequeueReason = "Deadline" // activeDeadlineSeconds have passed
	RequeueStaleJob RequeueReason = "StaleJob" // the Job is older than the last written status; reread it or wait
)

// PodDecision is the decision about a newly finished pod. It stands even if the pod
// later looks different.
type PodDecision struct {
	PodRef
	Index       int       // completion index, -1 for a NonIndexed Job
	Match       Match     // of the pod failure policy; Rule is -1 if none matches or the pod succeeded
	Failures    int       // counted failures of its index, this one included; 0 without a limit per index
	IndexFailed bool      // the index fails with this pod
	Finished    time.Time // the pod's FinishTime
	Untracked   bool      // the pod never had the tracking finalizer, so its end does not count
}

// MetricDeltas are increments of metrics, here with the names of Kubernetes' Job
// controller without their prefix job_controller_. Add those of a plan once its
// InterimStatus, if any, is written. Each pod, index and Job is then counted once,
// despite crashes and retries.
type MetricDeltas struct {
	Finished         batch.Reason         // jobs_finished_total{reason}; "" unless this plan decides the Job's end
	PodsSucceeded    int                  // job_pods_finished_total{result="succeeded"}
	PodsFailed       int                  // job_pods_finished_total{result="failed"}
	IndexesSucceeded int                  // job_finished_indexes_total{status="succeeded"}
	IndexesFailed    int                  // job_finished_indexes_total{status="failed"}
	PerIndex         bool                 // label backoffLimit of the index metrics: "perIndex" if true, else "global"
	Handled          map[batch.Action]int // pod_failures_handled_by_failure_policy_total{action}
}

// handled counts a failure for which a rule decided.
func (d *MetricDeltas) handled(m Match) {
	if m.Action == "" {
		return
	}
	if d.Handled == nil {
		d.Handled = make(map[batch.Action]int)
	}
	d.Handled[m.Action]++
}
