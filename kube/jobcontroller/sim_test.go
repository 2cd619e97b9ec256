package jobcontroller

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

var (
	simSeeds = flag.Int("jobcontroller.sims", 40, "simulations to run, with -short at most 5; 20 or more go on until each fault and check was there")
	simFirst = flag.Uint64("jobcontroller.seed", 1, "seed of the first simulation")
)

// A simulation runs random Jobs for some minutes of made-up time, while requests are
// refused, answers are lost, the informers of Jobs and of pods lag, each in its own way,
// the controller is killed, pods fail and are evicted, Jobs are suspended, resumed and
// removed, and a quota refuses pods. Then the trouble ends, every pod succeeds, and each
// Job must come to its end. The server checks every write as it comes. With -short there
// are few of them.
func TestFaultsLoseNoEndAndCountNoneTwice(t *testing.T) {
	table := map[string]int{}
	missing := func() []string {
		return slices.DeleteFunc([]string{
			"fault: refused", "fault: answer lost", "fault: controller killed", "fault: pod evicted", "fault: Job suspended", "fault: Job resumed",
			"fault: Job removed", "fault: quota refused a pod", "fault: pod failed", "fault: clock of the next controller is ahead",
			"fault: clock of the next controller is behind", "fault: creation carried out late", "fault: template changed",
			"fault: Job being deleted", "fault: no room for a memory", "check: made of the Job as it was seen", "check: nothing comes after the suspension", "check: status is one that the API server takes",
			"check: no UID is named again once it is counted", "check: released only after its end is recorded", "check: one active pod an index",
			"check: active at most parallelism", "check: Job ends", "check: no finalizer left", "check: no index ran beyond its limit",
			"end: Complete", "end: Failed",
		}, func(name string) bool { return table[name] > 0 })
	}
	sims := *simSeeds
	if testing.Short() {
		sims = min(sims, 5)
	}
	enough := sims >= 20 // to ask that nothing is missing
	more := func() bool { return enough && !t.Failed() && len(missing()) > 0 }
	for i := 0; i < sims || i < 10*sims && more(); i++ {
		seed := *simFirst + uint64(i)
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newSim(t, seed, table).run() })
		})
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		t.Logf("%-50s %8d", name, table[name])
	}
	if enough && !t.Failed() {
		for _, name := range missing() {
			t.Errorf("%s: not once", name)
		}
	}
}

type sim struct {
	*testing.T
	*rand.Rand
	server  *apiServer
	noteMu  sync.Mutex
	table   map[string]int
	control *running
	clock   *skewedClock
	quota   int // pods that may be there, 0: any
	calm    bool

	records  map[types.UID]*simRecord // by Job
	unproven map[types.UID]string     // pods released after they were seen to have ended, with no record: they must have been deleted
	deleted  map[types.UID]bool       // by a controller
}

func newSim(t *testing.T, seed uint64, table map[string]int) *sim {
	s := &sim{
		T: t, Rand: newRandom(seed), server: newAPIServer(), table: table,
		records: map[types.UID]*simRecord{}, unproven: map[types.UID]string{}, deleted: map[types.UID]bool{},
	}
	s.server.onStatus, s.server.onUntrack, s.server.onCreate, s.server.allow = s.onStatus, s.onUntrack, s.onCreate, s.allow
	s.server.onJob = func(job *batchv1.Job) {
		s.records[job.UID] = &simRecord{
			named: [2]map[types.UID]bool{{}, {}}, left: [2]map[types.UID]bool{{}, {}},
			parallelism: *job.Spec.Parallelism,
		}
	}
	s.server.onDelete = func(pod *corev1.Pod) { s.deleted[pod.UID] = true }
	return s
}

// note adds to the table.
func (s *sim) note(what string, n int) {
	s.noteMu.Lock()
	defer s.noteMu.Unlock()
	s.table[what] += n
}

// locked calls f while the server handles no request.
func (s *sim) locked(f func()) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	f()
}

func (s *sim) chance(oneIn int) bool { return s.IntN(oneIn) == 0 }

func (s *sim) run() {
	s.begin()
	for i := range 1 + s.IntN(3) {
		time.Sleep(time.Duration(s.IntN(3)) * time.Second)
		s.createJob(fmt.Sprintf("job%d", i))
	}
	for range 100 + s.IntN(400) {
		time.Sleep(time.Duration(s.IntN(1500)) * time.Millisecond)
		s.trouble()
	}
	s.settle()
	s.control.stop()
	s.check()
}

