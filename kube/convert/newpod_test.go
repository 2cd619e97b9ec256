package convert

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// plan returns the Engine's first plan for the Job.
func plan(t rapid.TB, job *batchv1.Job, pods ...*corev1.Pod) jobpolicy.Plan {
	t.Helper()
	p, err := jobpolicy.Engine{}.Plan(jobpolicy.Input{Job: Job(job), Pods: Pods(pods), Now: time.Unix(1e9, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ownerOf(job *batchv1.Job) *metav1.OwnerReference {
	return metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))
}

// A pod of an Indexed Job equals the one that Kubernetes' Job controller creates, in
// every field. The API server has put the labels in the template.
func TestNewPodOfIndexedJobIsWhole(t *testing.T) {
	labels := map[string]string{
		"app":                                "a",
		"job-name":                           "work",
		"controller-uid":                     "u1",
		"batch.kubernetes.io/job-name":       "work",
		"batch.kubernetes.io/controller-uid": "u1",
	}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "work", Namespace: "ns", UID: "u1"},
		Spec: batchv1.JobSpec{
			CompletionMode:       new(batchv1.IndexedCompletion),
			Completions:          new(int32(8)),
			Parallelism:          new(int32(1)),
			BackoffLimitPerIndex: new(int32(1)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"note": "n"}, Finalizers: []string{"example.com/f"}},
				Spec: corev1.PodSpec{
					RestartPolicy:      corev1.RestartPolicyNever,
					Hostname:           "template",
					Subdomain:          "svc",
					ServiceAccountName: "sa",
					NodeSelector:       map[string]string{"disk": "ssd"},
					InitContainers:     []corev1.Container{{Name: "init", Env: []corev1.EnvVar{{Name: "A", Value: "1"}}}},
					Containers: []corev1.Container{
						{Name: "main", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}},
						{Name: "own", Env: []corev1.EnvVar{{Name: "JOB_COMPLETION_INDEX", Value: "mine"}}},
					},
					Volumes: []corev1.Volume{{Name: "v"}},
				},
			},
		},
		Status: batchv1.JobStatus{CompletedIndexes: "0-6", Succeeded: 7},
	}
	index := corev1.EnvVar{Name: "JOB_COMPLETION_INDEX", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']"},
	}}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "work-7-",
			Namespace:    "ns",
			Labels: map[string]string{
				"app":                                "a",
				"job-name":                           "work",
				"controller-uid":                     "u1",
				"batch.kubernetes.io/job-name":       "work",
				"batch.kubernetes.io/controller-uid": "u1",
				"batch.kubernetes.io/job-completion-index": "7",
			},
			Annotations: map[string]string{
				"note": "n",
				"batch.kubernetes.io/job-completion-index":    "7",
				"batch.kubernetes.io/job-index-failure-count": "0",
			},
			Finalizers: []string{"example.com/f", "batch.kubernetes.io/job-tracking"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "batch/v1", Kind: "Job", Name: "work", UID: "u1", Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:      corev1.RestartPolicyNever,
			Hostname:           "work-7",
			Subdomain:          "svc",
			ServiceAccountName: "sa",
			NodeSelector:       map[string]string{"disk": "ssd"},
			InitContainers:     []corev1.Container{{Name: "init", Env: []corev1.EnvVar{{Name: "A", Value: "1"}, index}}},
			Containers: []corev1.Container{
				{Name: "main", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}, Env: []corev1.EnvVar{index}},
				{Name: "own", Env: []corev1.EnvVar{{Name: "JOB_COMPLETION_INDEX", Value: "mine"}}},
			},
			Volumes: []corev1.Volume{{Name: "v"}},
		},
	}
	created := plan(t, job).Create
	if len(created) != 1 {
		t.Fatalf("%d pods are to be created, want 1", len(created))
	}
	if diff := unequal(want, NewPod(&job.Spec.Template.Spec, created[0], ownerOf(job))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A pod of a NonIndexed Job has the template's hostname and no index.
func TestNewPodOfNonIndexedJobHasNoIndex(t *testing.T) {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "work", Namespace: "ns", UID: "u1"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}},
			Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Hostname: "template",
				Containers: []corev1.Container{{Name: "main"}},
			},
		}},
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "work-",
			Namespace:    "ns",
			Labels:       map[string]string{"app": "a"},
			Finalizers:   []string{"batch.kubernetes.io/job-tracking"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "batch/v1", Kind: "Job", Name: "work", UID: "u1", Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Spec: job.Spec.Template.Spec,
	}
	if diff := unequal(want, NewPod(&job.Spec.Template.Spec, plan(t, job).Create[0], ownerOf(job))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The caller chooses the owner, which need not be a Job.
func TestNewPodHasTheGivenOwner(t *testing.T) {
	run := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "TrainingRun", Name: "bert", UID: "u1", Controller: new(true)}
	pod := NewPod(&corev1.PodSpec{}, jobpolicy.Creation{Index: -1}, &run)
	if diff := unequal([]metav1.OwnerReference{run}, pod.OwnerReferences); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if pod := NewPod(&corev1.PodSpec{}, jobpolicy.Creation{Index: -1}, nil); pod.OwnerReferences != nil {
		t.Errorf("owners %v, want none", pod.OwnerReferences)
	}
}

// The pod has every field of the template, even those unknown to jobpolicy, except for
// its hostname and one variable. It shares no memory with the template.
func TestNewPodHasTheWholeTemplate(t *testing.T) {
	pods := ours[jobpolicy.Creation]()
	rapid.Check(t, func(t *rapid.T) {
		job := theirs[batchv1.Job]().Draw(t, "job")
		drawn := pods.Draw(t, "pod")
		drawn.Index = rapid.IntRange(-1, 3).Draw(t, "index")
		jobText, drawnText := encode(t, job), encode(t, drawn)
		owner := ownerOf(job)
		got := NewPod(&job.Spec.Template.Spec, *drawn, owner)
		if shares(got, job) || shares(got, drawn) || shares(got, owner) {
			t.Fatal("the pod shares memory with what it was made from")
		}
		if encode(t, job) != jobText || encode(t, drawn) != drawnText {
			t.Fatal("an argument was written to")
		}

		// The parts known to jobpolicy equal those of its own pod, except for the
		// source of the index.
		known := Pod(got)
		want := drawn.Pod(*podSpecOf(job))
		want.CreationTimestamp, want.DeletionTimestamp, want.DeletionGracePeriodSeconds, want.UID = time.Time{}, time.Time{}, nil, ""
		for _, containers := range [][]batch.Container{want.Spec.InitContainers, want.Spec.Containers} {
			for i := range containers {
				if env := containers[i].Env; drawn.Index >= 0 && len(env) > 0 && env[len(env)-1].Name == batch.JobCompletionIndexEnv {
					env[len(env)-1].Value = ""
				}
			}
		}
		if diff := unequal(want, known); diff != "" {
			t.Fatalf("what jobpolicy knows (-jobpolicy +here):\n%s", diff)
		}

		// Everything else comes from the template.
		spec := job.Spec.Template.Spec.DeepCopy()
		spec.Hostname = got.Spec.Hostname
		for i := range spec.InitContainers {
			spec.InitContainers[i].Env = got.Spec.InitContainers[i].Env
		}
		for i := range spec.Containers {
			spec.Containers[i].Env = got.Spec.Containers[i].Env
		}
		if diff := unequal(spec, &got.Spec); diff != "" {
			t.Fatalf("the specification (-template +pod):\n%s", diff)
		}
	})
}

func podSpecOf(job *batchv1.Job) *batch.PodSpec { return &JobSpec(&job.Spec).Template.Spec }
