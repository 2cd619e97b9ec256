package convert_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/convert"
	"github.com/restartkit/restart/kube/workqueue"
)

// TrainingRun is a custom resource whose pods follow the rules of an Indexed Job.
type TrainingRun struct {
	metav1.ObjectMeta
	Workers  int32
	Template corev1.PodTemplateSpec
	Status   batchv1.JobStatus
	State    jobpolicy.State // beside the status, so that one request writes both
}

const runLabel = "example.com/training-run"

var runKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "TrainingRun"}

// job returns the Job that stands for the run. It exists only here.
func (run *TrainingRun) job() *batch.Job {
	template := *run.Template.DeepCopy()
	metav1.SetMetaDataLabel(&template.ObjectMeta, runLabel, run.Name)
	job := convert.Job(&batchv1.Job{
		ObjectMeta: run.ObjectMeta,
		Spec: batchv1.JobSpec{
			CompletionMode:       new(batchv1.IndexedCompletion),
			Completions:          new(run.Workers),
			Parallelism:          new(run.Workers),
			BackoffLimitPerIndex: new(int32(1)),
			Template:             template,
		},
		Status: run.Status,
	})
	job.Spec.Default()
	return job
}

// reconciler reconciles TrainingRuns, each in one goroutine at a time.
type reconciler struct {
	client  kubernetes.Interface
	pods    corelisters.PodLister
	runs    map[string]*TrainingRun // in place of the client of TrainingRuns
	memory  map[string]*memory
	limiter *workqueue.Limiter[string]
	clock   clock.PassiveClock
}

func newReconciler(client kubernetes.Interface, pods corelisters.PodLister, clock clock.PassiveClock) (*reconciler, error) {
	restarter, err := backoff.NewRestarter(
		backoff.ExitPolicy{Delay: &backoff.Policy{Initial: 100 * time.Millisecond, Max: time.Minute}},
		backoff.RestarterOptions[string]{Clock: clock},
	)
	if err != nil {
		return nil, err
	}
	limiter, err := workqueue.NewLimiter(restarter, workqueue.LimiterOptions{})
	if err != nil {
		return nil, err
	}
	return &reconciler{client, pods, make(map[string]*TrainingRun), make(map[string]*memory), limiter, clock}, nil
}

// memory is what a reconciler knows about a run before the lister shows it.
type memory struct {
	run      types.UID
	state    jobpolicy.State
	created  map[types.UID]time.Time
	deleted  map[types.UID]time.Time
	released map[types.UID]time.Time // pods without the tracking finalizer
}

// settle forgets what the lister shows by now. After five minutes it gives up, because a
// pod may have come and gone unseen.
func (m *memory) settle(pods []*corev1.Pod, now time.Time) {
	shown := make(map[types.UID]*corev1.Pod)
	for _, pod := range pods {
		shown[pod.UID] = pod
	}
	tooOld := func(since time.Time) bool { return now.Sub(since) >= 5*time.Minute }
	maps.DeleteFunc(m.created, func(uid types.UID, since time.Time) bool { return shown[uid] != nil || tooOld(since) })
	maps.DeleteFunc(m.deleted, func(uid types.UID, since time.Time) bool {
		return shown[uid] == nil || shown[uid].DeletionTimestamp != nil || tooOld(since)
	})
	maps.DeleteFunc(m.released, func(uid types.UID, _ time.Time) bool {
		return shown[uid] == nil || !tracked(shown[uid])
	})
}

// expect adds what the lister does not show yet to the input.
func (m *memory) expect(in *jobpolicy.Input) {
	in.ExpectationsPending = len(m.created)+len(m.deleted) > 0
	in.FinalizersRemoved = nil
	for uid := range m.released {
		in.FinalizersRemoved = append(in.FinalizersRemoved, string(uid))
	}
}

// Reconcile makes a pass over a run. It returns when to make the next one, 0 for not
// before the run or one of its pods changes, and an error for the log.
func (r *reconciler) Reconcile(ctx context.Context, key string) (time.Duration, error) {
	after, err := r.reconcile(ctx, key)
	return sooner(after, r.limiter.RequeueAfter(key, err)), err
}

