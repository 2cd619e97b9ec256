package jobpolicy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/vectors"
	"github.com/restartkit/restart/internal/vectors/shape"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// opsKinds are the kinds of index bookkeeping. Package indexset tests two of them.
func opsKinds() map[string]vectors.Kind {
	return map[string]vectors.Kind{
		"has":             {},
		"union":           {},
		"succeeded":       {Run: succeededVector},
		"failed":          {Run: failedVector},
		"index_failed":    {Run: indexFailedVector},
		"kept_pods":       {Run: keptPodsVector},
		"next_counts":     {Run: nextCountsVector},
		"pending":         {Run: pendingVector},
		"duplicates":      {Run: duplicatesVector, Normal: vectors.PodContents},
		"generate_name":   {Run: generateNameVector},
		"failure_count":   {Run: failureCountVector},
		"overlap":         {Run: overlapVector, Normal: vectors.IsError},
		"finished_counts": {Run: finishedCountsVector},
	}
}

// passOf reads a Job and its pods, some still with a removed finalizer.
func passOf(in *shape.Ops, job *batch.Job) (*view, error) {
	pods, err := shape.Pods(in.Pods, time.Unix(0, 0))
	if err != nil {
		return nil, err
	}
	return observe(Engine{}, Input{Job: job, Pods: pods, FinalizersRemoved: in.Untracking})
}

const misread = "an index text that is unordered, overlaps or goes on behind the first index out of range: Kubernetes' reader loses or repeats members of it, ours does not"

// kubernetesReads returns the text that Kubernetes prints after parsing text and
// merging the indexes.
func kubernetesReads(text string, completions int32, more ...int) string {
	intervals := readIndexesAsWritten(text, int(completions))
	var added []vectorInterval
	for _, i := range slices.Compact(slices.Sorted(slices.Values(more))) { // more is the caller's
		added = append(added, vectorInterval{i, i})
	}
	var merged []vectorInterval
	for len(intervals)+len(added) > 0 {
		from := &added
		if len(added) == 0 || len(intervals) > 0 && intervals[0][0] < added[0][0] {
			from = &intervals
		}
		next := (*from)[0]
		*from = (*from)[1:]
		if n := len(merged); n == 0 || next[0] > merged[n-1][1]+1 {
			merged = append(merged, next)
		} else {
			merged[n-1][1] = max(merged[n-1][1], next[1])
		}
	}
	return printIntervals(merged)
}

// setReads returns the canonical text after parsing text and adding the indexes.
func setReads(text string, completions int32, more ...int) string {
	intervals := readIndexesAsSet(text, int(completions))
	for _, i := range more {
		intervals = append(intervals, vectorInterval{i, i})
	}
	return printIntervals(mergeIntervals(intervals))
}

