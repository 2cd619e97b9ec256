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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
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
	// Wrote reports whether the last pass wrote the Job's status, as far as it knows. The
	// informer has to show the status before the next pass.
	Wrote bool

	own   *job.Controller
	write func(context.Context, *batchv1.Job) (*batchv1.Job, error)
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
	if c.own, err = newControllerWithClock(klog.NewContext(context.Background(), logger), answering{client, c}, clocktesting.NewFakeClock(now), pods, jobs, nil, nil); err != nil {
		return nil, err
	}
	c.Jobs, c.Pods = jobs.Informer().GetIndexer(), pods.Informer().GetIndexer()
	*private[cache.Indexer](c, "podIndexer") = ordered{c.Pods}
	queue := private[workqueue.TypedRateLimitingInterface[string]](c, "queue")
	(*queue).ShutDown()
	*queue = requeues{*queue, c}
	*private[record.EventRecorder](c, "recorder") = &record.FakeRecorder{}
	// Its type moved between packages in 1.38, so it is not named here.
	store := field(c, "consistencyStore")
	reflect.NewAt(store.Type(), unsafe.Pointer(store.UnsafeAddr())).Elem().Set(reflect.ValueOf(written{c}))
	return c, nil
}

// Sync makes a pass over the Job with this namespace and name.
func (c *Controller) Sync(key string) error {
	c.After, c.Wrote = nil, false
	return (*private[func(context.Context, string) error](c, "syncHandler"))(klog.NewContext(context.Background(), logger), key)
}

// Answer makes pods answer requests about pods, and write those to write a Job's status.
func (c *Controller) Answer(pods controller.PodControlInterface, write func(context.Context, *batchv1.Job) (*batchv1.Job, error)) {
	*private[controller.PodControlInterface](c, "podControl") = pods
	c.write = write
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

// answering is a client whose requests about Jobs are answered by the Controller's caller.
type answering struct {
	clientset.Interface
	c *Controller
}

func (a answering) BatchV1() batchclient.BatchV1Interface {
	return answeringBatch{a.Interface.BatchV1(), a.c}
}

type answeringBatch struct {
	batchclient.BatchV1Interface
	c *Controller
}

func (a answeringBatch) Jobs(namespace string) batchclient.JobInterface {
	return jobs{a.BatchV1Interface.Jobs(namespace), namespace, a.c}
}

type jobs struct {
	batchclient.JobInterface
	namespace string
	c         *Controller
}

func (j jobs) UpdateStatus(ctx context.Context, job *batchv1.Job, _ metav1.UpdateOptions) (*batchv1.Job, error) {
	return j.c.write(ctx, job)
}

// Get answers with the Job of the informer's cache. Kubernetes' controller reads a Job to
// learn its UID and version only.
func (j jobs) Get(_ context.Context, name string, _ metav1.GetOptions) (*batchv1.Job, error) {
	job, known, err := j.c.Jobs.GetByKey(j.namespace + "/" + name)
	if err != nil || !known {
		return nil, fmt.Errorf("syncjob: no Job %s/%s: %w", j.namespace, name, err)
	}
	return job.(*batchv1.Job), nil
}

// written notes whether the status was written. Callers do not sync before the informer
// has shown it.
type written struct{ c *Controller }

func (w written) WroteAt(_ types.NamespacedName, _ types.UID, resource schema.GroupResource, _ string) {
	if resource.Resource == "jobs" {
		w.c.Wrote = true
	}
}

func (written) Clear(types.NamespacedName, types.UID)  {}
func (written) EnsureReady(types.NamespacedName) error { return nil }

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

func field(c *Controller, name string) reflect.Value {
	return reflect.ValueOf(c.own).Elem().FieldByName(name)
}

// private returns a private field of the controller.
func private[T any](c *Controller, name string) *T {
	f := field(c, name)
	if want := reflect.TypeFor[T](); f.Type() != want && f.Type().Size() != want.Size() {
		panic(fmt.Sprintf("the field %s is a %v", name, f.Type()))
	}
	return (*T)(unsafe.Pointer(f.UnsafeAddr()))
}
