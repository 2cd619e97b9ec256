package jobcontroller_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/kube/jobcontroller"
	"github.com/restartkit/restart/kube/testenv"
)

var (
	chaosSeeds   = flag.Int("jobcontroller.chaos", 1, "runs of TestServerChaosLosesNoEndAndCountsNoneTwice")
	chaosFirst   = flag.Uint64("jobcontroller.chaosseed", 1, "seed of the first run")
	chaosTime    = flag.Duration("jobcontroller.chaostime", 36*time.Second, "how long there is trouble")
	chaosProgram = flag.String("jobcontroller.program", "", "restart-job-controller to run as the replicas; empty: this program, whose clocks differ")
)

// Two replicas with a Lease run Jobs, and are killed in turn. They reach the API server
// through a proxy that refuses every tenth request, loses every tenth answer and delays
// watches, of Jobs and of pods apart. etcd is restarted, a quota refuses pods, and the
// clocks of the replicas are 30 s apart. The test looks at the server directly: every
// end is counted once, no finalizer stays, no index runs beyond its limit.
func TestServerChaosLosesNoEndAndCountsNoneTwice(t *testing.T) {
	env := testenv.StartForTest(t, testenv.Options{Log: os.Stderr})
	table := map[string]int{}
	for i := range *chaosSeeds {
		seed := *chaosFirst + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { newChaos(t, env, seed, table).run() })
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		t.Logf("%-50s %8d", name, table[name])
	}
	if t.Failed() {
		return
	}
	for _, name := range []string{
		"fault: request refused", "fault: answer lost", "fault: watch delayed", "fault: replica killed", "fault: etcd restarted",
		"fault: pod refused by a quota", "fault: pod failed", "fault: Job suspended", "check: pod ended", "check: Job ended", "check: end counted",
	} {
		if table[name] == 0 {
			t.Errorf("%s: not once", name)
		}
	}
}

type chaos struct {
	*testing.T
	*rand.Rand
	seed      uint64
	env       *testenv.Environment
	table     map[string]int
	client    kubernetes.Interface
	namespace string
	proxy     *faultyProxy
	config    string // the kubeconfig of the replicas
	record    *chaosRecord
	calm      chan struct{} // closed when the trouble is over
	jobs      []*batchv1.Job
}

func newChaos(t *testing.T, env *testenv.Environment, seed uint64, table map[string]int) *chaos {
	config := env.Config()
	config.QPS = -1
	c := &chaos{
		T: t, Rand: rand.New(rand.NewPCG(seed, 2)), seed: seed, env: env, table: table,
		client: kubernetes.NewForConfigOrDie(config), namespace: env.Namespace(t),
		record: newChaosRecord(t), calm: make(chan struct{}),
	}
	var err error
	if c.proxy, err = newFaultyProxy(config, seed); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(c.proxy)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	c.config = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: server.URL}},
		Contexts:       map[string]*clientcmdapi.Context{"c": {Cluster: "c", Namespace: c.namespace}},
		CurrentContext: "c",
	}, c.config); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *chaos) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	c.watch(ctx, &background)
	kubelet, err := testenv.NewKubelet(testenv.KubeletOptions{Config: c.env.Config(), Namespace: c.namespace, Script: c.script})
	if err != nil {
		c.Fatal(err)
	}
	background.Go(func() {
		if err := kubelet.Run(ctx); err != nil {
			c.Error(err)
		}
	})
	background.Go(func() { c.keepQuota(ctx) })
	replicas := []*replica{c.start(0), c.start(1)}
	defer func() {
		for _, r := range replicas {
			r.end()
		}
	}()
	for i := range 5 {
		c.createJob(i)
	}
	end := time.Now().Add(*chaosTime)
	for n := 0; time.Now().Before(end); n++ {
		time.Sleep(3 * time.Second)
		i := c.IntN(2)
		replicas[i].kill()
		c.table["fault: replica killed"]++
		if n == 3 {
			if err := c.env.RestartEtcd(ctx); err != nil {
				c.Fatal(err)
			}
			c.table["fault: etcd restarted"]++
		}
		if n == 1 || n == 5 {
			c.suspend(c.jobs[0], n == 1)
		}
	}
	c.suspend(c.jobs[0], false)
	close(c.calm)
	c.proxy.end(c.table)
	c.check()
}

