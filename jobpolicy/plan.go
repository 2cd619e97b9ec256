package jobpolicy

import (
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// Input is what Plan decides on. Plan does not change it, so it may be shared
// between goroutines.
type Input struct {
	Job *batch.Job // as it was last written; State tells Plan if it is older
	// Pods are all of the Job's pods that the caller can see, in any order. Each has a UID
	// or at least a name.
	Pods                []*batch.Pod
	State               State // of the last plan whose InterimStatus was written; zero at first
	ExpectationsPending bool  // creations or deletions of an earlier plan are not visible in Pods yet
	// FinalizersRemoved names the pods whose finalizer was taken off and which Pods may still show
	// with it, by UID, or by name if a pod has none.
	FinalizersRemoved []string
	NoPodChanges      bool      // the API server refuses creations or deletions: plan none, and no end that needs one
	Now               time.Time // the caller's clock; must be set
}

// Plan is what to do, in this order: Delete, Create, InterimStatus, Release, FinalStatus.
// InterimStatus writes the ends of pods down, Release takes the finalizers of these pods
// off, and only FinalStatus raises the counters. So a crash at any point neither loses a
// failure nor counts it twice (KEP-3850, and the Job tracking protocol it builds on). A
// Plan shares nothing that anybody writes to.
//
// If an effect fails, leave out the rest of the plan and plan again later. After
// a refused deletion or creation make another plan at once, with NoPodChanges: it
// still records and releases what has ended.
type Plan struct {
	Delete        []Deletion       // delete these pods …
	Create        []Creation       // … create these …
	InterimStatus *batch.JobStatus // … write this status (nil: nothing to write) …
	Release       []PodRef         // … take the tracking finalizer off these pods; they may run if the Job ends …
	FinalStatus   *batch.JobStatus // … and write this (nil: nothing more to write)

	State         State         // for the next plan; keep it once InterimStatus is written, at once if there is none
	RequeueAfter  time.Duration // 0: nothing to wait for
	RequeueReason RequeueReason // what RequeueAfter waits for
	Decisions     []PodDecision // one for each newly finished pod, in the order of index and UID
	MetricDeltas  MetricDeltas  // metric increments, valid once InterimStatus is written, at once if there is none
	Notes         []string      // what Plan could not read or left out, and why nothing was planned
}

// PodRef names a pod. UID is "" if the pod was given without one.
type PodRef struct{ Name, UID string }

// Deletion is a pod to delete. With Untrack take its tracking finalizer off
// first: the Job does not want the pod any more, and its end does not count.
type Deletion struct {
	PodRef
	Untrack bool
}

// PodDecision is what Plan decided about a newly finished pod. Each pod is
// decided on once: what was recorded of it stands, even if it shows another end
// later.
type PodDecision struct {
	PodRef
	Index       int       // completion index, -1 for a NonIndexed Job
	Match       Match     // what the pod failure policy says; Rule is -1 if the pod succeeded or no rule matches
	Failures    int       // counted failures of its index, with this one if it counts; 0 without a limit per index
	IndexFailed bool      // the index fails with this pod
	Finished    time.Time // when the pod ended, as FinishTime says
	Untracked   bool      // it has no tracking finalizer: its end counts nothing
}

// MetricDeltas are increments of the Job controller's metrics, whose names begin with
// job_controller_. Add those of every plan
// whose InterimStatus was written: each pod, index and Job is then counted once, whatever
// crashed or was repeated in between. The zero value adds nothing.
type MetricDeltas struct {
	Finished         batch.Reason         // jobs_finished_total{reason}: why the Job is to end; "" if it is not
	PodsSucceeded    int                  // job_pods_finished_total{result="succeeded"}
	PodsFailed       int                  // job_pods_finished_total{result="failed"}
	IndexesSucceeded int                  // job_finished_indexes_total{status="succeeded"}
	IndexesFailed    int                  // job_finished_indexes_total{status="failed"}
	PerIndex         bool                 // of these two, the label backoffLimit: "perIndex" if true, else "global"
	Handled          map[batch.Action]int // pod_failures_handled_by_failure_policy_total{action}
}

func (c *MetricDeltas) handle(m Match) {
	if m.Action == "" {
		return
	}
	if c.Handled == nil {
		c.Handled = make(map[batch.Action]int)
	}
	c.Handled[m.Action]++
}
