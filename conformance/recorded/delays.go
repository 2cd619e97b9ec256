package recorded

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/internal/vectors/shape"
)

// streak returns the failures in a row after newly finished pods.
func streak(in struct {
	Prior *struct {
		Failures    int32       `json:"failures"`
		LastFailure *shape.Time `json:"last_failure"`
	} `json:"prior"`
	SucceededAt []*shape.Time `json:"succeeded_at"`
	FailedAt    []*shape.Time `json:"failed_at"`
}) (any, error) {
	const key = "job"
	store := newBackoffStore()
	if in.Prior != nil {
		if err := updateBackoffRecord(store, backoffRecord{key, in.Prior.Failures, instant(in.Prior.LastFailure)}); err != nil {
			return nil, err
		}
	}
	record := newBackoffRecord(store, key, finishedPods(in.SucceededAt), finishedPods(in.FailedAt))
	var last time.Time
	if record.last != nil {
		last = *record.last
	}
	return map[string]any{"failures": record.failures, "last_failure": shape.Text(last)}, nil
}

// instant returns the time, or nil for none.
func instant(v *shape.Time) *time.Time {
	if v == nil {
		return nil
	}
	return new(v.At(time.Time{}))
}

func finishedPods(times []*shape.Time) (pods []*corev1.Pod) {
	for _, at := range times {
		ended := &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(at.At(time.Time{}))}
		pods = append(pods, &corev1.Pod{Status: corev1.PodStatus{
			ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: ended}}},
		}})
	}
	return pods
}

func finishTime(in struct {
	Pod *shape.Pod `json:"pod"`
}) (any, error) {
	pod, err := podOf(in.Pod)
	if err != nil {
		return nil, err
	}
	return getFinishedTime(pod).UTC().Format(time.RFC3339Nano), nil
}

// waitInput is the common input of waits before replacements.
type waitInput struct{ shape.Wait }

// ofPod returns the wait of an index by its last failed pod.
func (in waitInput) ofPod(v *shape.Pod) (time.Duration, error) {
	pod, err := podOf(v)
	if err != nil {
		return 0, err
	}
	clock := clocktesting.NewFakeClock(in.Now())
	return getRemainingTimePerIndex(logger, clock, in.Base(), in.Max(), pod), nil
}

func remaining(in struct {
	waitInput
	Failures    int32       `json:"failures"`
	LastFailure *shape.Time `json:"last_failure"`
}) (any, error) {
	clock := clocktesting.NewFakeClock(in.Now())
	wait := getRemainingTimeForFailuresCount(clock, in.Base(), in.Max(), in.Failures, instant(in.LastFailure))
	return shape.WaitOutcome(wait), nil
}

func remainingPerIndex(in struct {
	waitInput
	Pod *shape.Pod `json:"pod"`
}) (any, error) {
	wait, err := in.ofPod(in.Pod)
	return shape.WaitOutcome(wait), err
}

// readyIndexes asks for the wait of each index. The controller's own loop over them has
// fixed delays.
func readyIndexes(in struct {
	waitInput
	Indexes    []int              `json:"indexes"`
	LastFailed map[int]*shape.Pod `json:"last_failed"`
}) (any, error) {
	return shape.ReadyOutcome(in.Indexes, func(i int) (time.Duration, error) { return in.ofPod(in.LastFailed[i]) })
}