func (c *chaos) isCalm() bool {
	select {
	case <-c.calm:
		return true
	default:
		return false
	}
}

// script is what becomes of a pod: it depends on the pod's name and, when the trouble is
// over, it succeeds.
func (c *chaos) script(pod *corev1.Pod) testenv.Outcome {
	h := fnv.New64a()
	fmt.Fprint(h, pod.Name, c.seed)
	n := h.Sum64()
	o := testenv.Outcome{Run: time.Duration(n%1500) * time.Millisecond, Direct: n%3 == 0}
	if !c.isCalm() && n%5 < 2 {
		o.ExitCodes = []int32{1}
		c.record.count("fault: pod failed")
	}
	return o
}

// keepQuota does what the quota controller would, and counts how often it is met.
func (c *chaos) keepQuota(ctx context.Context) {
	quotas := c.client.CoreV1().ResourceQuotas(c.namespace)
	_, err := quotas.Create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("8")}},
	}, metav1.CreateOptions{})
	if err != nil {
		c.Error(err)
	}
	for ctx.Err() == nil {
		if q, err := quotas.Get(ctx, "pods", metav1.GetOptions{}); err == nil {
			q.Status.Hard = q.Spec.Hard
			q.Status.Used = corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(c.record.running()), resource.DecimalSI)}
			_, _ = quotas.UpdateStatus(ctx, q, metav1.UpdateOptions{})
		}
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func (c *chaos) createJob(i int) {
	by := jobcontroller.DefaultManagedBy
	spec := batchv1.JobSpec{
		ManagedBy: &by, Parallelism: to(int32(3 + c.IntN(4))), Completions: to(int32(15 + c.IntN(25))), BackoffLimit: to[int32](1000),
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: to[int64](1),
			Containers: []corev1.Container{{Name: "main", Image: "none"}},
		}},
	}
	if i%2 == 1 {
		spec.CompletionMode = to(batchv1.IndexedCompletion)
		spec.BackoffLimit, spec.BackoffLimitPerIndex = nil, to(int32(c.IntN(3)))
	}
	if i == 4 {
		spec.CompletionMode, spec.PodReplacementPolicy = to(batchv1.IndexedCompletion), to(batchv1.Failed)
	}
	job, err := c.client.BatchV1().Jobs(c.namespace).Create(c.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("job", i), Namespace: c.namespace, Annotations: map[string]string{
			jobcontroller.AnnotationBaseDelay: "500ms", jobcontroller.AnnotationMaxDelay: "2s", jobcontroller.AnnotationSkipWaiting: "true",
		}},
		Spec: spec,
	}, metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
	c.jobs = append(c.jobs, job)
}

func (c *chaos) suspend(job *batchv1.Job, yes bool) {
	patch := fmt.Sprintf(`{"spec":{"suspend":%v}}`, yes)
	for range 100 {
		_, err := c.client.BatchV1().Jobs(c.namespace).Patch(c.Context(), job.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
		if err == nil {
			if yes {
				c.table["fault: Job suspended"]++
			}
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	c.Error("the Job cannot be suspended or resumed")
}

// watch follows Jobs and pods on the server itself.
func (c *chaos) watch(ctx context.Context, background *sync.WaitGroup) {
	f := informers.NewSharedInformerFactoryWithOptions(c.client, 0, informers.WithNamespace(c.namespace))
	jobs, pods := f.Batch().V1().Jobs().Informer(), f.Core().V1().Pods().Informer()
	_, err := jobs.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { c.record.job(o.(*batchv1.Job)) },
		UpdateFunc: func(_, o any) { c.record.job(o.(*batchv1.Job)) },
	})
	_, err2 := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { c.record.pod(o.(*corev1.Pod), false) },
		UpdateFunc: func(_, o any) { c.record.pod(o.(*corev1.Pod), false) },
		DeleteFunc: func(o any) {
			if pod, ok := o.(*corev1.Pod); ok {
				c.record.pod(pod, true)
			}
		},
	})
	if err := errors.Join(err, err2); err != nil {
		c.Fatal(err)
	}
	f.StartWithContext(ctx)
	background.Go(func() { <-ctx.Done(); f.Shutdown() })
	cache.WaitForCacheSync(ctx.Done(), jobs.HasSynced, pods.HasSynced)
}

