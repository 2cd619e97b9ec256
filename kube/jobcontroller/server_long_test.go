//go:build long

package jobcontroller_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/jobcontroller"
	"github.com/restartkit/restart/kube/testenv"
)

// The tests in this file run on a real API server; see testenv.EnvVar.

// world is a namespace of a real API server, with a controller and a kubelet.
type world struct {
	*testing.T
	client    kubernetes.Interface
	namespace string
	config    *rest.Config
	control   *jobcontroller.Controller
}

// newWorld starts a controller and a kubelet with the script. Both end with the test.
func newWorld(t *testing.T, script func(*corev1.Pod) testenv.Outcome) *world {
	t.Helper()
	w := newEmptyWorld(t)
	w.start(jobcontroller.Options{}, script)
	return w
}

// newEmptyWorld returns a world without controller and kubelet.
func newEmptyWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	env := testenv.ForTest(t)
	config := env.Config()
	config.QPS = -1
	return &world{T: t, namespace: env.Namespace(t), config: config, client: kubernetes.NewForConfigOrDie(config)}
}

// factory returns informers of the world's namespace.
func (w *world) factory() kubeinformers.SharedInformerFactory {
	return kubeinformers.NewSharedInformerFactoryWithOptions(w.client, 0, kubeinformers.WithNamespace(w.namespace))
}

// start runs a controller with the options, the factories of its informers, and a
// kubelet with the script until the test ends.
func (w *world) start(o jobcontroller.Options, script func(*corev1.Pod) testenv.Outcome, factories ...kubeinformers.SharedInformerFactory) {
	w.Helper()
	var err error
	o.Namespace, o.BatchPeriod = w.namespace, 20*time.Millisecond
	o.Engine = jobpolicy.Engine{BaseDelay: 100 * time.Millisecond, MaxDelay: 400 * time.Millisecond, MinRequeue: 20 * time.Millisecond}
	if w.control, err = jobcontroller.New(w.client, o); err != nil {
		w.Fatal(err)
	}
	kubelet, err := testenv.NewKubelet(testenv.KubeletOptions{Config: w.config, Namespace: w.namespace, Script: script})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	for _, f := range factories {
		f.StartWithContext(ctx)
	}
	done := make(chan error, 2)
	go func() { done <- w.control.Run(ctx) }()
	go func() { done <- kubelet.Run(ctx) }()
	w.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				w.Error(err)
			}
		}
		for _, f := range factories {
			f.Shutdown()
		}
	})
}

// create creates a Job of one container, after applying change.
func (w *world) create(change func(*batchv1.JobSpec)) *batchv1.Job {
	w.Helper()
	return w.createWith(nil, change)
}

// createWith is like create, with annotations.
func (w *world) createWith(annotations map[string]string, change func(*batchv1.JobSpec)) *batchv1.Job {
	w.Helper()
	by := jobcontroller.DefaultManagedBy
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "job-", Namespace: w.namespace, Annotations: annotations},
		Spec: batchv1.JobSpec{
			ManagedBy: &by,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy:                 corev1.RestartPolicyNever,
				TerminationGracePeriodSeconds: new(int64(1)),
				Containers:                    []corev1.Container{{Name: "main", Image: "none"}},
			}},
		},
	}
	change(&job.Spec)
	job, err := w.client.BatchV1().Jobs(w.namespace).Create(w.Context(), job, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return job
}

// update changes a Job like a user.
func (w *world) update(job *batchv1.Job, change func(*batchv1.JobSpec)) {
	w.Helper()
	w.await(job, "an update without a conflict", func(now *batchv1.Job) bool {
		change(&now.Spec)
		_, err := w.client.BatchV1().Jobs(w.namespace).Update(w.Context(), now, metav1.UpdateOptions{})
		return err == nil
	})
}

// await returns the Job once it satisfies the condition.
func (w *world) await(job *batchv1.Job, what string, is func(*batchv1.Job) bool) *batchv1.Job {
	w.Helper()
	var now *batchv1.Job
	w.until(what, func() (done bool) {
		var err error
		now, err = w.client.BatchV1().Jobs(w.namespace).Get(w.Context(), job.Name, metav1.GetOptions{})
		return err == nil && is(now)
	}, func() string { return fmt.Sprintf("the Job is %+v", now.Status) })
	return now
}

