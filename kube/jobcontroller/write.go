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
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/convert"
)

// writeAgain limits the wait after a failed status write, because its cause may be over
// long before Options.Retry allows another attempt.
const writeAgain = 10 * time.Second

// write writes the status and the state in one request. A nil status leaves the Job's
// status as it is. If the request has no answer, write reads the Job to find out
// whether it was carried out.
func (p *pass) write(ctx context.Context, status *batch.JobStatus, state jobpolicy.State, counts jobpolicy.MetricDeltas) error {
	next := p.job.DeepCopy()
	convert.SetJobStatus(&next.Status, status)
	p.annotate(ctx, next, state)
	patch, err := statusPatch(p.job, next)
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	w := statusWrite{job: next, state: state, counts: counts}
	written, err := p.client.BatchV1().Jobs(next.Namespace).Patch(ctx, next.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	switch {
	case err == nil:
		p.wrote(written, w)
		return nil
	case apierrors.IsNotFound(err):
		return errGone
	case apierrors.IsConflict(err), unanswered(err): // client-go may have sent it twice
		p.record.unacknowledged.write = &w
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
		return p.notWritten(err, readErr)
	}
	return p.notWritten(err, nil)
}

// notWritten reports a status write that failed with err, and requeues the Job after
// writeAgain. readErr is the error of reading the Job since, if any.
func (p *pass) notWritten(err, readErr error) error {
	outcome := "unanswered"
	if refuses(err) {
		outcome = "refused"
	}
	err = errors.Join(err, readErr)
	p.metrics.statusWriteFailures.add(1, outcome)
	p.events.Eventf(p.job, corev1.EventTypeWarning, "FailedStatusUpdate", "Error writing the status: %v", err)
	p.enqueue(p.key, writeAgain)
	return fmt.Errorf("writing the status: %w", err)
}

// statusPatch returns the strategic merge patch from the status and state of one Job
// to those of another made from it. The patch names only the differences, so it
// preserves fields unknown to this client-go. The API server answers with a conflict if
// the Job has changed meanwhile or another Job has its name.
func statusPatch(from, to *batchv1.Job) ([]byte, error) {
	text, err := strategicpatch.CreateTwoWayMergePatch(statusText(from), statusText(to), batchv1.Job{})
	if err != nil {
		return nil, err
	}
	var patch struct {
		Metadata struct {
			ResourceVersion string             `json:"resourceVersion"`
			Annotations     map[string]*string `json:"annotations,omitempty"` // null removes one
		} `json:"metadata"`
		Status map[string]any `json:"status,omitempty"`
	}
	if err := json.Unmarshal(text, &patch); err != nil {
		return nil, err
	}
	patch.Metadata.ResourceVersion = from.ResourceVersion
	before, was := from.Annotations[AnnotationMemory]
	switch memory, is := to.Annotations[AnnotationMemory]; {
	case is && (!was || memory != before):
		patch.Metadata.Annotations = map[string]*string{AnnotationMemory: &memory}
	case was && !is:
		patch.Metadata.Annotations = map[string]*string{AnnotationMemory: nil}
	}
	if repeated(from.Status.Conditions) || repeated(to.Status.Conditions) {
		all := []any{map[string]string{"$patch": "replace"}}
		for i := range to.Status.Conditions {
			all = append(all, &to.Status.Conditions[i])
		}
		if patch.Status == nil {
			patch.Status = make(map[string]any)
		}
		patch.Status["conditions"] = all
	}
	return encoded(patch), nil
}

// repeated reports whether a condition type occurs more than once. That is invalid, but
// a patch that merges conditions by type would lose all of that type.
func repeated(conditions []batchv1.JobCondition) bool {
	types := make(map[batchv1.JobConditionType]bool, len(conditions))
	for _, c := range conditions {
		types[c.Type] = true
	}
	return len(types) < len(conditions)
}

// statusText returns the JSON of a Job's status alone. It always includes the list of
// conditions, so that a patch can remove conditions but never the list.
func statusText(job *batchv1.Job) []byte {
	var part struct {
		Status struct {
			batchv1.JobStatus
			Conditions []batchv1.JobCondition `json:"conditions"`
		} `json:"status"`
	}
	part.Status.JobStatus = job.Status
	part.Status.Conditions = append([]batchv1.JobCondition{}, job.Status.Conditions...)
	return encoded(part)
}

// annotate stores the state in the Job's annotation. If the state does not fit,
// annotate removes the annotation and reports this once per Job by an Event. The state
// then lives only in this process, and delays start over with the next controller, as
// those of Kubernetes' own controller do.
func (p *pass) annotate(ctx context.Context, job *batchv1.Job, state jobpolicy.State) {
	held := make(map[string]bool)
	for _, pod := range p.pods.of(job.UID) {
		if tracked(pod) {
			held[string(pod.UID)] = true
		}
	}
	text, err := encodeState(state, roomForState(job.Annotations), func(uid string) bool { return held[uid] })
	if err != nil {
		klog.FromContext(ctx).Error(err, "cannot write the state")
	}
	if text != "" {
		if job.Annotations == nil {
			job.Annotations = make(map[string]string)
		}
		job.Annotations[AnnotationMemory] = text
		return
	}
	delete(job.Annotations, AnnotationMemory)
	if !p.record.announced.noRoom {
		p.record.announced.noRoom = true
		p.events.Eventf(job, corev1.EventTypeWarning, "NoRoomForMemory",
			"The Job's other annotations leave no room for %s, so delays of failed pods start over when the controller restarts", AnnotationMemory)
	}
}
