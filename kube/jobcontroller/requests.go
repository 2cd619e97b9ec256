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

// errOutdated says that a Job has changed since it was read: a newer one is at hand, and
// the pass is to be made again.
var errOutdated = errors.New("the Job has changed since it was read")

// errGone says that the Job is gone, or another one has its name.
var errGone = errors.New("the Job is gone")

// unanswered reports whether a request that failed may have been carried out: it was
// lost on the way, in either direction, or the API server failed while it worked on it.
// A refusal is an answer.
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

// refuses reports whether the error of a request that was sent once says that it was not
// carried out and will not be. A creation is sent once; what client-go repeats may have
// been carried out before the attempt that the error is of.
//
// An API server answers InternalError when a webhook or another plugin of admission
// fails, which is before anything is stored. After that it fails with other errors: of
// etcd with no reason at all, of time with a reason of that. A panic, and a proxy, leave
// no Status behind; client-go then makes the InternalError up and says so.
func refuses(err error) bool {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return true // it never left
	}
	if apierrors.ReasonForError(err) == metav1.StatusReasonInternalError && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return true
	}
	return !unanswered(err)
}

// terminatingNamespace reports whether a creation was refused because the namespace is
// being deleted. Then every other will be, too, and the Job goes with its namespace.
func terminatingNamespace(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// podPatch is a strategic merge patch of a pod's metadata. It names the pod's UID, so
// that it changes no other pod of the same name.
type podPatch struct {
	UID              types.UID `json:"uid"`
	OwnerReferences  []any     `json:"ownerReferences,omitempty"`
	Finalizers       []string  `json:"finalizers,omitempty"`                          // to add
	DeleteFinalizers []string  `json:"$deleteFromPrimitiveList/finalizers,omitempty"` // to take off
}

// patchPod patches a pod and returns it as it then is, nil if it is gone or another pod
// has its name.
func (c *Controller) patchPod(ctx context.Context, namespace, name string, patch podPatch) (*corev1.Pod, error) {
	body, err := json.Marshal(map[string]podPatch{"metadata": patch})
	if err != nil {
		return nil, fmt.Errorf("pod %s: %w", keyOf(namespace, name), err)
	}
	pods := c.client.CoreV1().Pods(namespace)
	pod, err := pods.Patch(ctx, name, types.StrategicMergePatchType, body, metav1.PatchOptions{})
	switch {
	case err == nil:
		return pod, nil
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsInvalid(err), apierrors.IsConflict(err): // a UID cannot be changed
		if other, readErr := pods.Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(readErr) || readErr == nil && other.UID != patch.UID {
			return nil, nil
		}
	}
	return nil, fmt.Errorf("pod %s: patching it: %w", keyOf(namespace, name), err)
}

// untrack takes the tracking finalizer off a pod and returns the pod's version without
// it, "" if the pod is gone.
func (c *Controller) untrack(ctx context.Context, namespace, name string, uid types.UID) (version string, err error) {
	pod, err := c.patchPod(ctx, namespace, name, podPatch{UID: uid, DeleteFinalizers: []string{batch.JobTrackingFinalizer}})
	if err != nil || pod == nil {
		return "", err
	}
	return pod.ResourceVersion, nil
}

// deletePod deletes a pod. If it is gone, or another pod has its name, that is done, and
// deleted is false.
func (c *Controller) deletePod(ctx context.Context, namespace, name string, uid types.UID) (deleted bool, err error) {
	err = c.client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(uid))})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, err
}

// freshJob reads the Job from where it is stored. The error wraps errGone if it is not
// there any more.
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

// each calls f for 0 to n-1, at most limit of them at once, and returns when all have
// returned.
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