// begin starts a controller, as faulty as the times are.
func (s *sim) begin() {
	f := &faults{counts: map[string]int{}}
	if !s.calm {
		f.random, f.refused, f.lost, f.late = newRandom(s.Uint64()), 10, 10, 5
		f.lag = map[string]time.Duration{"jobs": time.Duration(s.IntN(4000)) * time.Millisecond, "pods": time.Duration(s.IntN(4000)) * time.Millisecond}
	}
	s.clock = &skewedClock{}
	switch s.IntN(3) {
	case 0:
		s.clock.by = 30 * time.Second
		s.note("fault: clock of the next controller is ahead", 1)
	case 1:
		s.clock.by = -30 * time.Second
		s.note("fault: clock of the next controller is behind", 1)
	}
	control := start(s.T, s.server, Options{Clock: s.clock, BatchPeriod: 500 * time.Millisecond}, f)
	s.locked(func() {
		s.control = control
		for _, r := range s.records {
			r.seen = nil
		}
	})
	if _, err := control.informers.jobs.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.sees(control, o.(*batchv1.Job)) },
		UpdateFunc: func(_, o any) { s.sees(control, o.(*batchv1.Job)) },
	}); err != nil {
		s.Fatal(err)
	}
}

// kill ends the controller as kill -9 does: nothing gets through any more.
func (s *sim) kill() {
	s.control.faults.kill()
	s.collect()
	s.control.stop()
}

func (s *sim) collect() {
	f := s.control.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, n := range f.counts {
		s.note("fault: "+name, n)
	}
	f.counts = map[string]int{}
}

func (s *sim) createJob(name string) {
	s.server.createJob(newJob(name, func(j *batchv1.Job) {
		spec := &j.Spec
		spec.Parallelism, spec.Completions = new(int32(1+s.IntN(5))), new(int32(1+s.IntN(12)))
		spec.BackoffLimit = new(int32(s.IntN(30)))
		if !s.chance(3) {
			spec.CompletionMode = new(batchv1.IndexedCompletion)
			if !s.chance(3) {
				spec.BackoffLimitPerIndex, spec.BackoffLimit = new(int32(s.IntN(4))), new(int32(1<<31-1))
				if s.chance(3) {
					spec.MaxFailedIndexes = new(int32(s.IntN(3)))
				}
			}
			if s.chance(5) {
				spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(1 + *spec.Completions/2)}}}
			}
		}
		if s.chance(3) {
			spec.PodReplacementPolicy = new(batchv1.Failed)
		}
		if s.chance(3) {
			spec.PodReplacementPolicy = new(batchv1.Failed)
			spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
				{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}},
				{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{9}}},
			}}
		}
		if s.chance(3) {
			j.Annotations = map[string]string{AnnotationBaseDelay: "1s", AnnotationMaxDelay: "8s", AnnotationSkipWaiting: "true", AnnotationIgnoredDelay: "Own"}
		}
		if s.chance(6) {
			s.note("fault: no room for a memory", 1)
			leaveRoom(j, s.IntN(150))
		}
	}))
}

func (s *sim) trouble() {
	pods := s.server.pods()
	var pod *corev1.Pod
	if len(pods) > 0 {
		pod = pods[s.IntN(len(pods))]
	}
	s.collectGarbage()
	switch n := s.IntN(40); {
	case n == 0:
		s.kill()
		s.note("fault: controller killed", 1)
		time.Sleep(time.Duration(s.IntN(3000)) * time.Millisecond)
		s.begin()
	case n == 1:
		quota := 0
		if s.chance(3) {
			quota = 5 + s.IntN(8)
		}
		s.locked(func() { s.quota = quota })
	case n == 2:
		s.someJob(func(j *batchv1.Job) {
			j.Spec.Suspend = new(j.Spec.Suspend == nil || !*j.Spec.Suspend)
			s.records[j.UID].startedOver = true
			if *j.Spec.Suspend {
				s.note("fault: Job suspended", 1)
			} else {
				s.note("fault: Job resumed", 1)
				if s.chance(2) {
					s.note("fault: template changed", 1)
					j.Spec.Template.Spec.NodeSelector = map[string]string{"zone": strconv.Itoa(s.IntN(1000))}
				}
			}
		})
	case n == 3:
		s.someJob(func(j *batchv1.Job) {
			*j.Spec.Parallelism = int32(1 + s.IntN(5))
			s.records[j.UID].startedOver = true
			s.records[j.UID].parallelism = max(s.records[j.UID].parallelism, *j.Spec.Parallelism)
		})
	case n == 4 && s.chance(6):
		if job := s.server.job(fmt.Sprintf("job%d", s.IntN(3))); job != nil {
			s.note("fault: Job removed", 1)
			s.locked(func() { s.records[job.UID].removed = true })
			s.server.removeJob(job.Name)
		}
	case n == 5 && s.chance(6):
		s.someJob(func(j *batchv1.Job) {
			if j.DeletionTimestamp == nil {
				s.note("fault: Job being deleted", 1)
				j.DeletionTimestamp, j.Finalizers = new(metav1.Now()), []string{metav1.FinalizerDeleteDependents}
				j.Generation++
			}
		})
	case pod == nil:
	case n < 8 && pod.DeletionTimestamp == nil && !ended(pod):
		s.note("fault: pod evicted", 1)
		s.server.changePod(pod.Name, func(p *corev1.Pod) {
			p.DeletionTimestamp = new(metav1.Now())
			p.DeletionGracePeriodSeconds = new(int64(30))
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue})
		})
	default:
		code := int32(0)
		if s.chance(2) {
			code = int32(1 + s.IntN(10))
		}
		s.advance(pod, code)
	}
}

