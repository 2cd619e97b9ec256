package recorded

import (
	"time"
	_ "unsafe" // for go:linkname

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	_ "k8s.io/kubernetes/pkg/apis/batch/validation" // contains linked functions
	_ "k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/utils/clock"
)

// The unexported functions of Kubernetes that answer. Go accepts functions without a
// body only in a package with an assembly file, hence the empty file of the same name.
// The types below have the layout of Kubernetes' own.

// interval is a range of indexes.
type interval struct{ First, Last int }

// backoffStore holds the failures in a row of Jobs.
type backoffStore struct{}

type backoffRecord struct {
	key      string
	failures int32
	last     *time.Time
}

// syncContext is the beginning of the context of a pass over a Job. The blank fields
// keep the others in their places.
type syncContext struct {
	job                  *batchv1.Job
	pods                 []*corev1.Pod
	_                    *batchv1.JobCondition // finishedCondition
	activePods           []*corev1.Pod
	_, _                 int32      // succeeded, failed
	_                    []interval // prevSucceededIndexes
	succeededIndexes     []interval
	failedIndexes        *[]interval
	_                    backoffRecord // newBackoffRecord
	expectedRmFinalizers sets.Set[types.UID]
	uncounted            *uncountedPods
	_                    [8]uintptr // fields that no function below reads
}

type uncountedPods struct{ succeeded, failed sets.Set[types.UID] }

//go:linkname matchPodFailurePolicy k8s.io/kubernetes/pkg/controller/job.matchPodFailurePolicy
func matchPodFailurePolicy(policy *batchv1.PodFailurePolicy, pod *corev1.Pod) (message *string, counts bool, action *batchv1.PodFailurePolicyAction)

//go:linkname matchSuccessPolicy k8s.io/kubernetes/pkg/controller/job.matchSuccessPolicy
func matchSuccessPolicy(logger klog.Logger, policy *batchv1.SuccessPolicy, completions int32, succeeded []interval) (string, bool)

//go:linkname matchSucceededIndexesRule k8s.io/kubernetes/pkg/controller/job.matchSucceededIndexesRule
func matchSucceededIndexesRule(rule, succeeded []interval, count *int32) bool

//go:linkname getFinishedTime k8s.io/kubernetes/pkg/controller/job.getFinishedTime
func getFinishedTime(pod *corev1.Pod) time.Time

//go:linkname newBackoffStore k8s.io/kubernetes/pkg/controller/job.newBackoffStore
func newBackoffStore() *backoffStore

//go:linkname updateBackoffRecord k8s.io/kubernetes/pkg/controller/job.(*backoffStore).updateBackoffRecord
func updateBackoffRecord(s *backoffStore, record backoffRecord) error

//go:linkname newBackoffRecord k8s.io/kubernetes/pkg/controller/job.(*backoffStore).newBackoffRecord
func newBackoffRecord(s *backoffStore, key string, succeeded, failed []*corev1.Pod) backoffRecord

//go:linkname getRemainingTimeForFailuresCount k8s.io/kubernetes/pkg/controller/job.getRemainingTimeForFailuresCount
func getRemainingTimeForFailuresCount(c clock.WithTicker, base, max time.Duration, failures int32, last *time.Time) time.Duration

//go:linkname getRemainingTimePerIndex k8s.io/kubernetes/pkg/controller/job.getRemainingTimePerIndex
func getRemainingTimePerIndex(logger klog.Logger, c clock.WithTicker, base, max time.Duration, lastFailed *corev1.Pod) time.Duration

//go:linkname parseIndexesFromString k8s.io/kubernetes/pkg/controller/job.parseIndexesFromString
func parseIndexesFromString(logger klog.Logger, text string, completions int) []interval

//go:linkname intervalsText k8s.io/kubernetes/pkg/controller/job.orderedIntervals.String
func intervalsText(all []interval) string

//go:linkname intervalsTotal k8s.io/kubernetes/pkg/controller/job.orderedIntervals.total
func intervalsTotal(all []interval) int

//go:linkname intervalsHave k8s.io/kubernetes/pkg/controller/job.orderedIntervals.has
func intervalsHave(all []interval, index int) bool

//go:linkname mergeIntervals k8s.io/kubernetes/pkg/controller/job.orderedIntervals.merge
func mergeIntervals(all, more []interval) []interval

//go:linkname calculateSucceededIndexes k8s.io/kubernetes/pkg/controller/job.calculateSucceededIndexes
func calculateSucceededIndexes(logger klog.Logger, job *batchv1.Job, pods []*corev1.Pod) (previous, now []interval)

//go:linkname calculateFailedIndexes k8s.io/kubernetes/pkg/controller/job.calculateFailedIndexes
func calculateFailedIndexes(logger klog.Logger, job *batchv1.Job, pods []*corev1.Pod) *[]interval

//go:linkname isIndexFailed k8s.io/kubernetes/pkg/controller/job.isIndexFailed
func isIndexFailed(logger klog.Logger, job *batchv1.Job, pod *corev1.Pod) bool

//go:linkname isPodFailed k8s.io/kubernetes/pkg/controller/job.isPodFailed
func isPodFailed(pod *corev1.Pod, job *batchv1.Job) bool

//go:linkname getPodsWithDelayedDeletionPerIndex k8s.io/kubernetes/pkg/controller/job.getPodsWithDelayedDeletionPerIndex
func getPodsWithDelayedDeletionPerIndex(logger klog.Logger, c *syncContext) map[int]*corev1.Pod

//go:linkname getNewIndexFailureCounts k8s.io/kubernetes/pkg/controller/job.getNewIndexFailureCounts
func getNewIndexFailureCounts(logger klog.Logger, job *batchv1.Job, replaced *corev1.Pod) (failures, ignored int32)

//go:linkname getIndexFailureCount k8s.io/kubernetes/pkg/controller/job.getIndexFailureCount
func getIndexFailureCount(logger klog.Logger, pod *corev1.Pod) int32

//go:linkname firstPendingIndexes k8s.io/kubernetes/pkg/controller/job.firstPendingIndexes
func firstPendingIndexes(c *syncContext, count, completions int) []int

//go:linkname appendDuplicatedIndexPodsForRemoval k8s.io/kubernetes/pkg/controller/job.appendDuplicatedIndexPodsForRemoval
func appendDuplicatedIndexPodsForRemoval(remove, left, pods []*corev1.Pod, completions int) (removed, kept []*corev1.Pod)

//go:linkname podGenerateNameWithIndex k8s.io/kubernetes/pkg/controller/job.podGenerateNameWithIndex
func podGenerateNameWithIndex(job string, index int) string

//go:linkname getNewFinishedPods k8s.io/kubernetes/pkg/controller/job.getNewFinishedPods
func getNewFinishedPods(c *syncContext) (succeeded, failed []*corev1.Pod)

//go:linkname validateFailedIndexesNotOverlapCompleted k8s.io/kubernetes/pkg/apis/batch/validation.validateFailedIndexesNotOverlapCompleted
func validateFailedIndexesNotOverlapCompleted(completed, failed string, completions int32) error

//go:linkname validateIndexesFormat k8s.io/kubernetes/pkg/apis/batch/validation.validateIndexesFormat
func validateIndexesFormat(text string, completions int32) (int32, error)
