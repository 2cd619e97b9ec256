package jobcontroller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// errOutdated says that a Job has changed since it was read. A newer one is at hand for
// another pass.
var errOutdated = errors.New("the Job has changed since it was read")

// errGone says that the Job is gone or that another one has its name.
var errGone = errors.New("the Job is gone")

// unanswered reports whether a failed request may have been carried out. Either the
// request or its answer was lost, or the API server failed while handling it. A refusal
// is an answer.
func unanswered(err error) bool {
	if err == nil {
		return false
	}
	if refused := (errRefused{}); errors.As(err, &refused) {
		return false
	}
	var unread errUnread
	status := apierrors.APIStatus(nil)
	if errors.As(err, &unread) || !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code == 0 || code >= http.StatusInternalServerError || code == http.StatusRequestTimeout
}

// refuses reports whether err says that a request sent once was not carried out and
// will not be. Creations are sent once. A request repeated by client-go may have been
// carried out before the attempt that returned err.
//
// An API server answers InternalError if a webhook or another admission plugin fails,
// before it stores anything. Its later failures differ. Those of etcd have no reason,
// and timeouts have a reason of their own. A panic or a proxy leaves no Status, so
// client-go makes up an InternalError and marks it.
func refuses(err error) bool {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return true // never sent
	}
	if apierrors.ReasonForError(err) == metav1.StatusReasonInternalError && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return true
	}
	return !unanswered(err)
}

// terminatingNamespace reports whether a creation was refused because the namespace is
// being deleted. All others will then be refused as well, and the Job goes with its
// namespace.
func terminatingNamespace(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// podPatch is a strategic merge patch of a pod's metadata. It includes the pod's UID,
// so that it cannot change another pod of the same name.
type podPatch struct {
	UID              types.UID `json:"uid"`
	OwnerReferences  []any     `json:"ownerReferences,omitempty"`
	Finalizers       []string  `json:"finalizers,omitempty"`                          // to add
	DeleteFinalizers []string  `json:"$deleteFromPrimitiveList/finalizers,omitempty"` // to remove
}

// patchPod patches a pod and returns the result, or nil if the pod is gone or another
// pod has its name.
func (c *Controller) patchPod(ctx context.Context, namespace, name string, patch podPatch) (*corev1.Pod, error) {
	body := encoded(map[string]podPatch{"metadata": patch})
	pods := c.client.CoreV1().Pods(namespace)
	pod, err := pods.Patch(ctx, name, types.StrategicMergePatchType, body, metav1.PatchOptions{})
	switch {
	case err == nil:
		return pod, nil
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsInvalid(err), apierrors.IsConflict(err): // a UID is immutable
		if other, readErr := pods.Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(readErr) || readErr == nil && other.UID != patch.UID {
			return nil, nil
		}
	}
	return nil, fmt.Errorf("patching pod %s: %w", keyOf(namespace, name), err)
}

// untrack removes the tracking finalizer of a pod. It returns the pod's new version, or
// "" if the pod is gone.
func (c *Controller) untrack(ctx context.Context, namespace, name string, uid types.UID) (version string, err error) {
	pod, err := c.patchPod(ctx, namespace, name, podPatch{UID: uid, DeleteFinalizers: []string{batch.JobTrackingFinalizer}})
	if err != nil || pod == nil {
		return "", err
	}
	return pod.ResourceVersion, nil
}

// deletePod deletes a pod and reports whether it did. A pod already gone, or another
// pod with its name, is not an error.
func (c *Controller) deletePod(ctx context.Context, namespace, name string, uid types.UID) (deleted bool, err error) {
	err = c.client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(uid))})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, err
}

// freshJob reads the Job from storage. The error wraps errGone if it is gone.
func (c *Controller) freshJob(ctx context.Context, job *batchv1.Job) (*batchv1.Job, error) {
	fresh, err := c.client.BatchV1().Jobs(job.Namespace).Get(ctx, job.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && fresh.UID != job.UID:
		return nil, errGone
	case err != nil:
		return nil, fmt.Errorf("reading the Job: %w", err)
	}
	return fresh, nil
}

// encoded returns the JSON of a value that always has one. It panics if it has none.
func encoded(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("jobcontroller: %T has no JSON: %v", value, err))
	}
	return text
}

// each calls f for 0 to n-1, at most limit at once, and waits for all of them.
func each(n, limit int, f func(i int)) {
	var running sync.WaitGroup
	free := make(chan struct{}, max(min(n, limit), 1))
	for i := range n {
		free <- struct{}{}
		running.Go(func() {
			f(i)
			<-free
		})
	}
	running.Wait()
}