// check waits for the end of all Jobs and checks what is there then.
func (c *chaos) check() {
	w := &world{T: c.T, client: c.client, namespace: c.namespace}
	for _, job := range c.jobs {
		job = w.await(job, "the end of "+job.Name, func(j *batchv1.Job) bool { return complete(j) || holds(batchv1.JobFailed, "")(j) })
		w.awaitNoFinalizer(job)
		c.table["check: Job ended"]++
	}
	w.until("the last changes", func() bool { return c.record.endedJobs() == len(c.jobs) }, func() string { return "they are not seen" })
	c.record.check(c.table)
}

// chaosRecord is what the server has shown.
type chaosRecord struct {
	t      *testing.T
	mu     sync.Mutex
	counts map[string]int
	jobs   map[types.UID]*chaosJob
	pods   map[types.UID]*corev1.Pod // as seen last
	gone   map[types.UID]bool
}

type chaosJob struct {
	last        *batchv1.Job
	named, left [2]map[types.UID]bool // pods that were ever uncounted, and not any more
	suspended   bool                  // ever
}

func newChaosRecord(t *testing.T) *chaosRecord {
	return &chaosRecord{t: t, counts: map[string]int{}, jobs: map[types.UID]*chaosJob{}, pods: map[types.UID]*corev1.Pod{}, gone: map[types.UID]bool{}}
}

func (r *chaosRecord) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

// job checks a status against those before it. A watch may leave out versions after
// etcd was restarted, so that a pod may have been named without being seen.
func (r *chaosRecord) job(job *batchv1.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	j := r.jobs[job.UID]
	if j == nil {
		j = &chaosJob{named: [2]map[types.UID]bool{{}, {}}, left: [2]map[types.UID]bool{{}, {}}}
		r.jobs[job.UID] = j
	}
	j.last = job
	j.suspended = j.suspended || job.Spec.Suspend != nil && *job.Spec.Suspend
	u := job.Status.UncountedTerminatedPods
	if u == nil {
		return
	}
	for i, now := range [2][]types.UID{u.Succeeded, u.Failed} {
		for uid := range j.named[i] {
			if !slices.Contains(now, uid) {
				j.left[i][uid] = true
			}
		}
		for _, uid := range now {
			if j.left[i][uid] || j.named[1-i][uid] {
				r.t.Errorf("%s: pod %s is counted twice: %+v", job.Name, uid, job.Status)
			}
			j.named[i][uid] = true
		}
	}
}

// pod checks a pod against the others of its Job.
func (r *chaosRecord) pod(pod *corev1.Pod, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.pods[pod.UID]; !known && podActive(pod) && index(pod) >= 0 {
		for _, other := range r.pods {
			if !r.gone[other.UID] && podActive(other) && index(other) == index(pod) && metav1.GetControllerOf(other).UID == metav1.GetControllerOf(pod).UID {
				r.t.Errorf("pod %s was created beside %s of the same index", pod.Name, other.Name)
			}
		}
	}
	r.pods[pod.UID], r.gone[pod.UID] = pod, gone
}

func podEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func podActive(pod *corev1.Pod) bool { return !podEnded(pod) && pod.DeletionTimestamp == nil }

func (r *chaosRecord) running() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, pod := range r.pods {
		if !r.gone[uid] && !podEnded(pod) {
			n++
		}
	}
	return n
}

func (r *chaosRecord) endedJobs() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range r.jobs {
		if complete(j.last) || holds(batchv1.JobFailed, "")(j.last) {
			n++
		}
	}
	return n
}

