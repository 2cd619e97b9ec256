package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/convert"
	"github.com/restartkit/restart/kube/jobcontroller"
)

// Job explains a Job.
type Job struct {
	Kind       string      `json:"kind"` // Job
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	Summary    string      `json:"summary"`          // one sentence: the state, and the end of the waiting
	Trouble    bool        `json:"trouble"`          // the Job failed, is about to, or waits
	Advice     string      `json:"advice,omitempty"` // what to do
	Counts     Counts      `json:"counts"`
	Conditions []Condition `json:"conditions,omitempty"` // those that hold
	Start      *Start      `json:"start,omitempty"`      // of the next pod; nil if none waits for a delay
	Limits     []Limit     `json:"limits,omitempty"`     // limits that end the Job
	Indexes    []Index     `json:"indexes,omitempty"`
	Failures   []Failure   `json:"failures,omitempty"` // failed pods that the cluster still has, the latest first
	Unseen     int64       `json:"unseen,omitempty"`   // failed pods that the cluster no longer has
	Waiting    []Pod       `json:"waiting,omitempty"`  // unfinished pods in trouble
	Events     []Event     `json:"events,omitempty"`
	Findings   []Finding   `json:"findings,omitempty"`
	Notes      []string    `json:"notes,omitempty"`

	unseen string // why the failed pods that Unseen counts are not shown
}

// Counts are the numbers of a Job's pods by its status.
type Counts struct {
	Active           int32  `json:"active"`
	Ready            int32  `json:"ready"`
	Terminating      int32  `json:"terminating"`
	Succeeded        int32  `json:"succeeded"`
	Failed           int32  `json:"failed"`
	Uncounted        int    `json:"uncounted"`  // ended pods recorded in uncountedTerminatedPods
	Unrecorded       int    `json:"unrecorded"` // ended pods that the status does not have yet
	CompletedIndexes string `json:"completedIndexes,omitempty"`
	FailedIndexes    string `json:"failedIndexes,omitempty"`
}

// Job explains a Job, with the pods that it controls.
func (x *Explainer) Job(job *batchv1.Job) Job {
	out := Job{Kind: "Job", Namespace: job.Namespace, Name: job.Name}
	j := x.newJobView(job)
	out.Notes = j.notes
	out.Counts = j.counts()
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			out.Conditions = append(out.Conditions, Condition{string(c.Type), string(c.Status), c.Reason, c.Message, c.LastTransitionTime.Time})
		}
	}
	out.Failures = j.failures()
	out.Unseen = max(int64(job.Status.Failed)-int64(j.countedFailures()), 0)
	if out.unseen = " that the cluster no longer has"; x.Partial != "" {
		out.unseen = ", " + x.Partial
	}
	if _, finished := j.job.Status.Finished(); !finished && !j.failing() {
		out.Limits = j.limits()
	}
	if _, finished := j.job.Status.Finished(); !finished {
		out.Indexes = j.indexes()
		for i := range out.Indexes {
			if out.Indexes[i].Start != nil && out.Counts.Unrecorded > 0 {
				out.Counts.Unrecorded-- // recorded once its next pod exists
			}
		}
		for _, p := range j.objects {
			if podEnded(p) {
				continue
			}
			if pod := x.Pod(p); pod.Trouble {
				pod.Findings = nil // those of the template are the Job's
				out.Waiting = append(out.Waiting, pod)
			}
		}
		slices.SortFunc(out.Waiting, func(a, b Pod) int { return cmp.Compare(a.Name, b.Name) })
	}
	for i := range out.Indexes {
		out.Indexes[i].Start = j.beforeDeadline(out.Indexes[i].Start)
	}
	out.Start = j.beforeDeadline(j.start())
	out.Findings = FindingsOf(job)
	j.summarize(&out)
	out.Notes = append(out.Notes, j.leftBehind()...)
	out.Notes = append(out.Notes, j.podsAtTheLimit()...)
	if out.Trouble {
		out.Events = shownEvents(x.EventsOf("Job", &job.ObjectMeta))
	}
	return out
}

