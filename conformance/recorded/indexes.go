package recorded

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"

	"github.com/restartkit/restart/internal/vectors/shape"
)

var logger = klog.Logger{} // discards

type indexText struct {
	Text        string `json:"text"`
	Completions int    `json:"completions"`
}

func parse(in indexText) (any, error) {
	total, err := validateIndexesFormat(in.Text, int32(in.Completions))
	return map[string]any{"error": err != nil, "total": total}, nil
}

func parseLenient(in indexText) (any, error) {
	all := parseIndexesFromString(logger, in.Text, in.Completions)
	return map[string]any{"format": intervalsText(all), "total": intervalsTotal(all)}, nil
}

type intervals [][2]int

func (v intervals) ordered() (all []interval) {
	for _, i := range v {
		all = append(all, interval{i[0], i[1]})
	}
	return all
}

func format(in struct {
	Intervals intervals `json:"intervals"`
}) (any, error) {
	all := in.Intervals.ordered()
	return map[string]any{"text": intervalsText(all), "total": intervalsTotal(all)}, nil
}

func has(in struct {
	Intervals intervals `json:"intervals"`
	Index     int       `json:"index"`
}) (any, error) {
	return intervalsHave(in.Intervals.ordered(), in.Index), nil
}

func union(in struct{ A, B string }) (any, error) {
	const all = 1<<31 - 1
	u := mergeIntervals(parseIndexesFromString(logger, in.A, all), parseIndexesFromString(logger, in.B, all))
	return map[string]any{"text": intervalsText(u), "total": intervalsTotal(u)}, nil
}

// contextOf returns the context of a pass over the Job of a case.
func contextOf(in *shape.Ops) (*syncContext, error) {
	job, err := indexedJobOf(in)
	if err != nil {
		return nil, err
	}
	pods, err := podsOf(in.Pods)
	c := &syncContext{job: job, pods: pods, uncounted: &uncountedPods{sets.Set[types.UID]{}, sets.Set[types.UID]{}}, expectedRmFinalizers: sets.Set[types.UID]{}}
	if in.Limit != nil {
		c.failedIndexes = new([]interval)
	}
	for _, uid := range in.Untracking {
		c.expectedRmFinalizers.Insert(types.UID(uid))
	}
	return c, err
}

func succeeded(in shape.Ops) (any, error) {
	c, err := contextOf(&in)
	if err != nil {
		return nil, err
	}
	if in.Previous != nil {
		c.job.Status.CompletedIndexes = *in.Previous
	}
	previous, now := calculateSucceededIndexes(logger, c.job, c.pods)
	return map[string]any{"previous": intervalsText(previous), "now": intervalsText(now)}, nil
}

func failed(in shape.Ops) (any, error) {
	c, err := contextOf(&in)
	if err != nil {
		return nil, err
	}
	if in.Limit == nil {
		return nil, nil // the controller calculates them with a limit only
	}
	c.job.Status.FailedIndexes = in.Previous
	return intervalsText(*calculateFailedIndexes(logger, c.job, c.pods)), nil
}

func indexFailed(in shape.Ops) (any, error) {
	c, err := contextOf(&in)
	if err != nil {
		return nil, err
	}
	pods, err := podsOf([]*shape.Pod{in.Pod})
	if err != nil {
		return nil, err
	}
	return map[string]any{"pod_failed": isPodFailed(pods[0], c.job), "index_failed": isIndexFailed(logger, c.job, pods[0])}, nil
}

func keptPods(in shape.Ops) (any, error) {
	c, err := contextOf(&in)
	if err != nil {
		return nil, err
	}
	c.activePods = controller.FilterActivePods(logger, c.pods)
	_, c.succeededIndexes = calculateSucceededIndexes(logger, c.job, c.pods)
	c.failedIndexes = calculateFailedIndexes(logger, c.job, c.pods)
	uids := []string{}
	for _, pod := range getPodsWithDelayedDeletionPerIndex(logger, c) {
		uids = append(uids, string(pod.UID))
	}
	slices.Sort(uids)
	return uids, nil
}

