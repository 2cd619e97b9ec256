package testenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// KubeletOptions configure a Kubelet.
type KubeletOptions struct {
	Config    *rest.Config // required
	Namespace string       // namespace of its pods; "" means all
	// Script returns the outcome of a pod, once for each pod. It must be safe for
	// concurrent use and must not modify the pod. Nil means that pods succeed at once.
	Script  func(pod *corev1.Pod) Outcome
	Node    string           // name of the node; "" means testenv
	Workers int              // pods handled at once; 0 means 8
	Clock   clock.WithTicker // for timestamps and waits; nil means the real clock
}

// Kubelet simulates the scheduler and a node, without running containers. It binds each
// pod and reports its [Outcome]. A deleted pod becomes Failed within its grace period
// and is removed unless finalizers keep it. The server removes unbound ones. Failed
// calls are retried. A Kubelet is safe for concurrent use by multiple goroutines.
type Kubelet struct {
	options KubeletOptions
	client  kubernetes.Interface
	pods    cache.SharedIndexInformer
	factory informers.SharedInformerFactory
	queue   workqueue.TypedRateLimitingInterface[cache.ObjectName]
	counts  [stepRemove + 1]atomic.Int64

	mu   sync.Mutex
	runs map[types.UID]*podRun
}

// KubeletCounts are numbers of steps.
type KubeletCounts struct {
	Bound, Started, Ended, Stopped, Removed int64
}

// NewKubelet returns a Kubelet, to be started with Run.
func NewKubelet(o KubeletOptions) (*Kubelet, error) {
	if o.Config == nil {
		return nil, errors.New("testenv: NewKubelet: Config is missing")
	}
	if o.Script == nil {
		o.Script = func(*corev1.Pod) Outcome { return Outcome{} }
	}
	if o.Node == "" {
		o.Node = "testenv"
	}
	if o.Workers == 0 {
		o.Workers = 8
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	client, err := kubernetes.NewForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("testenv: NewKubelet: %w", err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(o.Namespace))
	return &Kubelet{
		options: o,
		client:  client,
		factory: factory,
		pods:    factory.Core().V1().Pods().Informer(),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, time.Second),
			workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{Clock: o.Clock}),
		runs: map[types.UID]*podRun{},
	}, nil
}

// Run runs pods until ctx is done, and waits for its goroutines. It can be called only
// once.
func (k *Kubelet) Run(ctx context.Context) error {
	enqueue := func(object any) {
		if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
			k.queue.Add(name)
		}
	}
	if _, err := k.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, object any) { enqueue(object) },
		DeleteFunc: func(object any) {
			k.forget(object)
			enqueue(object)
		},
	}); err != nil {
		return fmt.Errorf("testenv: Run: %w", err)
	}
	k.factory.Start(ctx.Done())
	var workers sync.WaitGroup
	for range k.options.Workers {
		workers.Go(func() {
			for k.handleNext(ctx) {
			}
		})
	}
	<-ctx.Done()
	k.queue.ShutDown()
	workers.Wait()
	k.factory.Shutdown()
	return nil
}

// Counts returns the steps so far.
func (k *Kubelet) Counts() KubeletCounts {
	return KubeletCounts{
		Bound:   k.counts[stepBind].Load(),
		Started: k.counts[stepRun].Load(),
		Ended:   k.counts[stepEnd].Load(),
		Stopped: k.counts[stepStop].Load(),
		Removed: k.counts[stepRemove].Load(),
	}
}

func (k *Kubelet) forget(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	if pod, ok := object.(*corev1.Pod); ok {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.runs, pod.UID)
	}
}

// handleNext makes the next step of one pod. The queue never has two workers handle the
// same pod.
func (k *Kubelet) handleNext(ctx context.Context) bool {
	name, down := k.queue.Get()
	if down {
		return false
	}
	defer k.queue.Done(name)
	object, exists, err := k.pods.GetStore().GetByKey(name.String())
	if err != nil || !exists {
		k.queue.Forget(name)
		return true
	}
	pod := object.(*corev1.Pod)
	run, now := k.run(pod), k.options.Clock.Now()
	s, wait := run.next(pod, now)
	if wait > 0 {
		k.queue.AddAfter(name, wait)
	}
	switch err := k.do(ctx, s, run, pod, now); {
	case err == nil, apierrors.IsNotFound(err):
		k.queue.Forget(name)
	default: // after a conflict the pod's event also follows
		k.queue.AddRateLimited(name)
	}
	return true
}

func (k *Kubelet) run(pod *corev1.Pod) *podRun {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.runs[pod.UID]
	if r == nil {
		r = &podRun{outcome: k.options.Script(pod), seen: k.options.Clock.Now()}
		k.runs[pod.UID] = r
	}
	return r
}

// do writes a step. It does not touch a pod of the same name that replaced this one.
func (k *Kubelet) do(ctx context.Context, s step, r *podRun, pod *corev1.Pod, now time.Time) error {
	pods := k.client.CoreV1().Pods(pod.Namespace)
	var err error
	switch s {
	case stepNone:
		return nil
	case stepBind:
		err = pods.Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: k.options.Node},
		}, metav1.CreateOptions{})
	case stepRun:
		err = k.writeStatus(ctx, pod, r.runningStatus(pod, now))
	case stepEnd, stepStop:
		err = k.writeStatus(ctx, pod, r.endedStatus(pod, s, now))
	case stepRemove:
		options := *metav1.NewDeleteOptions(0)
		options.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
		err = pods.Delete(ctx, pod.Name, options)
	}
	if err == nil {
		k.counts[s].Add(1)
	}
	return err
}

func (k *Kubelet) writeStatus(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},
		"status":   status,
	})
	if err != nil {
		return err
	}
	_, err = k.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