// jobView is a Job with its pods, as jobpolicy sees them.
type jobView struct {
	*Explainer
	object  *batchv1.Job
	objects []*corev1.Pod
	job     *batch.Job
	spec    batch.JobSpec // with defaults
	pods    []*batch.Pod  // without nil
	engine  jobpolicy.Engine
	foreign bool // an unknown controller runs the Job
	plan    jobpolicy.Plan
	planned bool
	// deadline is when the unfinished Job fails by activeDeadlineSeconds; zero if never, or if
	// its end is decided already.
	deadline time.Time
	hidden   bool // pods on which the plan depends are missing from Pods
	raw      bool // the Job is a manifest, which no cluster has seen
	notes    []string
}

// The controllers whose delays are known.
const (
	builtIn = batchv1.JobControllerName
	ours    = jobcontroller.DefaultManagedBy
)

func (x *Explainer) newJobView(job *batchv1.Job) *jobView {
	j := &jobView{Explainer: x, object: job, objects: x.podsOf(job), job: convert.Job(job)}
	j.pods = slices.DeleteFunc(convert.Pods(j.objects), func(p *batch.Pod) bool { return p == nil })
	j.spec = j.job.Spec
	j.spec.Default()
	j.engine.ManagedBy = j.spec.ManagedBy
	switch j.foreign = isForeign(job); {
	case j.spec.ManagedBy == ours:
		engine, errs := jobcontroller.WithAnnotations(j.engine, job.Annotations)
		j.engine = engine
		for _, e := range errs {
			j.notes = append(j.notes, "the controller ignores an annotation: "+line(e.Error()))
		}
	}
	j.deadline = x.failsAt(job)
	j.hidden = j.podsHidden()
	j.raw = j.Partial != "" && job.UID == "" && job.Status.StartTime == nil && len(job.Status.Conditions) == 0
	if j.hidden || j.raw {
		return j
	}
	in := jobpolicy.Input{Job: j.job, Pods: j.pods, State: j.state(), Now: x.Now}
	planned := *j.job
	planned.Spec.ActiveDeadlineSeconds = nil // it is a limit of its own; here it would hide a later delay
	in.Job = &planned
	plan, err := j.engine.Plan(in)
	if err != nil {
		j.notes = append(j.notes, "the status makes no sense, so nothing is predicted: "+line(err.Error()))
	}
	j.plan, j.planned = plan, err == nil && !j.foreign
	switch plan.MetricDeltas.Finished {
	case batch.JobReasonPodFailurePolicy, batch.JobReasonBackoffLimitExceeded: // before any deadline
		j.deadline = time.Time{}
	}
	if !j.foreign {
		for _, n := range plan.Notes {
			j.notes = append(j.notes, line(n))
		}
	}
	return j
}

// isForeign reports whether an unknown controller runs the Job.
func isForeign(job *batchv1.Job) bool {
	by := job.Spec.ManagedBy
	return by != nil && *by != "" && *by != builtIn && *by != ours
}

// failsAt returns when an unfinished Job fails by activeDeadlineSeconds, or zero.
func (x *Explainer) failsAt(job *batchv1.Job) time.Time {
	s, start := &job.Spec, job.Status.StartTime
	if s.ActiveDeadlineSeconds == nil || start.IsZero() || s.Suspend != nil && *s.Suspend || isForeign(job) {
		return time.Time{}
	}
	for _, c := range job.Status.Conditions {
		switch c.Type {
		case batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget:
			if c.Status == corev1.ConditionTrue {
				return time.Time{}
			}
		}
	}
	l := Limit{Max: *s.ActiveDeadlineSeconds}
	l.timed(start.Time, x.Now, "")
	return l.At
}

// deadlineOver reports whether the deadline has passed, so that the Job controller fails
// the Job as soon as it looks at it.
func (j *jobView) deadlineOver() bool { return !j.deadline.IsZero() && !j.deadline.After(j.Now) }

// beforeDeadline returns the start of a pod, or one that says that it never starts, because
// the deadline is not later.
func (j *jobView) beforeDeadline(s *Start) *Start {
	switch {
	case s == nil || j.deadline.IsZero() || j.deadline.After(s.From):
		return s
	case j.deadlineOver():
		return &Start{Never: true, Why: "the Job's deadline is over"}
	}
	return &Start{Never: true, Why: "the Job's deadline comes before the delay is over, at " + until(s.From, j.Now)}
}