// until waits for a condition until shortly before the tests' time limit.
func (w *world) until(what string, done func() bool, now func() string) {
	w.Helper()
	for !done() {
		if d, ok := w.Deadline(); ok && time.Until(d) < 20*time.Second {
			w.Fatalf("waiting for %s: %s", what, now())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// pods returns the pods of the Job.
func (w *world) pods(job *batchv1.Job) []corev1.Pod {
	w.Helper()
	list, err := w.client.CoreV1().Pods(w.namespace).List(w.Context(), metav1.ListOptions{LabelSelector: batchv1.ControllerUidLabel + "=" + string(job.UID)})
	if err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// awaitNoFinalizer waits until no pod of the Job has the tracking finalizer.
func (w *world) awaitNoFinalizer(job *batchv1.Job) {
	w.Helper()
	w.until("pods without finalizers", func() bool {
		return !slices.ContainsFunc(w.pods(job), func(p corev1.Pod) bool { return slices.Contains(p.Finalizers, batch.JobTrackingFinalizer) })
	}, func() string { return fmt.Sprint(len(w.pods(job)), " pods") })
}

func (w *world) hasEvents(job *batchv1.Job, reasons ...string) {
	w.Helper()
	seen := map[string]bool{}
	w.until(fmt.Sprint("Events ", reasons), func() bool {
		events, err := w.client.CoreV1().Events(w.namespace).List(w.Context(), metav1.ListOptions{})
		if err != nil {
			return false
		}
		for _, e := range events.Items {
			if e.InvolvedObject.UID == job.UID {
				seen[e.Reason] = true
			}
		}
		return !slices.ContainsFunc(reasons, func(r string) bool { return !seen[r] })
	}, func() string { return fmt.Sprint("there are ", seen) })
}

func holds(t batchv1.JobConditionType, reason string) func(*batchv1.Job) bool {
	return func(job *batchv1.Job) bool {
		return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == t && c.Status == corev1.ConditionTrue && (reason == "" || c.Reason == reason)
		})
	}
}

var complete = holds(batchv1.JobComplete, "")

// index returns the completion index of a pod.
func index(pod *corev1.Pod) int {
	i, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil {
		return -1
	}
	return i
}

// attempt returns the number of earlier failures of the pod's index.
func attempt(pod *corev1.Pod) int {
	n, _ := strconv.Atoi(pod.Annotations[batchv1.JobIndexFailureCountAnnotation])
	return n
}

func indexedSpec(completions, parallelism int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) {
		s.CompletionMode, s.Completions, s.Parallelism = new(batchv1.IndexedCompletion), &completions, &parallelism
	}
}

func TestServerJobCompletes(t *testing.T) {
	w := newWorld(t, nil)
	job := w.create(func(s *batchv1.JobSpec) { s.Parallelism, s.Completions = new(int32(2)), new(int32(5)) })
	job = w.await(job, "its completion", complete)
	if job.Status.Succeeded != 5 || job.Annotations[jobcontroller.AnnotationMemory] == "" {
		t.Errorf("%+v, annotations %v", job.Status, job.Annotations)
	}
	w.awaitNoFinalizer(job)
	w.hasEvents(job, "SuccessfulCreate", "Completed")
}

func TestServerIndexesFailAndAreRetried(t *testing.T) {
	w := newWorld(t, func(pod *corev1.Pod) testenv.Outcome {
		switch i := index(pod); {
		case i == 1, i == 2 && attempt(pod) == 0:
			return testenv.Outcome{ExitCodes: []int32{1}}
		}
		return testenv.Outcome{}
	})
	job := w.create(func(s *batchv1.JobSpec) {
		indexedSpec(4, 4)(s)
		s.BackoffLimitPerIndex = new(int32(1))
	})
	job = w.await(job, "its failure", holds(batchv1.JobFailed, "FailedIndexes"))
	if s := job.Status; s.CompletedIndexes != "0,2,3" || *s.FailedIndexes != "1" || s.Failed != 3 || s.Succeeded != 3 {
		t.Errorf("%+v", s)
	}
	w.awaitNoFinalizer(job)
	w.hasEvents(job, "FailedIndexes")
}

func TestServerPodFailurePolicyDecides(t *testing.T) {
	w := newWorld(t, func(pod *corev1.Pod) testenv.Outcome {
		switch index(pod) {
		case 0: // disrupted until it is deleted three times over
			if pod.Annotations[batch.JobIndexIgnoredFailureCountAnnotation] != "2" {
				return testenv.Outcome{ExitCodes: []int32{143}, Conditions: []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"}}}
			}
		case 1: // until the test ends it
			return testenv.Outcome{Forever: true}
		}
		return testenv.Outcome{}
	})
	job := w.create(func(s *batchv1.JobSpec) {
		indexedSpec(2, 2)(s)
		s.BackoffLimitPerIndex = new(int32(0))
		s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
			{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}},
			{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}}},
		}}
	})
	w.await(job, "the success of index 0", func(j *batchv1.Job) bool { return j.Status.CompletedIndexes == "0" })
	w.until("the end of index 1", func() bool {
		pods := w.pods(job)
		i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return index(&p) == 1 })
		if i < 0 {
			return false
		}
		const end = `{"status":{"phase":"Failed","containerStatuses":[{"name":"main","image":"none","state":{"terminated":{"exitCode":42}}}]}}`
		_, err := w.client.CoreV1().Pods(w.namespace).Patch(t.Context(), pods[i].Name, types.StrategicMergePatchType, []byte(end), metav1.PatchOptions{}, "status")
		return err == nil
	}, func() string { return "its pod is not written to" })
	job = w.await(job, "its failure", holds(batchv1.JobFailed, "PodFailurePolicy"))
	if s := job.Status; s.CompletedIndexes != "0" || s.Failed != 1 {
		t.Errorf("%+v", s)
	}
	w.awaitNoFinalizer(job)
}

