// Package syncjob runs single passes of Kubernetes' own Job controller. A pass reads the
// caches that its caller has filled, and sends its requests to functions of the caller.
// Nothing runs between passes.
package syncjob

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/job"
	clocktesting "k8s.io/utils/clock/testing"
)

// Controller is a Job controller. It is not safe for concurrent use.
type Controller struct {
	Jobs, Pods cache.Indexer // its informers' caches
	// After holds the delays after which the last pass wanted another one.
	After []time.Duration

	own *job.Controller
}

var logger = klog.Logger{} // discards

// New returns a controller whose clock always shows now.
func New(now time.Time) (*Controller, error) {
	client, err := clientset.NewForConfig(&rest.Config{Host: "unused.invalid"})
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods, jobs := factory.Core().V1().Pods(), factory.Batch().V1().Jobs()
	c := new(Controller)
	if c.own, err = newControllerWithClock(klog.NewContext(context.Background(), logger), client, clocktesting.NewFakeClock(now), pods, jobs, nil, nil); err != nil {
		return nil, err
	}
	c.Jobs, c.Pods = jobs.Informer().GetIndexer(), pods.Informer().GetIndexer()
	*private[cache.Indexer](c, "podIndexer") = ordered{c.Pods}
	queue := private[workqueue.TypedRateLimitingInterface[string]](c, "queue")
	(*queue).ShutDown()
	*queue = requeues{*queue, c}
	*private[record.EventRecorder](c, "recorder") = &record.FakeRecorder{}
	return c, nil
}

// Sync makes a pass over the Job with this namespace and name.
func (c *Controller) Sync(key string) error {
	c.After = nil
	return (*private[func(context.Context, string) error](c, "syncHandler"))(klog.NewContext(context.Background(), logger), key)
}

// Answer makes pods answer requests about pods, and write those to write a Job's status.
func (c *Controller) Answer(pods controller.PodControlInterface, write func(context.Context, *batchv1.Job) (*batchv1.Job, error)) {
	*private[controller.PodControlInterface](c, "podControl") = pods
	*private[func(context.Context, *batchv1.Job) (*batchv1.Job, error)](c, "updateStatusHandler") = write
}

// Expectations returns a pointer to the numbers of creations and deletions that the
// watch has yet to show.
func (c *Controller) Expectations() *controller.ControllerExpectationsInterface {
	return private[controller.ControllerExpectationsInterface](c, "expectations")
}

// SetExpectations sets these numbers.
func (c *Controller) SetExpectations(key string, creations, deletions int) error {
	return (*c.Expectations()).SetExpectations(logger, key, creations, deletions)
}

// Streak returns the failures in a row of a Job, and the time of the last one or nil.
func (c *Controller) Streak(key string) (failures int32, last *time.Time) {
	r := newBackoffRecord(c.store(), key, nil, nil)
	return r.failures, r.last
}

// SetStreak sets the failures in a row of a Job. 0 failures remove them.
func (c *Controller) SetStreak(key string, failures int32, last *time.Time) error {
	if failures == 0 {
		return removeBackoffRecord(c.store(), key)
	}
	return updateBackoffRecord(c.store(), backoffRecord{key, failures, last})
}

func (c *Controller) store() *backoffStore { return *private[*backoffStore](c, "podBackoffStore") }

// Untracked returns the UIDs of pods whose finalizers the controller has removed, which
// the watch has yet to show.
func (c *Controller) Untracked(key string) sets.Set[types.UID] {
	return getExpectedUIDs(*private[*uidExpectations](c, "finalizerExpectations"), key)
}

// SetUntracked sets these UIDs.
func (c *Controller) SetUntracked(key string, uids []types.UID) error {
	e := *private[*uidExpectations](c, "finalizerExpectations")
	deleteExpectations(e, logger, key)
	return expectFinalizersRemoved(e, logger, key, uids)
}

// Finished reports whether the controller has written the end of a Job.
func (c *Controller) Finished(job types.UID) bool {
	_, finished := private[sync.Map](c, "finishedJobExpectations").Load(job)
	return finished
}

// SetFinished sets whether the controller has written the end of a Job.
func (c *Controller) SetFinished(job types.UID, finished bool) {
	m := private[sync.Map](c, "finishedJobExpectations")
	if m.Delete(job); finished {
		m.Store(job, struct{}{})
	}
}

// ordered lists the pods by name, so that equal passes do the same. The order of an
// informer's cache is random.
type ordered struct{ cache.Indexer }

func (o ordered) ByIndex(index, value string) ([]any, error) {
	all, err := o.Indexer.ByIndex(index, value)
	slices.SortFunc(all, func(a, b any) int { return strings.Compare(a.(*corev1.Pod).Name, b.(*corev1.Pod).Name) })
	return all, err
}

// requeues records when a Job is to be synced again.
type requeues struct {
	workqueue.TypedRateLimitingInterface[string]
	c *Controller
}

func (q requeues) AddAfter(_ string, d time.Duration) { q.c.After = append(q.c.After, d) }

// private returns a private field of the controller.
func private[T any](c *Controller, name string) *T {
	field := reflect.ValueOf(c.own).Elem().FieldByName(name)
	if want := reflect.TypeFor[T](); field.Type() != want && field.Type().Size() != want.Size() {
		panic(fmt.Sprintf("the field %s is a %v", name, field.Type()))
	}
	return (*T)(unsafe.Pointer(field.UnsafeAddr()))
}
