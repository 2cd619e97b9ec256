package check

import (
	"fmt"
	"math"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/internal/seconds"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/lint"
	"github.com/restartkit/restart/kube/convert"
)

// WorstCase is the most pods and waiting that a Job can cost when its own programs fail, and
// the part that disruptions, such as drained nodes, add.
type WorstCase struct {
	lint.WorstCaseResult

	// Clock estimates the time that delays add by the clock, which is below Wait if several
	// indexes wait at once. It is exact if all runs take equally long; if one index runs for
	// long while others wait, delays add more. It is the longest Duration if it has no bound.
	Clock time.Duration

	spec      *batch.JobSpec
	inPlace   bool // some container restarts in its pod after a failure
	isCut     bool // activeDeadlineSeconds ends the Job earlier than its limits
	ofCronJob bool // it is about each of its Jobs
}

// worstCase returns the worst case, or nil if another controller runs the Job.
func (j *jobJudge) worstCase() *WorstCase {
	spec := keptInJob(convert.Job(&batchv1.Job{Spec: *j.spec}).Spec, minorOf(j.version))
	if isForeign(spec) {
		return nil
	}
	w, err := worstCaseOf(spec)
	if err != nil {
		return nil
	}
	_, w.ofCronJob = j.Value.(*batchv1.CronJob)
	w.inPlace = someRestartInPlace(keptInPod(&j.spec.Template.Spec, minorOf(j.version)))
	return w
}

// worstCaseOf returns the worst case of a Job by Kubernetes' own delays. It applies the
// defaults. The error is that of lint.WorstCase.
func worstCaseOf(s *batch.JobSpec) (*WorstCase, error) {
	spec := *s
	spec.Default()
	result, err := lint.WorstCase(jobpolicy.Engine{}, &spec)
	if err != nil {
		return nil, err
	}
	w := &WorstCase{WorstCaseResult: result, Clock: min(result.Wait, waves(spec)), spec: &spec}
	if result.Unbounded {
		w.Clock = result.Wait
	}
	if spec.ActiveDeadlineSeconds != nil {
		unlimited := spec
		unlimited.ActiveDeadlineSeconds = nil
		without, err := worstCaseOf(&unlimited)
		w.isCut = err == nil && (without.Runs > w.Runs || without.Clock > w.deadline())
	}
	return w, nil
}

// deadline returns the activeDeadlineSeconds, which must be set.
func (w *WorstCase) deadline() time.Duration { return seconds.Duration(*w.spec.ActiveDeadlineSeconds) }

// String returns the worst case as one sentence, as in "the Job's own failures: at most
// 7 pods, 10m30s of waiting; disruptions, such as drained nodes: any number of pods more".
func (w *WorstCase) String() string {
	if w.Runs == 0 {
		return "no pod ever runs"
	}
	const disruptions = "disruptions, such as drained nodes"
	pods := w.podsText()
	var text string
	switch {
	case w.inPlace:
		text = w.inPlaceText() + "; pods that fail as a whole, on a drained node for example: " + pods
	case w.Unbounded:
		text = "the Job's own failures: " + pods
	case w.IgnoresDisruptions && !ignoresDrains(w.spec):
		text = "the Job's own failures and drained nodes, together: " + pods + "; disruptions that leave no exit code, such as lost nodes: any number of pods more"
	case w.IgnoresDisruptions:
		text = "the Job's own failures: " + pods + "; " + disruptions + ": any number of pods more"
	default:
		text = "the Job's own failures and " + disruptions + ", together: " + pods
	}
	if w.spec.Suspend {
		text = "once it is no longer suspended, " + text
	}
	if w.ofCronJob {
		text = "for each run, " + text
	}
	return text
}

// ignoresDrains reports whether a rule ignores the pods of a drained node, whose containers
// end by SIGTERM or SIGKILL. A rule for these exit codes may come first.
func ignoresDrains(job *batch.JobSpec) bool {
	for _, code := range []int32{drainedCode, killedCode} {
		if jobpolicy.MatchPod(job.PodFailurePolicy, drainedPod(job, code)).Action == batch.ActionIgnore {
			return true
		}
	}
	return false
}