func TestServerSuccessPolicyEndsAJob(t *testing.T) {
	w := newWorld(t, func(pod *corev1.Pod) testenv.Outcome { return testenv.Outcome{Forever: index(pod) > 1} })
	job := w.create(func(s *batchv1.JobSpec) {
		indexedSpec(4, 4)(s)
		s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(2))}}}
	})
	job = w.await(job, "its success", holds(batchv1.JobComplete, "SuccessPolicy"))
	if s := job.Status; s.CompletedIndexes != "0,1" || s.Active != 0 {
		t.Errorf("%+v", s)
	}
	w.awaitNoFinalizer(job)
}

func TestServerJobIsSuspendedAndResumed(t *testing.T) {
	var resumed atomic.Bool
	w := newWorld(t, func(*corev1.Pod) testenv.Outcome { return testenv.Outcome{Forever: !resumed.Load()} })
	job := w.create(func(s *batchv1.JobSpec) { s.Parallelism, s.Completions = new(int32(3)), new(int32(3)) })
	w.await(job, "running pods", func(j *batchv1.Job) bool { return j.Status.Active == 3 })
	w.update(job, func(s *batchv1.JobSpec) { s.Suspend = new(true) })
	suspended := w.await(job, "its suspension", func(j *batchv1.Job) bool { return holds(batchv1.JobSuspended, "")(j) && j.Status.Active == 0 })
	if suspended.Status.StartTime != nil {
		t.Errorf("%+v", suspended.Status)
	}
	resumed.Store(true)
	w.update(job, func(s *batchv1.JobSpec) { s.Suspend = new(false) })
	job = w.await(job, "its completion", complete)
	if job.Status.Succeeded != 3 || job.Status.Failed != 0 {
		t.Errorf("%+v", job.Status)
	}
	w.awaitNoFinalizer(job)
	w.hasEvents(job, "Suspended", "Resumed", "Completed", "SuccessfulDelete")
}

