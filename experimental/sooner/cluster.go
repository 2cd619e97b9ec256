package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
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

// fieldNode is the field of a pod with the name of its node.
const fieldNode = "spec.nodeName"

// cluster is the API server, with the pods of one node. It knows only the types that
// the program needs, because client-go's whole scheme takes 15 MB.
type cluster struct {
	client     rest.Interface
	node       string
	namespaces []string            // whose pods may have rules; none means all
	rules      *restartrules.Rules // of all pods, or nil
	wake       chan<- struct{}

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

func newCluster(config *rest.Config, o *options, wake chan<- struct{}) (*cluster, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme} {
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
	return &cluster{
		client: client, node: o.node, namespaces: o.namespaces, rules: o.rules, wake: wake, pods: make(map[string]*pod),
	}, nil
}

// watch starts to follow the node's pods and returns a function that reports whether
// the first list is complete. While the server is gone, the pods stay as they were.
func (c *cluster) watch(ctx context.Context, failed func(error)) (synced func() bool, wait func(), err error) {
	source := cache.NewListWatchFromClient(c.client, "pods", metav1.NamespaceAll, fields.OneTermEqualSelector(fieldNode, c.node))
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
	if _, mirror := p.Annotations[annotationMirror]; mirror || !covers(c.namespaces, p.Namespace) {
		return // of a mirror pod, the manifest counts
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
	if old != nil && old.OptedIn() || p != nil && (p.OptedIn() || p.note != note{}) {
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

// poke changes an annotation of a pod, so the kubelet looks at it. The subresource status
// allows that, and no change of the programs that the pod runs.
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
	err = c.client.Patch(types.MergePatchType).Namespace(p.Namespace).Resource("pods").Name(p.name).SubResource("status").Body(patch).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// event creates an Event of a pod's note, unless there is one.
func (c *cluster) event(ctx context.Context, p *pod, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	at := metav1.NewTime(now)
	name := sha256.Sum256([]byte(p.UID + p.note.reason + p.note.text)) // the same in another try
	err := c.client.Post().Namespace(p.Namespace).Resource("events").Body(&corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: fmt.Sprintf("sooner-%x", name[:12])},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.name, UID: types.UID(p.UID),
		},
		Type: corev1.EventTypeWarning, Reason: p.note.reason, Message: p.note.text,
		Source: corev1.EventSource{Component: "sooner", Host: c.node}, ReportingController: "sooner",
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
	}).Do(ctx).Error()
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// right is a right in all namespaces, which the manifests grant.
type right struct{ verb, resource, subresource string }

// rights are all that the program needs.
var rights = []right{
	{"list", "pods", ""}, {"watch", "pods", ""}, {"patch", "pods", "status"}, {"create", "events", ""},
}

func (r right) String() string {
	if r.subresource == "" {
		return r.verb + " " + r.resource
	}
	return r.verb + " " + r.resource + "/" + r.subresource
}

// may returns an error unless the program has a right. Pods are listed and watched with the
// same field selector as in watch, because a kubelet's account may read those of its own
// node alone.
func (c *cluster) may(ctx context.Context, r right) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	attributes := &authorizationv1.ResourceAttributes{Verb: r.verb, Resource: r.resource, Subresource: r.subresource}
	if r.verb == "list" || r.verb == "watch" {
		attributes.FieldSelector = &authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{
			{Key: fieldNode, Operator: metav1.FieldSelectorOpIn, Values: []string{c.node}},
		}}
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}}
	if err := c.client.Post().AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").Body(review).Do(ctx).Into(review); err != nil {
		return err
	}
	if !review.Status.Allowed {
		return fmt.Errorf("no right to %s", r)
	}
	return nil
}

// The errors of verifyNode that say more than that a request has failed.
var (
	errWrongNode   = errors.New("--node-name is wrong")
	errNodeUnknown = errors.New("no right to get nodes")
)

// tokenNode is the key of the node's name in what the API server knows about the token of a
// pod.
const tokenNode = "authentication.kubernetes.io/node-name"

// verifyNode returns the version of the node's kubelet. It wraps errWrongNode if the node
// does not exist, or is not the one of the pod whose token the program has. It wraps
// errNodeUnknown if the program has neither such a token nor the right to read nodes.
func (c *cluster) verifyNode(ctx context.Context) (kubelet string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	own, err := c.nodeOfToken(ctx)
	switch {
	case err != nil:
		return "", err
	case own != "" && own != c.node:
		return "", fmt.Errorf("%w: the program's token is of a pod on the node %s", errWrongNode, own)
	}
	var n corev1.Node
	err = c.client.Get().Resource("nodes").Name(c.node).Do(ctx).Into(&n)
	switch {
	case apierrors.IsNotFound(err):
		return "", fmt.Errorf("%w: no node %s exists", errWrongNode, c.node)
	case apierrors.IsForbidden(err) && own != "":
		return "", nil
	case apierrors.IsForbidden(err):
		return "", errNodeUnknown
	}
	return n.Status.NodeInfo.KubeletVersion, err
}

// nodeOfToken returns the node of the pod for which the program's token was made, or "".
func (c *cluster) nodeOfToken(ctx context.Context) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	err := c.client.Post().AbsPath("/apis/authentication.k8s.io/v1/selfsubjectreviews").Body(review).Do(ctx).Into(review)
	if apierrors.IsForbidden(err) {
		return "", nil
	}
	if names := review.Status.UserInfo.Extra[tokenNode]; err == nil && len(names) == 1 {
		return names[0], nil
	}
	return "", err
}