// deadlineText says that the Job fails at its deadline instead of starting another pod.
func (j *jobView) deadlineText() string {
	if !j.deadlineOver() {
		return "it fails at its deadline, " + until(j.deadline, j.Now) + " (DeadlineExceeded), before its next pod would start"
	}
	text := "its deadline was at " + until(j.deadline, j.Now) + ", so it fails as soon as the Job controller looks at it (DeadlineExceeded)"
	if j.Undated {
		text += ", unless that has happened since the files were taken"
	}
	return text
}

// podsHidden reports whether Pods lack pods of the Job that the cluster has: some of the
// active ones, or all of the failed ones, whose ends the delay depends on.
func (j *jobView) podsHidden() bool {
	if j.Partial == "" {
		return false
	}
	active := int32(0)
	for _, p := range j.objects {
		if !podEnded(p) && p.DeletionTimestamp == nil {
			active++
		}
	}
	s := &j.object.Status
	remembered := j.spec.ManagedBy == ours && j.object.Annotations[jobcontroller.AnnotationMemory] != ""
	return active < s.Active || len(j.objects) == 0 && s.Failed > 0 && !remembered
}

// state returns the state for the plan. The Job controller of Kubernetes keeps its own
// in memory, so its streak of failures is taken from the pods and the status.
func (j *jobView) state() jobpolicy.State {
	if text := j.object.Annotations[jobcontroller.AnnotationMemory]; text != "" && j.spec.ManagedBy == ours {
		var m jobpolicy.State
		if err := json.Unmarshal([]byte(text), &m); err == nil && m.Job == j.job.UID {
			return m
		}
		j.notes = append(j.notes, "the annotation "+jobcontroller.AnnotationMemory+" is not readable or another Job's")
	}
	var m jobpolicy.State
	var success time.Time
	recorded := make(map[string]bool)
	if u := j.job.Status.UncountedTerminatedPods; u != nil {
		for _, uid := range slices.Concat(u.Failed, u.Succeeded) {
			recorded[uid] = true
		}
	}
	for _, p := range j.pods {
		if !p.Finished() || p.Tracked() && !recorded[p.UID] {
			continue // the plan reads its end
		}
		if !p.Tracked() {
			m.Released = append(m.Released, cmp.Or(p.UID, p.Name))
		}
		if p.Status.Phase == batch.PodSucceeded && p.FinishTime().After(success) {
			success = p.FinishTime()
		}
	}
	for _, p := range j.pods {
		if p.Status.Phase != batch.PodFailed || p.Tracked() && !recorded[p.UID] || !p.FinishTime().After(success) {
			continue
		}
		m.Failures++
		if t := p.FinishTime(); t.After(m.LastFailure) {
			m.LastFailure = t
		}
	}
	// Without a success, all failures that the status has are in a row, even if their pods
	// are gone, and whether or not it has those of the pods that are left.
	if s := &j.job.Status; s.Succeeded == 0 && success.IsZero() {
		n := int(s.Failed)
		if u := s.UncountedTerminatedPods; u != nil {
			n += len(u.Failed)
		}
		m.Failures = max(m.Failures, n)
	}
	return m
}

// unseenInARow reports whether the delay depends on failures whose pods are not among Pods.
func (j *jobView) unseenInARow() bool {
	seen := 0
	for _, p := range j.pods {
		if p.Status.Phase == batch.PodFailed {
			seen++
		}
	}
	return j.plan.State.Failures > seen
}

func (j *jobView) counts() Counts {
	s := &j.job.Status
	c := Counts{Active: s.Active, Succeeded: s.Succeeded, Failed: s.Failed, CompletedIndexes: s.CompletedIndexes}
	if s.Ready != nil {
		c.Ready = *s.Ready
	}
	if s.Terminating != nil {
		c.Terminating = *s.Terminating
	}
	if s.FailedIndexes != nil {
		c.FailedIndexes = *s.FailedIndexes
	}
	if u := s.UncountedTerminatedPods; u != nil {
		c.Uncounted = len(u.Succeeded) + len(u.Failed)
	}
	if j.planned {
		for i := range j.plan.Decisions {
			if !j.plan.Decisions[i].Untracked {
				c.Unrecorded++
			}
		}
	}
	return c
}