func TestServerElasticJobIsScaled(t *testing.T) {
	w := newWorld(t, func(pod *corev1.Pod) testenv.Outcome { return testenv.Outcome{Forever: index(pod) > 0} })
	job := w.create(indexedSpec(3, 3))
	w.await(job, "one success", func(j *batchv1.Job) bool { return j.Status.CompletedIndexes == "0" && j.Status.Active == 2 })
	scale := func(n int32) { w.update(job, func(s *batchv1.JobSpec) { s.Completions, s.Parallelism = &n, &n }) }
	scale(5)
	w.await(job, "more pods", func(j *batchv1.Job) bool { return j.Status.Active == 4 })
	scale(1)
	job = w.await(job, "its completion", complete)
	if s := job.Status; s.CompletedIndexes != "0" || s.Succeeded != 1 || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
	w.awaitNoFinalizer(job)
}

func TestServerBackoffLimitEndsAJob(t *testing.T) {
	w := newWorld(t, func(*corev1.Pod) testenv.Outcome { return testenv.Outcome{ExitCodes: []int32{1}} })
	job := w.create(func(s *batchv1.JobSpec) { s.BackoffLimit = new(int32(2)) })
	job = w.await(job, "its failure", holds(batchv1.JobFailed, "BackoffLimitExceeded"))
	if job.Status.Failed != 3 {
		t.Errorf("%+v", job.Status)
	}
	w.awaitNoFinalizer(job)
}

func TestServerDeadlineEndsAJob(t *testing.T) {
	w := newWorld(t, forever)
	job := w.create(func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(1)) })
	job = w.await(job, "its failure", holds(batchv1.JobFailed, "DeadlineExceeded"))
	w.awaitNoFinalizer(job)
}

// A deleted Job leaves no pod with a finalizer. The test acts as the garbage collector,
// which the server lacks.
func TestServerDeletedJobsLeaveNoFinalizer(t *testing.T) {
	for _, how := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		t.Run(string(how), func(t *testing.T) {
			w := newWorld(t, forever)
			job := w.create(func(s *batchv1.JobSpec) { s.Parallelism, s.Completions = new(int32(3)), new(int32(3)) })
			w.await(job, "running pods", func(j *batchv1.Job) bool { return j.Status.Active == 3 })
			if err := w.client.BatchV1().Jobs(w.namespace).Delete(t.Context(), job.Name, metav1.DeleteOptions{PropagationPolicy: &how}); err != nil {
				t.Fatal(err)
			}
			for _, pod := range w.pods(job) {
				var err error
				if how == metav1.DeletePropagationOrphan {
					patch := fmt.Sprintf(`{"metadata":{"ownerReferences":[{"$patch":"delete","uid":%q}]}}`, job.UID)
					_, err = w.client.CoreV1().Pods(w.namespace).Patch(t.Context(), pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
				} else {
					err = w.client.CoreV1().Pods(w.namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{})
				}
				if err != nil {
					t.Error(err)
				}
			}
			if how == metav1.DeletePropagationOrphan {
				patch := `{"metadata":{"$deleteFromPrimitiveList/finalizers":["orphan"]}}`
				if _, err := w.client.BatchV1().Jobs(w.namespace).Patch(t.Context(), job.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
					t.Error(err)
				}
			}
			w.awaitNoFinalizer(job)
		})
	}
}

