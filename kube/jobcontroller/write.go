package jobcontroller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/klog/v2"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/kube/convert"
)

// writeAgain is how long a Job waits at most after its status could not be written: what
// kept it from that may be over long before Options.Retry has it looked at again.
const writeAgain = 10 * time.Second

// write writes the status, nil for the one that is there, and the memory with it, in
// one request. Without an answer it finds out whether that was carried out.
func (p *pass) write(ctx context.Context, status *jobpolicy.JobStatus, memory jobpolicy.Memory, counts jobpolicy.Counts) error {
	next := p.job.DeepCopy()
	convert.SetJobStatus(&next.Status, status)
	p.annotate(ctx, next, memory)
	patch, err := statusPatch(p.job, next)
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	w := statusWrite{job: next, memory: memory, counts: counts}
	written, err := p.client.BatchV1().Jobs(next.Namespace).Patch(ctx, next.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	switch {
	case err == nil:
		p.wrote(written, w)
		return nil
	case apierrors.IsNotFound(err):
		return errGone
	case apierrors.IsConflict(err), unanswered(err): // client-go may have sent it twice
		p.state.unsure.write = &w
		done, readErr := p.resolveWrite(ctx)
		switch {
		case done:
			return nil
		case errors.Is(readErr, errGone):
			return errGone
		case apierrors.IsConflict(err) && readErr == nil:
			return fmt.Errorf("writing the status: %w", errOutdated)
		case apierrors.IsConflict(err):
			return readErr
		}
		err = errors.Join(err, readErr)
	}
	p.notWritten(err)
	return fmt.Errorf("writing the status: %w", err)
}

// notWritten reports a status that could not be written, and has the Job looked at again
// soon.
func (p *pass) notWritten(err error) {
	outcome := "unanswered"
	if refuses(err) {
		outcome = "refused"
	}
	add(p.metrics.StatusWriteFailures, 1, outcome)
	p.events.Eventf(p.job, corev1.EventTypeWarning, "FailedStatusUpdate", "Error writing the status: %v", err)
	p.enqueue(p.key, writeAgain)
}

// statusPatch returns the strategic merge patch that makes the status and the memory of
// one Job those of another, which was made from it. What differs is all that it names,
// so fields that this client-go does not know stay as they are. The API server answers
// with a conflict if the Job was changed meanwhile.
func statusPatch(from, to *batchv1.Job) ([]byte, error) {
	owned := func(job *batchv1.Job) ([]byte, error) {
		part := batchv1.Job{Status: job.Status}
		if text, there := job.Annotations[AnnotationMemory]; there {
			part.Annotations = map[string]string{AnnotationMemory: text}
		}
		return json.Marshal(part)
	}
	old, err := owned(from)
	if err != nil {
		return nil, err
	}
	now, err := owned(to)
	if err != nil {
		return nil, err
	}
	var patch struct {
		Metadata map[string]any `json:"metadata"`
		Status   map[string]any `json:"status,omitempty"`
	}
	text, err := strategicpatch.CreateTwoWayMergePatch(old, now, batchv1.Job{})
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &patch); err != nil {
		return nil, err
	}
	if patch.Metadata == nil {
		patch.Metadata = make(map[string]any)
	}
	patch.Metadata["uid"], patch.Metadata["resourceVersion"] = from.UID, from.ResourceVersion
	return json.Marshal(patch)
}

// annotate puts the memory into the Job's annotation, or takes it out if there is no room
// for it: then it is kept here, and delays start over with the next controller, as those
// of Kubernetes' own do. An Event says so, once for the Job.
func (p *pass) annotate(ctx context.Context, job *batchv1.Job, memory jobpolicy.Memory) {
	held := make(map[string]bool)
	for _, pod := range p.pods.of(job.UID) {
		if tracked(pod) {
			held[string(pod.UID)] = true
		}
	}
	text, err := encodeMemory(memory, roomForMemory(job.Annotations), func(uid string) bool { return held[uid] })
	if err != nil {
		klog.FromContext(ctx).Error(err, "the memory is not written")
	}
	if text != "" {
		if job.Annotations == nil {
			job.Annotations = make(map[string]string)
		}
		job.Annotations[AnnotationMemory] = text
		return
	}
	delete(job.Annotations, AnnotationMemory)
	if !p.state.toldNoRoom {
		p.state.toldNoRoom = true
		p.events.Eventf(job, corev1.EventTypeWarning, "NoRoomForMemory",
			"The Job's other annotations leave no room for %s: delays of failed pods start over when the controller restarts", AnnotationMemory)
	}
}