// failing reports whether the Job's failure is decided, although pods have yet to end.
func (j *jobView) failing() bool {
	for _, c := range j.object.Status.Conditions {
		if c.Type == batchv1.JobFailureTarget && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// start returns when the Job's next pod is created, or nil if none waits.
func (j *jobView) start() *Start {
	if !j.planned || j.spec.Suspend {
		return nil
	}
	if _, finished := j.job.Status.Finished(); finished {
		return nil
	}
	if len(j.plan.Create) > 0 {
		return &Start{From: j.Now, To: j.Now.Add(time.Second), Why: j.whyDue()}
	}
	switch j.plan.RequeueReason {
	case jobpolicy.RequeueDelay, jobpolicy.RequeueBatch:
	default:
		return nil
	}
	from := j.due()
	why, estimated := "the delay after the last failed pod", false
	if j.spec.CompletionMode == batch.IndexedCompletion && j.spec.BackoffLimitPerIndex != nil {
		why += " of the index"
	} else if j.spec.ManagedBy != ours {
		if estimated = j.unseenInARow(); estimated {
			why = fmt.Sprintf("the delay after the last of %d failures in a row, as the status counts them", j.plan.State.Failures)
		}
		why += "; sooner if the Job controller has restarted since, because it keeps its delays in memory"
		if j.ignored() {
			why += ", or if it has not kept a failure that a rule ignores"
		}
	}
	return &Start{From: from, To: from.Add(2 * time.Second), Estimated: estimated, Why: why}
}

// podsDue says how many pods can start now, and who holds places meanwhile.
func (j *jobView) podsDue() string {
	when := " can start now"
	if j.Undated {
		when = " could start by now, unless that has happened since the files were taken"
	}
	return counted(len(j.plan.Create), "pod") + when + j.heldPlaces()
}

// whyDue says why pods can start now.
func (j *jobView) whyDue() string {
	active := 0
	for _, p := range j.pods {
		if !p.Finished() {
			active++
		}
	}
	why := fmt.Sprintf("parallelism %d with %s", *j.spec.Parallelism, counted(active, "unfinished pod"))
	if !j.Undated {
		why += "; if no pod appears, the Job controller does not run or may not create pods"
	}
	return why
}

// ignored reports whether a rule ignores one of the failed pods. Kubernetes' controller keeps
// such a failure only if it writes the Job's status at the same time.
func (j *jobView) ignored() bool {
	return slices.ContainsFunc(j.pods, func(p *batch.Pod) bool {
		return p.Status.Phase == batch.PodFailed && !jobpolicy.MatchPod(j.spec.PodFailurePolicy, p).Counted()
	})
}

// due returns when the delay of the next pod ends. RequeueAfter is not exact, because
// the engine batches delays below a second.
func (j *jobView) due() time.Time {
	due := j.Now.Add(j.plan.RequeueAfter)
	if j.spec.CompletionMode == batch.IndexedCompletion && j.spec.BackoffLimitPerIndex != nil {
		for _, x := range j.indexes() {
			if x.Start != nil && x.Start.From.After(j.Now) && x.Start.From.Before(due) {
				due = x.Start.From
			}
		}
		return due
	}
	m := j.plan.State
	end := m.LastFailure.Add(j.engine.Remaining(m.Failures, 0))
	if ignored := m.LastIgnored.Add(j.engine.Remaining(m.Ignored, 0)); j.engine.IgnoredDelay == jobpolicy.DelaySeparately && ignored.After(end) {
		end = ignored
	}
	if end.Before(due) {
		due = end
	}
	return due
}

// leftBehind notes ended pods that the controller should have released by now.
func (j *jobView) leftBehind() (notes []string) {
	if j.Undated {
		return nil
	}
	n, kept := 0, make(map[string]bool)
	for _, x := range j.indexes() {
		kept[x.Pod] = x.Start != nil // until its next pod exists
	}
	for _, p := range j.pods {
		if p.Finished() && p.Tracked() && !kept[p.Name] && j.Now.Sub(p.FinishTime()) > time.Minute {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{counted(n, "pod") + " ended more than a minute ago, and the Job controller has not yet released the finalizer " + batch.JobTrackingFinalizer + "; it may not be running"}
}

func conditionText(reason, message string) string {
	text := ""
	if reason != "" {
		text = " (" + line(reason) + ")"
	}
	if message != "" {
		text += ": " + line(message)
	}
	return text
}
