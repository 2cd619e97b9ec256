package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"
	"unsafe"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/conformance/vectors/shape"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/convert"
)

// pass runs one sync of the Job controller. Its caches hold the Job and the pods, its
// effects and requeues are recorded, and nothing runs in the background.
func pass(in struct {
	Input shape.Pass `json:"input"`
}) (any, error) {
	v := &in.Input
	job, pods, err := objects(v)
	if err != nil {
		return nil, err
	}
	ctx := klog.NewContext(context.Background(), logger)
	client, err := clientset.NewForConfig(&rest.Config{Host: "unused.invalid"})
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	podInformer, jobInformer := factory.Core().V1().Pods(), factory.Batch().V1().Jobs()
	c, err := newControllerWithClock(ctx, client, clocktesting.NewFakeClock(shape.PassNow), podInformer, jobInformer, nil, nil)
	if err != nil {
		return nil, err
	}
	err = jobInformer.Informer().GetIndexer().Add(job)
	for _, pod := range pods {
		err = errors.Join(err, podInformer.Informer().GetIndexer().Add(pod))
	}
	if err != nil {
		return nil, err
	}

	key := job.Namespace + "/" + job.Name
	effects := &controller.FakePodControl{CreateLimit: shape.Value(v.CreateLimit)}
	if v.PodControlError {
		effects.Err = errors.New("fake error")
	}
	queue := &requeues{TypedRateLimitingInterface: *private[workqueue.TypedRateLimitingInterface[string]](c, "queue")}
	defer queue.ShutDown()
	var statuses []*batch.JobStatus
	*private[controller.PodControlInterface](c, "podControl") = effects
	*private[workqueue.TypedRateLimitingInterface[string]](c, "queue") = queue
	*private[func(context.Context, *batchv1.Job) (*batchv1.Job, error)](c, "updateStatusHandler") = func(_ context.Context, job *batchv1.Job) (*batchv1.Job, error) {
		statuses = append(statuses, &convert.Job(job.DeepCopy()).Status)
		return job, nil
	}
	if v.Backoff != nil {
		record := backoffRecord{key, int32(v.Backoff.Failures), nil}
		if v.Backoff.LastFailure != nil {
			record.last = new(v.Backoff.LastFailure.At(shape.PassNow))
		}
		if err := updateBackoffRecord(*private[*backoffStore](c, "podBackoffStore"), record); err != nil {
			return nil, err
		}
	}
	if e := v.Expectations; e != nil {
		expectations := *private[controller.ControllerExpectationsInterface](c, "expectations")
		expectations.SetExpectations(logger, key, e.Creates, e.Deletes)
	}

	before := convert.Job(job.DeepCopy()).Status
	err = (*private[func(context.Context, string) error](c, "syncHandler"))(ctx, key)
	result := shape.PassResult{Deletes: len(effects.DeletePodName), Patches: len(effects.Patches), Before: &before, Statuses: statuses}
	for _, template := range effects.Templates {
		result.Created = append(result.Created, template.Annotations)
	}
	outcome := result.Outcome()
	outcome["requeue_after_ms"] = queue.after
	if err != nil {
		outcome["error"] = err.Error()
	}
	return outcome, nil
}

// requeues records when a Job is to be synced again, in milliseconds.
type requeues struct {
	workqueue.TypedRateLimitingInterface[string]
	after []int64
}

func (q *requeues) AddAfter(_ string, d time.Duration) { q.after = append(q.after, d.Milliseconds()) }

// private returns a private field of the controller.
func private[T any](controller any, name string) *T {
	field := reflect.ValueOf(controller).Elem().FieldByName(name)
	if want := reflect.TypeFor[T](); field.Type() != want && field.Type().Size() != want.Size() {
		panic(fmt.Sprintf("the field %s is a %v", name, field.Type()))
	}
	return (*T)(unsafe.Pointer(field.UnsafeAddr()))
}

// objects returns the Job of a pass and its pods.
func objects(v *shape.Pass) (*batchv1.Job, []*corev1.Pod, error) {
	own, err := jobOf(&v.Spec)
	if err != nil {
		return nil, nil, err
	}
	job, err := into[batchv1.Job](v.Job())
	if err != nil {
		return nil, nil, err
	}
	job.Spec, job.UID = own.Spec, "job"
	labels := map[string]string{"job": "job"}
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	job.Spec.Template.Labels = labels
	pods, err := v.BatchPods()
	if err != nil {
		return nil, nil, err
	}
	owner := metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))
	var all []*corev1.Pod
	for n, p := range shape.Present(pods) {
		pod, err := into[corev1.Pod](p)
		if err != nil {
			return nil, nil, err
		}
		if pod.Name == "" {
			pod.Name = fmt.Sprintf("pod-%04d", n)
		}
		pod.Labels, pod.OwnerReferences = labels, []metav1.OwnerReference{*owner}
		all = append(all, pod)
	}
	return job, all, nil
}