func printIntervals(intervals []vectorInterval) string {
	var parts []string
	for _, r := range intervals {
		switch {
		case r[1] <= r[0]:
			parts = append(parts, strconv.Itoa(r[0]))
		case r[1] == r[0]+1:
			parts = append(parts, fmt.Sprintf("%d,%d", r[0], r[1]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", r[0], r[1]))
		}
	}
	return strings.Join(parts, ",")
}

func succeededVector(c *vectors.Case) (any, error) {
	var in shape.Ops
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	job := in.Job()
	if in.Previous != nil {
		job.Status.CompletedIndexes = *in.Previous
	}
	p, err := passOf(&in, job)
	if err != nil {
		return nil, err
	}
	var ended []int
	for _, pod := range shape.Present(p.in.Pods) {
		if i := indexOf(pod); pod.Status.Phase == batch.PodSucceeded && len(pod.Finalizers) > 0 && i >= 0 && i < int(in.Completions) {
			ended = append(ended, i)
		}
	}
	read := func(reader func(string, int32, ...int) string) any {
		return map[string]any{
			"previous": reader(job.Status.CompletedIndexes, in.Completions),
			"now":      reader(job.Status.CompletedIndexes, in.Completions, ended...),
		}
	}
	if theirs, ours := read(kubernetesReads), read(setReads); vectors.Text(theirs) != vectors.Text(ours) {
		c.Deviate(misread, ours)
	}
	return map[string]any{"previous": p.wasSucceeded.String(), "now": p.succeeded.String()}, nil
}

func failedVector(c *vectors.Case) (any, error) {
	var in shape.Ops
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	job := in.Job()
	job.Status.FailedIndexes = in.Previous
	p, err := passOf(&in, job)
	if err != nil {
		return nil, err
	}
	if in.Limit == nil {
		return nil, nil
	}
	previous := shape.Value(in.Previous)
	var failed, ended []int
	for _, v := range p.pods {
		switch {
		case !v.tracked() || !v.inRange:
		case v.Status.Phase == batch.PodSucceeded:
			ended = append(ended, v.index)
		case v.failed() && v.match.indexFailedAfter(failuresOf(v.Pod), in.Limit):
			failed = append(failed, v.index)
		}
	}
	theirs, ours := kubernetesReads(previous, in.Completions, failed...), setReads(previous, in.Completions, failed...)
	if theirs != ours {
		c.Deviate(misread, ours)
	}
	// An index that is in previous has failed for good; one that succeeds in this
	// pass has not.
	was := setReads(previous, in.Completions)
	rest := slices.DeleteFunc(slices.Clone(failed), func(i int) bool { return slices.Contains(ended, i) })
	if once := setReads(was, in.Completions, rest...); once != ours {
		c.Deviate("an index with a failed and a succeeded pod in one pass: it succeeds and does not fail too", once)
	}
	return p.failed.String(), nil
}

func indexFailedVector(c *vectors.Case) (any, error) {
	var in shape.Ops
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	pods, err := shape.Pods([]*shape.Pod{in.Pod}, time.Unix(0, 0))
	if err != nil {
		return nil, err
	}
	pod, policy := pods[0], in.Policy.Batch()
	if openPatternDecides(policy, pod) {
		c.Exclude("a condition pattern without status, which the API server would have set to True")
	}
	in.Completions = 1 << 20
	p, err := observe(Engine{}, Input{Job: in.Job(), Pods: []*batch.Pod{pod}})
	if err != nil {
		return nil, err
	}
	if pod == nil {
		return map[string]any{"pod_failed": false, "index_failed": false}, nil
	}
	v := p.pods[0]
	return map[string]any{
		"pod_failed":   v.failed(),
		"index_failed": v.failed() && v.match.indexFailedAfter(failuresOf(pod), in.Limit),
	}, nil
}

func keptPodsVector(c *vectors.Case) (any, error) {
	var in shape.Ops
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	p, err := passOf(&in, in.Job())
	if err != nil {
		return nil, err
	}
	for _, a := range p.pods {
		for _, b := range p.pods {
			if a.index == b.index && keptByOrder(a.Pod, b.Pod) {
				c.Exclude(keptEither)
			}
		}
	}
	uids := []string{}
	for _, v := range p.predecessors {
		uids = append(uids, v.UID)
	}
	slices.Sort(uids)
	return uids, nil
}

func nextCountsVector(c *vectors.Case) (any, error) {
	var in shape.Ops
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	failures, ignored := 0, 0
	if in.Replaced != nil {
		pod, err := in.Replaced.Batch(time.Unix(0, 0))
		if err != nil {
			return nil, err
		}
		m := MatchPod(in.Policy.Batch(), pod)
		failures, ignored = m.NextCounts(failuresOf(pod), ignoredOf(pod))
		if m.Counted() && failuresOf(pod) == maxCount || !m.Counted() && ignoredOf(pod) == maxCount {
			c.Deviate("a count that 32 bits hold no more of: ours stays", map[string]any{"failures": failuresOf(pod), "ignored": ignoredOf(pod)})
		}
	}
	return map[string]any{"failures": failures, "ignored": ignored}, nil
}

func pendingVector(c *vectors.Case) (any, error) {
	var in shape.Ops
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	if in.Failed != nil {
		in.Limit = pointer[int32](1)
	}
	job := in.Job()
	job.Status.CompletedIndexes, job.Status.FailedIndexes = in.Succeeded, in.Failed
	for i, list := range [][]*string{in.Active, in.Terminating} {
		for n, text := range list {
			pod := &shape.Pod{UID: fmt.Sprintf("%d-%d", i, n), Phase: batch.PodRunning, Index: text, Tracked: true}
			if i == 1 {
				pod.DeletedAt = shape.At(time.Unix(0, 0))
			}
			in.Pods = append(in.Pods, pod)
		}
	}
	p, err := passOf(&in, job)
	if err != nil {
		return nil, err
	}
	for _, text := range []string{in.Succeeded, shape.Value(in.Failed)} {
		if kubernetesReads(text, in.Completions) != setReads(text, in.Completions) {
			c.Exclude(misread)
		}
	}
	return append([]int{}, p.pending(in.Count, nil)...), nil
}

func duplicatesVector(c *vectors.Case) (any, error) {
	var in shape.Ops
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	p, err := passOf(&in, in.Job())
	if err != nil {
		return nil, err
	}
	raw, err := vectors.RawPods(c)
	if err != nil {
		return nil, err
	}
	remove, keep := duplicates(p.pods)
	contents := func(views []*podView) any {
		all := []string{}
		for _, v := range views {
			i := slices.Index(p.in.Pods, v.Pod)
			all = append(all, vectors.PodContent(raw[i]))
		}
		slices.Sort(all)
		return all
	}
	return map[string]any{"remove": contents(remove), "keep": contents(keep)}, nil
}

func generateNameVector(c *vectors.Case) (any, error) {
	var in shape.Ops
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	return generateName(in.Name, in.Index), nil
}

func failureCountVector(c *vectors.Case) (any, error) {
	var in shape.Ops
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	pod := &batch.Pod{}
	if in.Raw != nil {
		pod.Annotations = map[string]string{batch.JobIndexFailureCountAnnotation: *in.Raw}
	}
	return failuresOf(pod), nil
}

func overlapVector(c *vectors.Case) (any, error) {
	var in shape.Ops
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	return overlaps(in.Completed, shape.Value(in.Failed), in.Completions), nil
}

// overlaps reports whether ValidateStatus rejects an index in both lists.
func overlaps(completed, failed string, completions int32) bool {
	job := &batch.Job{
		Spec:   batch.JobSpec{CompletionMode: batch.IndexedCompletion, Completions: &completions, BackoffLimitPerIndex: pointer[int32](0)},
		Status: batch.JobStatus{CompletedIndexes: completed, FailedIndexes: &failed},
	}
	var errs field.Errors
	errors.As(job.ValidateStatus(), &errs)
	return slices.ContainsFunc(errs, func(e field.Error) bool {
		return e.Field == "status.failedIndexes" && strings.HasSuffix(e.Detail, "is in completedIndexes too")
	})
}

func finishedCountsVector(c *vectors.Case) (any, error) {
	var in shape.Ops
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	job := &batch.Job{
		Spec: batch.JobSpec{PodFailurePolicy: in.Policy.Batch(), PodReplacementPolicy: in.Replacement},
		Status: batch.JobStatus{
			Succeeded: in.StatusSucceeded, Failed: in.StatusFailed,
			UncountedTerminatedPods: &batch.UncountedTerminatedPods{Succeeded: in.UncountedSucceeded, Failed: in.UncountedFailed},
		},
	}
	p, err := passOf(&in, job)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(shape.Present(p.in.Pods), otherEnd(in.UncountedSucceeded, in.UncountedFailed)) {
		c.Exclude(recordedOtherwise)
	}
	return map[string]any{"succeeded": p.succeededPods, "failed": p.failedPods}, nil
}

// indexOf, failuresOf and ignoredOf read a pod's annotations as a plan does.
func indexOf(p *batch.Pod) int { return viewOf(p).index }

func failuresOf(p *batch.Pod) int { return viewOf(p).failures }

func ignoredOf(p *batch.Pod) int { return viewOf(p).ignored }

func viewOf(p *batch.Pod) podView {
	v := podView{Pod: p}
	v.readAnnotations()
	return v
}

func podActive(p *batch.Pod) bool      { return !p.Finished() && p.DeletionTimestamp.IsZero() }
func podTerminating(p *batch.Pod) bool { return !p.Finished() && !p.DeletionTimestamp.IsZero() }

func pointer[T any](v T) *T { return &v }