// When the first pods of a Job have ended at its quota, their ends are recorded and
// their finalizers removed. Once the quota has room the Job continues.
func TestServerQuotaDelaysAJob(t *testing.T) {
	w := newWorld(t, nil)
	_, err := w.client.CoreV1().ResourceQuotas(w.namespace).Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	quota := func(used string) { // as the quota controller counts
		q, err := w.client.CoreV1().ResourceQuotas(w.namespace).Get(t.Context(), "pods", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		q.Status.Hard, q.Status.Used = q.Spec.Hard, corev1.ResourceList{corev1.ResourcePods: resource.MustParse(used)}
		if _, err := w.client.CoreV1().ResourceQuotas(w.namespace).UpdateStatus(t.Context(), q, metav1.UpdateOptions{}); err != nil {
			t.Log(err)
		}
	}
	quota("2")
	w.until("the server's knowledge of the quota", func() bool { // it hears of quotas from a watch of its own
		_, err := w.client.CoreV1().Pods(w.namespace).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "refused-"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(err)
	}, func() string { return "it takes a pod" })
	quota("0")
	job := w.create(func(s *batchv1.JobSpec) { s.Parallelism, s.Completions = new(int32(4)), new(int32(4)) })
	w.await(job, "two successes", func(j *batchv1.Job) bool { return j.Status.Succeeded == 2 && j.Status.Active == 0 })
	w.awaitNoFinalizer(job)
	w.hasEvents(job, "FailedCreate")
	w.until("its completion", func() bool {
		quota("0")
		now, err := w.client.BatchV1().Jobs(w.namespace).Get(t.Context(), job.Name, metav1.GetOptions{})
		return err == nil && complete(now)
	}, func() string { return "it is not complete" })
}

func TestServerPodsAreAdoptedOnceTheyMatch(t *testing.T) { releasesAndAdopts(newWorld(t, forever)) }

func forever(*corev1.Pod) testenv.Outcome { return testenv.Outcome{Forever: true} }

// releasesAndAdopts removes a pod's label and restores it. The Job must release the pod
// and adopt it again.
func releasesAndAdopts(w *world) {
	w.Helper()
	job := w.create(func(s *batchv1.JobSpec) { s.Parallelism, s.Completions = new(int32(2)), new(int32(2)) })
	w.await(job, "running pods", func(j *batchv1.Job) bool { return j.Status.Active == 2 })
	pod := w.pods(job)[0]
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, batchv1.ControllerUidLabel)
	patchPod := func(patch string) {
		if _, err := w.client.CoreV1().Pods(w.namespace).Patch(w.Context(), pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			w.Fatal(err)
		}
	}
	patchPod(patch)
	w.until("its release", func() bool {
		p, err := w.client.CoreV1().Pods(w.namespace).Get(w.Context(), pod.Name, metav1.GetOptions{})
		return err == nil && metav1.GetControllerOf(p) == nil && !slices.Contains(p.Finalizers, batch.JobTrackingFinalizer)
	}, func() string { return "it is not released" })
	w.until("another pod", func() bool { return len(w.pods(job)) == 2 }, func() string { return fmt.Sprint(len(w.pods(job)), " pods") })
	patchPod(fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, batchv1.ControllerUidLabel, job.UID))
	w.until("its adoption", func() bool {
		p, err := w.client.CoreV1().Pods(w.namespace).Get(w.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			return apierrors.IsNotFound(err) // only the controller deletes it, once adopted
		}
		ref := metav1.GetControllerOf(p)
		return ref != nil && ref.UID == job.UID || p.DeletionTimestamp != nil
	}, func() string { return "it is not adopted" })
	w.await(job, "two running pods", func(j *batchv1.Job) bool { return j.Status.Active == 2 })
}

// On a real API server, too, a patch or deletion with the UID of another pod has no
// effect.
func TestServerRefusesPatchesOfOtherPods(t *testing.T) {
	w := newWorld(t, forever)
	job := w.create(func(*batchv1.JobSpec) {})
	w.await(job, "a running pod", func(j *batchv1.Job) bool { return j.Status.Active == 1 })
	pod := w.pods(job)[0]
	if version, err := jobcontroller.Untrack(w.control, t.Context(), w.namespace, pod.Name, "other"); version != "" || err != nil {
		t.Errorf("the finalizer of another pod: %q, %v", version, err)
	}
	if deleted, err := jobcontroller.DeletePod(w.control, t.Context(), w.namespace, pod.Name, "other"); deleted || err != nil {
		t.Errorf("deleting another pod: %v, %v", deleted, err)
	}
	now := w.pods(job)[0]
	if now.UID != pod.UID || now.DeletionTimestamp != nil || !slices.Contains(now.Finalizers, batch.JobTrackingFinalizer) {
		t.Errorf("%+v", now.ObjectMeta)
	}
}