func nextCounts(in shape.Ops) (any, error) {
	job, err := indexedJobOf(&in)
	if err != nil {
		return nil, err
	}
	replaced, err := podOf(in.Replaced)
	if err != nil {
		return nil, err
	}
	failures, ignored := getNewIndexFailureCounts(logger, job, replaced)
	return map[string]any{"failures": failures, "ignored": ignored}, nil
}

func pending(in shape.Ops) (any, error) {
	c, err := contextOf(&in)
	if err != nil {
		return nil, err
	}
	completions := int(in.Completions)
	c.succeededIndexes = parseIndexesFromString(logger, in.Succeeded, completions)
	if in.Failed != nil {
		c.failedIndexes = new(parseIndexesFromString(logger, *in.Failed, completions))
	}
	podAt := func(index *string, deleting bool) (*corev1.Pod, error) {
		pods, err := podsOf([]*shape.Pod{{Index: index, Phase: "Running", Deleting: deleting}})
		return pods[0], err
	}
	for i, list := range [][]*string{in.Active, in.Terminating} {
		for _, index := range list {
			pod, err := podAt(index, i == 1)
			if err != nil {
				return nil, err
			}
			if c.pods = append(c.pods, pod); i == 0 {
				c.activePods = append(c.activePods, pod)
			}
		}
	}
	return append([]int{}, firstPendingIndexes(c, in.Count, completions)...), nil
}

func duplicates(in shape.Ops) (any, error) {
	pods, err := podsOf(in.Pods)
	if err != nil {
		return nil, err
	}
	remove, keep := appendDuplicatedIndexPodsForRemoval(nil, nil, slices.Clone(pods), int(in.Completions))
	positions := func(list []*corev1.Pod) []int {
		all := []int{}
		for _, pod := range list {
			all = append(all, slices.Index(pods, pod))
		}
		return all
	}
	return map[string]any{"remove": positions(remove), "keep": positions(keep)}, nil
}

func generateName(in shape.Ops) (any, error) { return podGenerateNameWithIndex(in.Name, in.Index), nil }

func failureCount(in shape.Ops) (any, error) {
	pod, err := podOf(&shape.Pod{IndexFailures: in.Raw})
	if err != nil {
		return nil, err
	}
	return getIndexFailureCount(logger, pod), nil
}

func overlap(in shape.Ops) (any, error) {
	return validateFailedIndexesNotOverlapCompleted(in.Completed, shape.Value(in.Failed), in.Completions) != nil, nil
}

func finishedCounts(in shape.Ops) (any, error) {
	c, err := contextOf(&in)
	if err != nil {
		return nil, err
	}
	c.job.Spec.CompletionMode = new(batchv1.NonIndexedCompletion)
	for set, uids := range map[*sets.Set[types.UID]][]string{&c.uncounted.succeeded: in.UncountedSucceeded, &c.uncounted.failed: in.UncountedFailed} {
		for _, uid := range uids {
			set.Insert(types.UID(uid))
		}
	}
	succeeded, failed := getNewFinishedPods(c)
	return map[string]any{
		"succeeded": int(in.StatusSucceeded) + len(succeeded) + len(in.UncountedSucceeded),
		"failed":    int(in.StatusFailed) + len(failed) + len(in.UncountedFailed),
	}, nil
}

func successPolicy(in struct {
	Enabled     *bool                `json:"enabled"`
	Policy      *shape.SuccessPolicy `json:"policy"`
	Completions int32                `json:"completions"`
	Succeeded   intervals            `json:"succeeded"`
}) (any, error) {
	if in.Enabled != nil && !*in.Enabled {
		return nil, errNoSwitch
	}
	policy, err := into[batchv1.SuccessPolicy](in.Policy.Batch())
	if err != nil {
		return nil, err
	}
	message, met := matchSuccessPolicy(logger, policy, in.Completions, in.Succeeded.ordered())
	return map[string]any{"met": met, "message": message}, nil
}

func successRule(in struct {
	RuleIndexes string    `json:"rule_indexes"`
	Succeeded   intervals `json:"succeeded"`
	Count       *int32    `json:"count"`
}) (any, error) {
	const all = 1<<31 - 1
	return matchSucceededIndexesRule(parseIndexesFromString(logger, in.RuleIndexes, all), in.Succeeded.ordered(), in.Count), nil
}
