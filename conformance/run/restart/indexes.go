package main

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/conformance/vectors/serve"
	"github.com/restartkit/restart/conformance/vectors/shape"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// indexText is a text of indexes of a Job.
type indexText struct {
	Text        string `json:"text"`
	Completions int64  `json:"completions"`
}

func parse(in indexText) (any, error) {
	s, err := indexset.Parse(in.Text)
	if highest, ok := s.Max(); err != nil || ok && int64(highest) >= in.Completions {
		return map[string]any{"error": true, "total": 0}, nil
	}
	return map[string]any{"error": false, "total": s.Len()}, nil
}

func parseLenient(in indexText) (any, error) {
	s, _ := indexset.ParseLenient(in.Text)
	s = s.Clip(int(max(min(in.Completions, math.MaxInt), -1)))
	return map[string]any{"format": s.String(), "total": s.Len()}, nil
}

type intervals [][2]int

// set returns the set of the intervals, which must be in order and disjoint.
func (v intervals) set() (indexset.Set, error) {
	var b indexset.Builder
	next := 0
	for _, i := range v {
		if i[0] < next || i[1] < i[0] || i[1] > indexset.MaxIndex {
			return indexset.Set{}, serve.Unsupported("intervals that are reversed, unordered, overlapping or out of range, which no set has")
		}
		b.AddRange(i[0], i[1])
		next = i[1] + 1
	}
	return b.Set(), nil
}

func format(in struct {
	Intervals intervals `json:"intervals"`
}) (any, error) {
	s, err := in.Intervals.set()
	return map[string]any{"text": s.String(), "total": s.Len()}, err
}

func has(in struct {
	Intervals intervals `json:"intervals"`
	Index     int       `json:"index"`
}) (any, error) {
	s, err := in.Intervals.set()
	return s.Contains(in.Index), err
}

func union(in struct{ A, B string }) (any, error) {
	a, _ := indexset.ParseLenient(in.A)
	b, _ := indexset.ParseLenient(in.B)
	u := a.Union(b)
	return map[string]any{"text": u.String(), "total": u.Len()}, nil
}

// bookkeeping is a Job and its pods, without delays or limits that end it.
type bookkeeping struct {
	shape.Ops
}

// plan plans a pass long after the pods' ends.
func (in *bookkeeping) plan(job *batch.Job) (jobpolicy.Plan, []*batch.Pod, error) {
	if job.Spec.BackoffLimit == nil {
		job.Spec.BackoffLimit = new32(math.MaxInt32)
	}
	pods, err := shape.Pods(in.Pods, time.Unix(0, 0))
	if err != nil {
		return jobpolicy.Plan{}, nil, err
	}
	pods = shape.Present(pods)
	plan, err := jobpolicy.Engine{}.Plan(jobpolicy.Input{Job: job, Pods: pods, FinalizersRemoved: in.Untracking, Now: time.Unix(1e10, 0)})
	return plan, pods, err
}

// status returns the status that a plan writes first, or the Job's own.
func status(job *batch.Job, plan jobpolicy.Plan) *batch.JobStatus {
	switch {
	case plan.InterimStatus != nil:
		return plan.InterimStatus
	case plan.FinalStatus != nil:
		return plan.FinalStatus
	}
	return &job.Status
}

func succeeded(in bookkeeping) (any, error) {
	job := in.Job()
	if in.Previous != nil {
		job.Status.CompletedIndexes = *in.Previous
	}
	previous, _ := indexset.ParseLenient(job.Status.CompletedIndexes)
	plan, _, err := in.plan(job)
	return map[string]any{"previous": previous.Clip(int(in.Completions)).String(), "now": status(job, plan).CompletedIndexes}, err
}

func failed(in bookkeeping) (any, error) {
	job := in.Job()
	job.Status.FailedIndexes = in.Previous
	plan, _, err := in.plan(job)
	return status(job, plan).FailedIndexes, err
}

func indexFailed(in bookkeeping) (any, error) {
	if in.Pod != nil {
		in.Pod.Tracked = true // only such pods are decided on, …
		if in.Pod.Index == nil {
			in.Pod.Index = new(string) // … and only those of an index
			*in.Pod.Index = "0"
		}
		in.Pods = []*shape.Pod{in.Pod}
	}
	in.Completions = 1 << 20
	plan, _, err := in.plan(in.Job())
	podFailed, failed := false, false
	for _, d := range plan.Decisions {
		podFailed, failed = in.Pod.Phase != batch.PodSucceeded, d.IndexFailed
	}
	return map[string]any{"pod_failed": podFailed, "index_failed": failed}, err
}

// keptPods returns the finished pods that a plan leaves their finalizers.
func keptPods(in bookkeeping) (any, error) {
	job := in.Job()
	plan, pods, err := in.plan(job)
	kept := []string{}
	for _, p := range pods {
		released := slices.ContainsFunc(plan.Release, func(r jobpolicy.PodRef) bool { return r.UID == p.UID })
		if p.Status.Phase == batch.PodFailed && p.Tracked() && !released && !slices.Contains(in.Untracking, p.UID) {
			kept = append(kept, p.UID)
		}
	}
	slices.Sort(kept)
	return kept, err
}

func nextCounts(in bookkeeping) (any, error) {
	p, err := in.Replaced.Batch(time.Unix(0, 0))
	if p == nil || err != nil {
		return map[string]any{"failures": 0, "ignored": 0}, err
	}
	failures, ignored := jobpolicy.MatchPod(in.Policy.Batch(), p).NextCounts(p.FailureCounts())
	return map[string]any{"failures": failures, "ignored": ignored}, nil
}