func (r *reconciler) reconcile(ctx context.Context, key string) (time.Duration, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return 0, err
	}
	labelled, err := r.pods.Pods(namespace).List(labels.Set{runLabel: name}.AsSelector())
	if err != nil {
		return 0, err
	}
	run := r.runs[key]
	over := run == nil
	if run != nil {
		_, over = convert.JobStatus(&run.Status).Finished()
	}
	var pods []*corev1.Pod
	for _, pod := range labelled {
		if !over && metav1.IsControlledBy(pod, run) {
			pods = append(pods, pod)
		} else if tracked(pod) { // no plan will release it
			if err := r.untrack(ctx, namespace, pod.Name, pod.UID); err != nil {
				return 0, err
			}
		}
	}
	if over {
		delete(r.memory, key)
		return 0, nil
	}

	m, now := r.memory[key], r.clock.Now()
	if m == nil || m.run != run.UID {
		m = &memory{run.UID, run.State, map[types.UID]time.Time{}, map[types.UID]time.Time{}, map[types.UID]time.Time{}}
		r.memory[key] = m
	}
	m.settle(pods, now)
	in := jobpolicy.Input{Job: run.job(), Pods: convert.Pods(pods), State: m.state, Now: now}
	m.expect(&in)
	if err := in.Job.Spec.Validate(); err != nil {
		return 0, apierrors.NewBadRequest(err.Error()) // Terminal, and so not retried
	}
	plan, err := jobpolicy.Engine{}.Plan(in)
	if err != nil {
		return 0, err
	}

	podsErr := r.changePods(ctx, run, plan, m)
	if podsErr != nil { // record and release what has ended nevertheless
		in.NoPodChanges = true
		m.expect(&in)
		if plan, err = (jobpolicy.Engine{}).Plan(in); err != nil {
			return 0, errors.Join(podsErr, err)
		}
	}
	if plan.InterimStatus != nil {
		if run, err = r.write(run, plan.InterimStatus, plan.State); err != nil {
			return 0, errors.Join(podsErr, err) // plan.State is dropped
		}
	}
	m.state = plan.State
	for _, pod := range plan.Release {
		if err := r.untrack(ctx, namespace, pod.Name, types.UID(pod.UID)); err != nil {
			return 0, errors.Join(podsErr, err)
		}
		m.released[types.UID(pod.UID)] = now
	}
	if plan.FinalStatus != nil {
		if _, err = r.write(run, plan.FinalStatus, plan.State); err != nil {
			return 0, errors.Join(podsErr, err)
		}
	}
	after := plan.RequeueAfter
	if len(m.created)+len(m.deleted) > 0 {
		after = sooner(after, 5*time.Minute)
	}
	return after, podsErr
}

// changePods carries out the deletions and creations of a plan, up to the first error.
func (r *reconciler) changePods(ctx context.Context, run *TrainingRun, plan jobpolicy.Plan, m *memory) error {
	pods := r.client.CoreV1().Pods(run.Namespace)
	for _, d := range plan.Delete {
		uid := types.UID(d.UID)
		if d.Untrack {
			if err := r.untrack(ctx, run.Namespace, d.Name, uid); err != nil {
				return err
			}
			m.released[uid] = r.clock.Now()
		}
		err := pods.Delete(ctx, d.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(d.UID)})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		m.deleted[uid] = r.clock.Now()
	}
	owner := metav1.NewControllerRef(run, runKind)
	for _, c := range plan.Create {
		pod, err := pods.Create(ctx, convert.NewPod(&run.Template.Spec, c, owner), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		m.created[pod.UID] = r.clock.Now()
	}
	return nil
}

