package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/restartkit/restart/kube/restartrules"
)

// requestTimeout limits a write to the API server.
const requestTimeout = 5 * time.Second

// cluster is the API server, with the pods of one node. It knows only the types that
// the program needs, because client-go's whole scheme takes 15 MB.
type cluster struct {
	client rest.Interface
	node   string
	rules  *restartrules.Rules // of all pods, or nil
	wake   chan<- struct{}

	mu   sync.Mutex
	pods map[string]*pod
}

// restConfig returns the configuration in a file or, without one, that of a pod.
func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", kubeconfig)
}

func newCluster(config *rest.Config, node string, rules *restartrules.Rules, wake chan<- struct{}) (*cluster, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, authorizationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	c := rest.CopyConfig(config)
	c.APIPath = "/api"
	c.GroupVersion = &corev1.SchemeGroupVersion
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.ContentType = runtime.ContentTypeProtobuf
	c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	c.QPS, c.Burst = 20, 40
	c.UserAgent = "sooner"
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, err
	}
	return &cluster{client: client, node: node, rules: rules, wake: wake, pods: make(map[string]*pod)}, nil
}

// watch starts to follow the node's pods and returns a function that reports whether
// the first list is complete. While the server is gone, the pods stay as they were.
func (c *cluster) watch(ctx context.Context, failed func(error)) (synced func() bool, wait func(), err error) {
	source := cache.NewListWatchFromClient(c.client, "pods", metav1.NamespaceAll, fields.OneTermEqualSelector("spec.nodeName", c.node))
	informer := cache.NewSharedInformer(source, &corev1.Pod{}, 0)
	if err := informer.SetTransform(slim); err != nil {
		return nil, nil, err
	}
	if err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { failed(err) }); err != nil {
		return nil, nil, err
	}
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { c.set(o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { c.set(o.(*corev1.Pod)) },
		DeleteFunc: func(o any) {
			if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = unknown.Obj
			}
			if p, ok := o.(*corev1.Pod); ok {
				c.replace(string(p.UID), nil)
			}
		},
	})
	if err != nil {
		return nil, nil, err
	}
	var done sync.WaitGroup
	done.Go(func() { informer.RunWithContext(ctx) })
	return handler.HasSynced, done.Wait, nil
}

func (c *cluster) set(p *corev1.Pod) {
	if _, mirror := p.Annotations[annotationMirror]; mirror {
		return // its manifest counts
	}
	c.mu.Lock()
	old := c.pods[string(p.UID)]
	c.mu.Unlock()
	c.replace(string(p.UID), newPod(p, c.rules, old))
}

// replace sets the pod of a UID, and wakes the agent if the change matters to it. Most
// updates of a pod's status do not, nor do pokes.
func (c *cluster) replace(uid string, p *pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.pods[uid]
	if reflect.DeepEqual(old, p) {
		return
	}
	if p == nil {
		delete(c.pods, uid)
	} else {
		c.pods[uid] = p
	}
	if old != nil && old.watched() || p != nil && (p.watched() || p.invalid != nil) {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// list returns the pods by UID. They must not be modified, and remain the same pointers
// until they change.
func (c *cluster) list() map[string]*pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.pods)
}

// poke changes an annotation of a pod, so the kubelet looks at it.
func (c *cluster) poke(ctx context.Context, p *pod, now time.Time) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         p.UID, // of no other pod of this name
		"annotations": map[string]string{annotationPoked: now.UTC().Format(time.RFC3339Nano)},
	}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err = c.client.Patch(types.MergePatchType).Namespace(p.namespace).Resource("pods").Name(p.name).Body(patch).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// event creates an Event of a pod, unless there is one with this message.
func (c *cluster) event(ctx context.Context, p *pod, reason, message string, now time.Time) error {
	const longest = 1024 // of an Event's message
	if len(message) > longest {
		message = message[:longest-3] + "..."
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	at := metav1.NewTime(now)
	name := sha256.Sum256([]byte(p.UID + reason + message)) // the same in another try
	err := c.client.Post().Namespace(p.namespace).Resource("events").Body(&corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: fmt.Sprintf("sooner-%x", name[:12])},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: p.namespace, Name: p.name, UID: types.UID(p.UID),
		},
		Type: corev1.EventTypeWarning, Reason: reason, Message: message,
		Source: corev1.EventSource{Component: "sooner", Host: c.node}, ReportingController: "sooner",
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
	}).Do(ctx).Error()
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// may returns an error unless the program has a right in all namespaces.
func (c *cluster) may(ctx context.Context, verb, resource string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: resource},
	}}
	if err := c.client.Post().AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").Body(review).Do(ctx).Into(review); err != nil {
		return err
	}
	if !review.Status.Allowed {
		return fmt.Errorf("no right to %s %s", verb, resource)
	}
	return nil
}

// kubelet returns the version of the node's kubelet.
func (c *cluster) kubelet(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var n corev1.Node
	err := c.client.Get().Resource("nodes").Name(c.node).Do(ctx).Into(&n)
	return n.Status.NodeInfo.KubeletVersion, err
}
