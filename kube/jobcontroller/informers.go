package jobcontroller

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeinformers "k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// informers are a Controller's informers of Jobs and pods, with its handlers.
type informers struct {
	factory    kubeinformers.SharedInformerFactory // nil if the caller gave the informers
	jobs, pods cache.SharedIndexInformer

	jobHandler, podHandler cache.ResourceEventHandlerRegistration
}

// newInformers returns the informers of the options, or new ones.
func newInformers(client kubernetes.Interface, o Options) informers {
	if o.Jobs != nil {
		return informers{jobs: o.Jobs.Informer(), pods: o.Pods.Informer()}
	}
	f := kubeinformers.NewSharedInformerFactoryWithOptions(client, 0, kubeinformers.WithNamespace(o.Namespace),
		kubeinformers.WithTransform(withoutManagedFields), kubeinformers.WithTweakListOptions(fromStorage))
	pods := f.InformerFor(&corev1.Pod{}, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return coreinformers.NewFilteredPodInformer(client, o.Namespace, resync, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, o.selectPods)
	})
	return informers{factory: f, jobs: f.Batch().V1().Jobs().Informer(), pods: pods}
}

// selectPods selects the pods for the informer, with fromStorage.
func (o Options) selectPods(list *metav1.ListOptions) {
	fromStorage(list)
	if o.OnlyLabelledPods {
		list.LabelSelector = PodLabel
	}
}

// fromStorage requests data from storage instead of an API server's cache, which may be
// older than the last write of an earlier controller.
func fromStorage(o *metav1.ListOptions) {
	if o.ResourceVersion == "0" {
		o.ResourceVersion = ""
	}
}

// withoutManagedFields drops the managed fields, which are large and unused here.
func withoutManagedFields(object any) (any, error) {
	if m, err := meta.Accessor(object); err == nil {
		m.SetManagedFields(nil)
	}
	return object, nil
}

// start runs the Controller's own informers. stop ends them, or removes the handlers
// from the caller's.
func (i *informers) start(ctx context.Context) (stop func()) {
	if i.factory == nil {
		return func() {
			// A late call of a handler finds queues shut down.
			_ = i.jobs.RemoveEventHandler(i.jobHandler)
			_ = i.pods.RemoveEventHandler(i.podHandler)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	i.factory.StartWithContext(ctx)
	return func() {
		cancel()
		i.factory.Shutdown()
	}
}

func (i *informers) synced() []cache.InformerSynced {
	return []cache.InformerSynced{i.jobHandler.HasSynced, i.podHandler.HasSynced}
}

func (i *informers) hasSynced() bool {
	return i.jobHandler.HasSynced() && i.podHandler.HasSynced()
}

// connect adds the handlers and the index of pods by owner.
func (c *Controller) connect() (err error) {
	c.informers = newInformers(c.client, c.options)
	i := &c.informers
	if i.factory != nil {
		c.lists.watch(i.jobs)
		c.lists.watch(i.pods)
	}
	if c.pods, err = newPodStore(i.pods); err != nil {
		return err
	}
	c.jobs = jobStore{i.jobs.GetIndexer()}
	if i.jobHandler, err = i.jobs.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(object any, _ bool) { c.jobAdded(object.(*batchv1.Job)) },
		UpdateFunc: func(old, now any) { c.jobUpdated(old.(*batchv1.Job), now.(*batchv1.Job)) },
		DeleteFunc: func(object any) { withLast(object, c.jobDeleted) },
	}); err != nil {
		return fmt.Errorf("handling Jobs: %w", err)
	}
	if i.podHandler, err = i.pods.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(object any, _ bool) { c.podChanged(nil, object.(*corev1.Pod)) },
		UpdateFunc: func(old, now any) { c.podChanged(old.(*corev1.Pod), now.(*corev1.Pod)) },
		DeleteFunc: func(object any) { withLast(object, func(pod *corev1.Pod) { c.podChanged(pod, nil); c.podLeft(pod) }) },
	}); err != nil {
		_ = i.jobs.RemoveEventHandler(i.jobHandler)
		return fmt.Errorf("handling pods: %w", err)
	}
	return nil
}

// withLast calls f with the last state of a deleted object.
func withLast[T any](object any, f func(T)) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	last, ok := object.(T)
	if !ok {
		klog.Background().Error(nil, "an informer reports the deletion of an unexpected object", "object", fmt.Sprintf("%T", object))
		return
	}
	f(last)
}