// untrack removes a pod's tracking finalizer.
func (r *reconciler) untrack(ctx context.Context, namespace, name string, uid types.UID) error {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"$deleteFromPrimitiveList/finalizers":[%q]}}`, uid, batch.JobTrackingFinalizer)
	_, err := r.client.CoreV1().Pods(namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func tracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, batch.JobTrackingFinalizer)
}

// write writes the status and the State, as the client's UpdateStatus does, with a
// conflict if the run has changed.
func (r *reconciler) write(run *TrainingRun, status *batch.JobStatus, state jobpolicy.State) (*TrainingRun, error) {
	next := *run
	convert.SetJobStatus(&next.Status, status)
	next.State = state
	r.runs[run.Namespace+"/"+run.Name] = &next
	return &next, nil
}

// sooner returns the shorter of two delays, of which 0 means none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// A controller of a custom resource makes its pods follow the rules of Jobs. Worker 1
// fails once, and a quota refuses its replacement at first.
func Example_customResource() {
	ctx := context.Background()
	clock := clocktesting.NewFakePassiveClock(time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC))
	client, quota, created := fake.NewClientset(), 2, 0
	client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if created == quota {
			return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("exceeded quota"))
		}
		pod := a.(clienttesting.CreateAction).GetObject().(*corev1.Pod)
		pod.Name = fmt.Sprint(pod.GenerateName, created)
		pod.UID = types.UID(pod.Name)
		created++
		return false, nil, nil
	})
	const key = "ml/bert"
	shown := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	r, err := newReconciler(client, corelisters.NewPodLister(shown), clock)
	if err != nil {
		fmt.Println(err)
		return
	}
	r.runs[key] = &TrainingRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "bert", UID: "u1"},
		Workers:    2,
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "example.com/train:1"}},
		}},
	}
	statuses := make(map[string]corev1.PodStatus)
	exit := func(pod string, phase corev1.PodPhase, code int32) {
		ended := &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(clock.Now())}
		statuses[pod] = corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "main", State: corev1.ContainerState{Terminated: ended}},
		}}
	}
	watch := func() { // brings the lister up to date
		pods, err := client.CoreV1().Pods("ml").List(ctx, metav1.ListOptions{})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, pod := range pods.Items {
			pod.Status = statuses[pod.Name]
			if err := shown.Add(&pod); err != nil {
				fmt.Println(err)
			}
		}
	}
	pass := func(wait time.Duration) {
		clock.SetTime(clock.Now().Add(wait))
		after, err := r.Reconcile(ctx, key)
		s := r.runs[key].Status
		fmt.Printf("%s created %d, active %d, failed %d, completed %q", clock.Now().Format("15:04:05.0"), created, s.Active, s.Failed, s.CompletedIndexes)
		if after > 0 {
			fmt.Printf(", again after %s", after)
		}
		if err != nil {
			fmt.Printf(" (%v)", err)
		}
		fmt.Println()
	}

	pass(0)
	pass(time.Second) // the lister shows no pods yet
	watch()
	pass(time.Second)
	exit("bert-0-0", corev1.PodSucceeded, 0)
	exit("bert-1-1", corev1.PodFailed, 1)
	watch()
	pass(time.Second)
	pass(10 * time.Second)
	quota = 3
	pass(100 * time.Millisecond)
	exit("bert-1-2", corev1.PodSucceeded, 0)
	watch()
	pass(time.Minute)
	fmt.Println(r.runs[key].Status.Conditions[1].Type)
	// Output:
	// 12:00:00.0 created 2, active 2, failed 0, completed "", again after 5m0s
	// 12:00:01.0 created 2, active 0, failed 0, completed "", again after 5m0s
	// 12:00:02.0 created 2, active 2, failed 0, completed ""
	// 12:00:03.0 created 2, active 0, failed 0, completed "0", again after 9s
	// 12:00:13.0 created 2, active 0, failed 0, completed "0", again after 100ms (pods is forbidden: exceeded quota)
	// 12:00:13.1 created 3, active 1, failed 0, completed "0", again after 5m0s
	// 12:01:13.1 created 3, active 0, failed 1, completed "0,1"
	// Complete
}
