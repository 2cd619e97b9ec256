//go:build long

package jobcontroller_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/kube/jobcontroller"
	"github.com/restartkit/restart/kube/testenv"
)

// A Job whose annotations leave little or no room for the memory ends like any other.
func TestServerJobWithLongAnnotationsEnds(t *testing.T) {
	w := newWorld(t, func(pod *corev1.Pod) testenv.Outcome {
		return testenv.Outcome{ExitCodes: []int32{int32(1 - min(attempt(pod), 1))}}
	})
	for _, room := range []int{0, 100, 300} {
		job := w.createWith(map[string]string{"example.com/long": strings.Repeat("x", validation.TotalAnnotationSizeLimitB-len("example.com/long")-room)}, func(s *batchv1.JobSpec) {
			indexedSpec(2, 2)(s)
			s.BackoffLimitPerIndex = new(int32(1))
		})
		job = w.await(job, "its completion", complete)
		if job.Status.Succeeded != 2 || job.Status.Failed != 2 {
			t.Errorf("%d bytes: %+v", room, job.Status)
		}
		w.awaitNoFinalizer(job)
		if room == 0 {
			w.hasEvents(job, "NoRoomForMemory")
		}
	}
}

// The API server accepts a status patch only for the version in it, and keeps
// everything else.
func TestServerStatusPatchesConflictAndKeepTheRest(t *testing.T) {
	w := newWorld(t, nil)
	of := w.create(func(s *batchv1.JobSpec) { s.ManagedBy = new("example.com/nobody") })
	jobs := w.client.BatchV1().Jobs(w.namespace)
	patched := func(from, to *batchv1.Job) (*batchv1.Job, error) {
		patch, err := jobcontroller.StatusPatch(from, to)
		if err != nil {
			t.Fatal(err)
		}
		return jobs.Patch(t.Context(), from.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	theirs := of.DeepCopy()
	theirs.Status.Conditions = []batchv1.JobCondition{{Type: "example.com/theirs", Status: corev1.ConditionTrue}}
	now, err := patched(of, theirs)
	if err != nil {
		t.Fatal(err)
	}
	seen := now.DeepCopy()
	seen.Status.Conditions = nil // as by one that does not know it
	ours := seen.DeepCopy()
	ours.Status.Active = 1
	ours.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse}}
	ours.Annotations = map[string]string{jobcontroller.AnnotationMemory: "{}"}
	old := seen.DeepCopy()
	old.ResourceVersion = of.ResourceVersion
	if _, err := patched(old, ours); !apierrors.IsConflict(err) {
		t.Errorf("the patch of an older version: %v", err)
	}
	if now, err = patched(seen, ours); err != nil || len(now.Status.Conditions) != 2 || now.Status.Active != 1 || now.Annotations[jobcontroller.AnnotationMemory] != "{}" {
		t.Errorf("%+v, %v", now, err)
	}
	none := now.DeepCopy()
	none.Annotations, none.Status.Active = nil, 0
	if now, err = patched(now, none); err != nil || len(now.Status.Conditions) != 2 || now.Status.Active != 0 || now.Annotations[jobcontroller.AnnotationMemory] != "" {
		t.Errorf("%+v, %v", now, err)
	}
}

// The failure of an unreachable webhook is a refusal. It creates no pod, and a Job
// suspended meanwhile becomes Suspended at once.
func TestServerWebhookThatFailsIsARefusal(t *testing.T) {
	w := newWorld(t, func(*corev1.Pod) testenv.Outcome { return testenv.Outcome{Forever: true} })
	hooks := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	hook := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "fails.example.com", SideEffects: new(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      admissionv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/")},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
	if _, err := hooks.Create(t.Context(), hook, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}}}
	var refusal error
	w.until("the webhook", func() bool { // the server hears of it from a watch of its own
		_, refusal = w.client.CoreV1().Pods(w.namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return refusal != nil
	}, func() string { return "pods are created" })
	if !jobcontroller.Refuses(refusal) {
		t.Errorf("not taken for a refusal: %#v", refusal)
	}
	job := w.create(func(s *batchv1.JobSpec) { s.Parallelism, s.Completions = new(int32(2)), new(int32(2)) })
	w.hasEvents(job, "FailedCreate")
	w.update(job, func(s *batchv1.JobSpec) { s.Suspend = new(true) })
	began := time.Now()
	job = w.await(job, "its suspension", holds(batchv1.JobSuspended, ""))
	t.Logf("suspended after %v", time.Since(began))
	if err := hooks.Delete(t.Context(), w.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := len(w.pods(job)); n != 0 {
		t.Errorf("%d pods", n)
	}
	w.update(job, func(s *batchv1.JobSpec) { s.Suspend = new(false) })
	w.await(job, "its pods", func(j *batchv1.Job) bool { return j.Status.Active == 2 })
}

// The informers lack a field of the template and a condition, like those of an older
// client-go. The pods have the field, and the condition stays.
func TestServerFieldsThatTheInformersLackSurvive(t *testing.T) {
	w := newEmptyWorld(t)
	f := w.factory()
	o := jobcontroller.Options{Jobs: f.Batch().V1().Jobs(), Pods: f.Core().V1().Pods()}
	if err := o.Jobs.Informer().SetTransform(func(object any) (any, error) {
		if job, ok := object.(*batchv1.Job); ok {
			job.Spec.Template.Spec.SchedulerName = ""
			for i := range job.Spec.Template.Spec.Containers {
				job.Spec.Template.Spec.Containers[i].ImagePullPolicy = ""
			}
			job.Status.Conditions = slices.DeleteFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == "example.com/theirs" })
		}
		return object, nil
	}); err != nil {
		t.Fatal(err)
	}
	w.start(o, nil, f)
	job := w.create(func(s *batchv1.JobSpec) {
		indexedSpec(2, 1)(s)
		s.Suspend = new(true)
		s.Template.Spec.SchedulerName, s.Template.Spec.Containers[0].ImagePullPolicy = "novel", corev1.PullNever
	})
	w.await(job, "its suspension", holds(batchv1.JobSuspended, ""))
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []batchv1.JobCondition{{Type: "example.com/theirs", Status: corev1.ConditionTrue}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.BatchV1().Jobs(w.namespace).Patch(t.Context(), job.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	w.update(job, func(s *batchv1.JobSpec) { s.Suspend = new(false) })
	job = w.await(job, "its completion", complete)
	if !holds("example.com/theirs", "")(job) {
		t.Errorf("%+v", job.Status.Conditions)
	}
	for _, pod := range w.pods(job) {
		if c := pod.Spec.Containers[0]; pod.Spec.SchedulerName != "novel" || c.ImagePullPolicy != corev1.PullNever || len(c.Env) != 1 {
			t.Errorf("%+v", pod.Spec)
		}
	}
}
