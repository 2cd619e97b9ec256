package jobcontroller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// podTemplate is the pod specification of a Job's template as stored. If the API server
// is newer than this client-go, pods are made from it, because the informer's copy lacks
// fields unknown to client-go. The zero value stands for the informer's copy.
type podTemplate struct {
	generation int64 // of the Job
	spec       map[string]any
}

// restClient returns c, or nil for the unusable client of a fake.
func restClient(c rest.Interface) rest.Interface {
	if r, ok := c.(*rest.RESTClient); ok && r == nil {
		return nil
	}
	return c
}

// template returns the Job's template. If the API server may have fields that client-go
// does not know, it reads the template once per generation of the Job. The error wraps
// errOutdated if the Job has changed since.
func (p *pass) template(ctx context.Context) (podTemplate, error) {
	jobs := restClient(p.client.BatchV1().RESTClient())
	if known := p.record.template; known.spec != nil && known.generation == p.job.Generation {
		return known, nil
	}
	if jobs == nil || !p.server.isNewer(ctx, jobs, p.apiMinor, p.options.Clock) {
		return podTemplate{}, nil
	}
	options := metav1.GetOptions{ResourceVersion: p.job.ResourceVersion} // or later
	got := jobs.Get().Namespace(p.job.Namespace).Resource("jobs").Name(p.job.Name).
		VersionedParams(&options, scheme.ParameterCodec).SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx)
	if err := got.Error(); apierrors.IsNotFound(err) {
		return podTemplate{}, errGone
	} else if err != nil {
		return podTemplate{}, fmt.Errorf("reading the Job's template: %w", err)
	}
	text, _ := got.Raw() // its error is the one above
	var fresh batchv1.Job
	var raw struct {
		Spec struct {
			Template struct {
				Spec map[string]any `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	if err := errors.Join(json.Unmarshal(text, &fresh), utiljson.Unmarshal(text, &raw)); err != nil {
		return podTemplate{}, fmt.Errorf("reading the Job's template: %w", err)
	}
	switch {
	case fresh.UID != p.job.UID:
		return podTemplate{}, errGone
	case fresh.Generation != p.job.Generation, (fresh.DeletionTimestamp == nil) != (p.job.DeletionTimestamp == nil):
		p.record.wroteAt(&fresh)
		return podTemplate{}, fmt.Errorf("reading the Job's template: %w", errOutdated)
	}
	p.record.template = podTemplate{fresh.Generation, raw.Spec.Template.Spec}
	return p.record.template, nil
}

// post creates a pod. It sends the request only once, because client-go would repeat it
// after an answer with Retry-After even if the Job has changed meanwhile.
func (p *pass) post(ctx context.Context, t podTemplate, pod *corev1.Pod) (*corev1.Pod, error) {
	pods := restClient(p.client.CoreV1().RESTClient())
	if pods == nil {
		return p.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	}
	request := pods.Post().Namespace(pod.Namespace).Resource("pods").MaxRetries(0)
	if t.spec == nil {
		request = request.Body(pod)
	} else {
		request = request.SetHeader("Content-Type", runtime.ContentTypeJSON).Body(t.pod(pod))
	}
	created := &corev1.Pod{}
	err := request.Do(ctx).Into(created)
	return created, err
}

// pod returns the JSON of a pod made from the informer's template, with the whole
// stored specification.
func (t podTemplate) pod(pod *corev1.Pod) []byte {
	spec := runtime.DeepCopyJSON(t.spec)
	if pod.Spec.Hostname != "" {
		spec["hostname"] = pod.Spec.Hostname
	}
	addIndexVariables(spec["initContainers"], pod.Spec.InitContainers)
	addIndexVariables(spec["containers"], pod.Spec.Containers)
	return encoded(map[string]any{
		"apiVersion": corev1.SchemeGroupVersion.String(), "kind": "Pod", "metadata": pod.ObjectMeta, "spec": spec,
	})
}

// addIndexVariables copies the completion index variable from the containers in made to
// the stored ones.
func addIndexVariables(stored any, made []corev1.Container) {
	containers, _ := stored.([]any)
	isIndex := func(name any) bool { return name == batch.JobCompletionIndexEnv }
	for i := range min(len(containers), len(made)) {
		c, _ := containers[i].(map[string]any)
		at := slices.IndexFunc(made[i].Env, func(e corev1.EnvVar) bool { return isIndex(e.Name) })
		env, _ := c["env"].([]any)
		if c == nil || at < 0 || slices.ContainsFunc(env, func(e any) bool {
			v, _ := e.(map[string]any)
			return isIndex(v["name"])
		}) {
			continue
		}
		c["env"] = append(env, made[i].Env[at])
	}
}
