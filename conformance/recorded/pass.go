package recorded

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/controller"

	"github.com/restartkit/restart/conformance/syncjob"
	"github.com/restartkit/restart/internal/vectors/shape"
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
	c, err := syncjob.New(shape.PassNow)
	if err != nil {
		return nil, err
	}
	err = c.Jobs.Add(job)
	for _, pod := range pods {
		err = errors.Join(err, c.Pods.Add(pod))
	}
	key := job.Namespace + "/" + job.Name
	if v.Backoff != nil {
		var last *time.Time
		if v.Backoff.LastFailure != nil {
			last = new(v.Backoff.LastFailure.At(shape.PassNow))
		}
		err = errors.Join(err, c.SetStreak(key, int32(v.Backoff.Failures), last))
	}
	if e := v.Expectations; e != nil {
		err = errors.Join(err, c.SetExpectations(key, e.Creates, e.Deletes))
	}
	if err != nil {
		return nil, err
	}

	effects := &controller.FakePodControl{CreateLimit: shape.Value(v.CreateLimit)}
	if v.PodControlError {
		effects.Err = errors.New("fake error")
	}
	var statuses []*batch.JobStatus
	c.Answer(effects, func(_ context.Context, job *batchv1.Job) (*batchv1.Job, error) {
		statuses = append(statuses, &convert.Job(job.DeepCopy()).Status)
		return job, nil
	})
	before := convert.Job(job.DeepCopy()).Status
	err = c.Sync(key)
	result := shape.PassResult{Deletes: len(effects.DeletePodName), Patches: len(effects.Patches), Before: &before, Statuses: statuses}
	for _, template := range effects.Templates {
		result.Created = append(result.Created, template.Annotations)
	}
	outcome := result.Outcome()
	var after []int64
	for _, d := range c.After {
		after = append(after, d.Milliseconds())
	}
	outcome["requeue_after_ms"] = after
	if err != nil {
		outcome["error"] = err.Error()
	}
	return outcome, nil
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