// podsText says how many pods there are, and how long the Job waits before replacements.
func (w *WorstCase) podsText() string {
	switch {
	case w.Unbounded && w.Wait == math.MaxInt64:
		return "any number of pods, for ever, since a rule ignores them"
	case w.Unbounded:
		return fmt.Sprintf("any number of pods until activeDeadlineSeconds, %v, since a rule ignores them", w.Wait)
	}
	text := "at most " + count(w.Runs, "pod")
	if w.Runs >= math.MaxInt32 { // the highest backoffLimit
		text = "any number of pods"
	}
	switch {
	case w.isCut:
		return text + fmt.Sprintf(" until activeDeadlineSeconds, %v", w.deadline())
	case w.Wait == 0:
		return text + ", no waiting"
	case w.Clock == math.MaxInt64:
		return text + ", any time of waiting"
	case w.Clock < w.Wait:
		return text + fmt.Sprintf(", about %v of waiting by the clock", w.Clock)
	}
	return text + fmt.Sprintf(", %v of waiting", w.Wait)
}

// inPlaceText says how often containers restart in place, within their pods.
func (w *WorstCase) inPlaceText() string {
	text := "failing containers restart in their pods, "
	hasDeadline := w.spec.ActiveDeadlineSeconds != nil
	isCounted := w.spec.Template.Spec.RestartPolicy == batch.RestartPolicyOnFailure
	switch limit := *w.spec.BackoffLimit; {
	case !isCounted && hasDeadline:
		return text + fmt.Sprintf("which no limit counts, until activeDeadlineSeconds, %v", w.deadline())
	case !isCounted:
		return text + "which no limit counts"
	case limit == math.MaxInt32 && hasDeadline:
		return text + fmt.Sprintf("until activeDeadlineSeconds, %v", w.deadline())
	case limit == math.MaxInt32:
		return text + "without a limit"
	case limit <= 1:
		text += "and the Job fails at the first restart"
	default:
		text += fmt.Sprintf("and the Job fails at %d restarts%s", limit, ofWhichPods(w.spec))
	}
	if hasDeadline {
		text += ", or " + afterDeadline(w.deadline())
	}
	return text
}

// someRestartInPlace reports whether a container other than a sidecar restarts in its pod
// after some failure.
func someRestartInPlace(pod *corev1.PodSpec) bool {
	restarts := func(c corev1.Container) bool {
		most := int32(1)
		if len(c.RestartPolicyRules) > 0 { // otherwise all failures are alike
			most = 255
		}
		for code := int32(1); code <= most; code++ {
			if restartsInPlace(pod, &c, code) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(pod.Containers, restarts) ||
		slices.ContainsFunc(pod.InitContainers, func(c corev1.Container) bool { return !isSidecar(&c) && restarts(c) })
}

// count returns a number with its noun, such as 1 pod or 2 pods.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// waves estimates the elapsed time that delays add in the worst case. WorstCaseResult has
// the sum over all indexes, but if all runs take equally long, indexes wait in waves, each as large as the number of
// indexes that can wait at once; as in Kubernetes, a waiting index counts towards
// parallelism. Without limits per index the whole Job shares one delay, and waves returns
// the longest Duration.
func waves(spec batch.JobSpec) time.Duration {
	if spec.BackoffLimitPerIndex == nil || *spec.BackoffLimitPerIndex == 0 || spec.Completions == nil {
		return math.MaxInt64
	}
	slots := min(*spec.Parallelism, *spec.Completions)
	if slots == 0 {
		return math.MaxInt64
	}
	limit := int64(*spec.BackoffLimitPerIndex)
	failures := min(int64(*spec.BackoffLimit), int64(*spec.Completions)*limit)
	waiting := divideUp(failures, limit) // indexes that use up their limit
	rounds := divideUp(waiting, int64(slots))
	one := int32(1)
	spec.Completions, spec.Parallelism, spec.ActiveDeadlineSeconds, spec.MaxFailedIndexes = &one, &one, nil, nil
	each, err := lint.WorstCase(jobpolicy.Engine{}, &spec)
	if err != nil || rounds > 0 && int64(each.Wait) > math.MaxInt64/rounds {
		return math.MaxInt64
	}
	return time.Duration(rounds) * each.Wait
}

func divideUp(a, b int64) int64 { return (a + b - 1) / b }

// WaitsForever reports whether the delays have no bound.
func (w *WorstCase) WaitsForever() bool { return w.Clock == math.MaxInt64 }