// pending returns the indexes of the pods that a plan creates.
func pending(in bookkeeping) (any, error) {
	if in.Failed != nil {
		in.Limit = new32(1)
	}
	job := in.Job()
	job.Status.CompletedIndexes, job.Status.FailedIndexes = in.Succeeded, in.Failed
	if in.hasSurplus() {
		return nil, serve.Unsupported("surplus active pods, which a plan deletes before it creates others")
	}
	for i, list := range [][]*string{in.Active, in.Terminating} {
		for n, text := range list {
			p := &shape.Pod{UID: string(rune('a'+i)) + "-" + string(rune('a'+n)), Phase: batch.PodRunning, Index: text, Tracked: true, Deleting: i == 1}
			in.Pods = append(in.Pods, p)
		}
	}
	pods := len(in.Active)
	if in.Replacement == batch.PodReplacementFailed {
		pods += len(in.Terminating)
	}
	job.Spec.Parallelism = new32(int32(in.Count + pods))
	plan, _, err := in.plan(job)
	indexes := []int{}
	for _, c := range plan.Create {
		indexes = append(indexes, c.Index)
	}
	return indexes, err
}

// hasSurplus reports whether an active pod has no index of the Job, an ended one or that
// of another pod.
func (in *bookkeeping) hasSurplus() bool {
	taken, _ := indexset.ParseLenient(in.Succeeded)
	if in.Failed != nil {
		failed, _ := indexset.ParseLenient(*in.Failed)
		taken = taken.Union(failed)
	}
	for _, text := range in.Terminating {
		if s, err := indexset.Parse(shape.Value(text)); err == nil && in.Replacement == batch.PodReplacementFailed {
			taken = taken.Union(s)
		}
	}
	for _, text := range in.Active {
		s, err := indexset.Parse(shape.Value(text))
		i, ok := s.Max()
		if err != nil || !ok || i >= int(in.Completions) || taken.Contains(i) {
			return true
		}
		taken = taken.With(i)
	}
	return false
}

// duplicates returns the active pods that a plan deletes and keeps.
func duplicates(in bookkeeping) (any, error) {
	for _, p := range in.Pods {
		p.Tracked = true
	}
	job := in.Job()
	job.Spec.Parallelism = new32(1 << 20)
	plan, pods, err := in.plan(job)
	remove, keep := []int{}, []int{}
	for i, p := range pods {
		deleted := slices.ContainsFunc(plan.Delete, func(d jobpolicy.Deletion) bool { return d.UID == p.UID && d.Name == p.Name })
		switch {
		case p.Finished() || !p.DeletionTimestamp.IsZero():
		case deleted:
			remove = append(remove, i)
		default:
			keep = append(keep, i)
		}
	}
	return map[string]any{"remove": remove, "keep": keep}, err
}

func generateName(in bookkeeping) (any, error) {
	if in.Index < 0 || in.Index >= 1<<20 {
		return nil, serve.Unsupported("an index that no Job has")
	}
	in.Completions = int32(in.Index + 1)
	job := in.Job()
	job.Name = in.Name
	job.Spec.Parallelism = new32(1)
	var done indexset.Builder
	if in.Index > 0 {
		done.AddRange(0, in.Index-1)
	}
	job.Status.CompletedIndexes = done.Set().String()
	plan, _, err := in.plan(job)
	if err != nil || len(plan.Create) != 1 {
		return nil, errors.Join(err, errors.New("no pod is created"))
	}
	return plan.Create[0].GenerateName, nil
}

func failureCount(in bookkeeping) (any, error) {
	p := &batch.Pod{}
	if in.Raw != nil {
		p.Annotations = map[string]string{batch.JobIndexFailureCountAnnotation: *in.Raw}
	}
	failures, _ := p.FailureCounts()
	return failures, nil
}

func overlap(in bookkeeping) (any, error) {
	in.Limit = new32(0)
	job := in.Job()
	job.Status.CompletedIndexes, job.Status.FailedIndexes = in.Completed, in.Failed
	var errs field.Errors
	errors.As(job.ValidateStatus(), &errs)
	return slices.ContainsFunc(errs, func(e field.Error) bool {
		return e.Field == "status.failedIndexes" && strings.HasSuffix(e.Detail, "is in completedIndexes too")
	}), nil
}

// finishedCounts returns the pods counted by a plan or recorded to be counted.
func finishedCounts(in bookkeeping) (any, error) {
	job := &batch.Job{
		Spec: batch.JobSpec{Completions: new32(1 << 20), PodFailurePolicy: in.Policy.Batch(), PodReplacementPolicy: in.Replacement},
		Status: batch.JobStatus{
			Succeeded: in.StatusSucceeded, Failed: in.StatusFailed,
			UncountedTerminatedPods: &batch.UncountedTerminatedPods{Succeeded: in.UncountedSucceeded, Failed: in.UncountedFailed},
		},
	}
	plan, _, err := in.plan(job)
	s := status(job, plan)
	succeeded, failed := int(s.Succeeded), int(s.Failed)
	if u := s.UncountedTerminatedPods; u != nil {
		succeeded, failed = succeeded+len(u.Succeeded), failed+len(u.Failed)
	}
	return map[string]any{"succeeded": succeeded, "failed": failed}, err
}