// check compares the final counts with the pods that there were. Pods that were deleted
// because the Job was suspended count nothing.
func (r *chaosRecord) check(table map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for what, n := range r.counts {
		table[what] += n
	}
	for uid, j := range r.jobs {
		var succeeded, failed int
		failures := map[int]int{}
		for _, pod := range r.pods {
			if metav1.GetControllerOf(pod).UID != uid || !podEnded(pod) {
				continue
			}
			table["check: pod ended"]++
			switch {
			case pod.Status.Phase == corev1.PodSucceeded:
				succeeded++
			case pod.DeletionTimestamp == nil || !j.suspended:
				failed++
				failures[index(pod)]++
			}
		}
		s := j.last.Status
		table["check: end counted"] += int(s.Failed + s.Succeeded)
		if indexes, err := indexset.Parse(s.CompletedIndexes); indexed(j.last) && (err != nil || indexes.Len() != int(s.Succeeded)) {
			r.t.Errorf("%s: %d indexes completed, status %+v, %v", j.last.Name, indexes.Len(), s, err)
		}
		if !j.suspended && (int(s.Failed) != failed || int(s.Succeeded) != succeeded) {
			r.t.Errorf("%s: %d pods succeeded and %d failed, status %+v", j.last.Name, succeeded, failed, s)
		}
		if l := j.last.Spec.BackoffLimitPerIndex; l != nil && !j.suspended {
			for i, n := range failures {
				if n > int(*l)+1 {
					r.t.Errorf("%s: index %d failed %d times, its limit is %d", j.last.Name, i, n, *l)
				}
			}
		}
		if u := s.UncountedTerminatedPods; u != nil && len(u.Failed)+len(u.Succeeded) > 0 {
			r.t.Errorf("%s has ended with uncounted pods: %+v", j.last.Name, s)
		}
	}
}

func indexed(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}

// replica is a process that runs Jobs while it holds the Lease, and another one when it
// has ended.
type replica struct {
	mu      sync.Mutex
	command *exec.Cmd
	ended   bool
	done    chan struct{}
}

// start starts replica 0 or 1. The clock of replica 1 is 30 s ahead.
func (c *chaos) start(i int) *replica {
	r := &replica{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for r.once(c.replicaCommand(i)) {
		}
	}()
	return r
}

// once runs the process, and reports whether to run it again.
func (r *replica) once(command *exec.Cmd) bool {
	stdin, err := command.StdinPipe() // the replica ends when it is closed
	if err != nil {
		return false
	}
	defer stdin.Close()
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return false
	}
	if err = command.Start(); err == nil {
		r.command = command
	}
	r.mu.Unlock()
	if err == nil {
		_ = command.Wait()
	}
	time.Sleep(100 * time.Millisecond)
	return true
}

// kill is kill -9.
func (r *replica) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.command != nil {
		_ = r.command.Process.Kill()
	}
}

// end kills the replica for good.
func (r *replica) end() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.kill()
	<-r.done
}

func (c *chaos) replicaCommand(i int) *exec.Cmd {
	name := fmt.Sprintf("replica-%d-%d", i, time.Now().UnixNano())
	settings, err := json.Marshal(replicaSettings{Kubeconfig: c.config, Namespace: c.namespace, Name: name, Ahead: time.Duration(i) * 30 * time.Second})
	if err != nil {
		panic(err)
	}
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), replicaVariable+"="+string(settings))
	if *chaosProgram != "" {
		command = exec.Command(*chaosProgram, "-kubeconfig", c.config, "-namespace", c.namespace, "-listen", "", "-leader-elect-resource-namespace", c.namespace,
			"-leader-elect-lease-duration", leaseDuration.String(), "-leader-elect-renew-deadline", renewDeadline.String(), "-leader-elect-retry-period", retryPeriod.String(), "-kube-api-qps", "0")
	}
	if testing.Verbose() {
		command.Stderr = os.Stderr
	}
	return command
}