// advance takes a pod one step further, as its kubelet does.
func (s *sim) advance(pod *corev1.Pod, code int32) {
	s.server.changePod(pod.Name, func(p *corev1.Pod) {
		switch {
		case p.UID != pod.UID:
		case p.DeletionTimestamp != nil && !ended(p):
			endPod(p, 143)
		case p.DeletionTimestamp != nil && p.Annotations[removable] == "":
			if p.Annotations == nil {
				p.Annotations = map[string]string{}
			}
			p.Annotations[removable] = "true"
		case ended(p):
		case p.Status.Phase == corev1.PodPending:
			p.Status.Phase = corev1.PodRunning
			p.Spec.NodeName = "node"
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
		default:
			if endPod(p, code); code != 0 {
				s.note("fault: pod failed", 1)
			}
		}
	})
}

// collectGarbage deletes the pods of Jobs that are gone or being deleted, and then these
// Jobs.
func (s *sim) collectGarbage() {
	deleting := map[types.UID]string{} // name
	for i := range 3 {
		if job := s.server.job(fmt.Sprintf("job%d", i)); job != nil && job.DeletionTimestamp != nil {
			deleting[job.UID] = job.Name
		}
	}
	pods := s.server.pods()
	for uid, name := range deleting {
		if !slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return controlledBy(p, uid) }) {
			s.locked(func() { s.records[uid].removed = true })
			s.server.removeJob(name)
		}
	}
	for _, pod := range pods {
		ref := metav1.GetControllerOf(pod)
		if ref != nil && pod.DeletionTimestamp == nil && (s.records[ref.UID].removed || deleting[ref.UID] != "") {
			s.server.changePod(pod.Name, func(p *corev1.Pod) {
				p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(metav1.Now()), new(int64(30))
			})
		}
	}
}

func (s *sim) someJob(f func(*batchv1.Job)) {
	if job := s.server.job(fmt.Sprintf("job%d", s.IntN(3))); job != nil && !finished(job) {
		s.server.changeJob(job.Name, f)
	}
}

// allow is the quota: it counts pods that have not ended and those that are held.
func (s *sim) allow(*corev1.Pod) error {
	n := 0
	for _, pod := range s.server.podsLocked() {
		if !ended(pod) || tracked(pod) {
			n++
		}
	}
	if s.quota == 0 || s.calm || n < s.quota {
		return nil
	}
	s.note("fault: quota refused a pod", 1)
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", fmt.Errorf("exceeded quota"))
}

// settle ends the trouble and lets everything succeed until all Jobs have ended.
func (s *sim) settle() {
	s.collect()
	s.locked(func() { s.calm = true })
	if s.chance(2) {
		s.kill()
		s.begin()
	} else {
		f := s.control.faults
		f.mu.Lock()
		f.random, f.lag = nil, nil
		f.mu.Unlock()
	}
	for i := range 3 {
		if job := s.server.job(fmt.Sprintf("job%d", i)); job != nil && !finished(job) {
			s.server.changeJob(job.Name, func(j *batchv1.Job) { j.Spec.Suspend = nil })
		}
	}
	for range 5000 {
		time.Sleep(time.Second)
		s.collectGarbage()
		if s.done() {
			time.Sleep(10 * time.Second)
			synctest.Wait()
			return
		}
		for _, pod := range s.server.pods() {
			s.advance(pod, 0)
		}
	}
	for i := range 3 {
		if job := s.server.job(fmt.Sprintf("job%d", i)); job != nil && !finished(job) {
			s.Errorf("%s does not end: %+v, spec %+v", job.Name, job.Status, job.Spec)
		}
	}
	for _, pod := range s.server.pods() {
		s.Logf("pod %s %s %v %v", pod.Name, pod.Status.Phase, pod.DeletionTimestamp, pod.Finalizers)
	}
}

func (s *sim) done() bool {
	for i := range 3 {
		if job := s.server.job(fmt.Sprintf("job%d", i)); job != nil && !finished(job) {
			return false
		}
	}
	for _, pod := range s.server.pods() {
		if tracked(pod) || pod.DeletionTimestamp != nil {
			return false
		}
	}
	return true
}
