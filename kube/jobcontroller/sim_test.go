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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

var (
	simSeeds = flag.Int("jobcontroller.sims", 8, "simulations to run; 20 or more go on until each fault and check was there")
	simFirst = flag.Uint64("jobcontroller.seed", 11, "seed of the first simulation")
)

// A simulation runs random Jobs for some minutes of virtual time. Requests are refused,
// answers are lost, and the informers of Jobs and pods lag separately. The controller
// is killed, pods fail and are evicted, Jobs are suspended, resumed and removed, and a
// quota refuses pods. Then the trouble ends, every pod succeeds, and each Job must end.
// The server checks every write.
func TestFaultsLoseNoEndAndCountNoneTwice(t *testing.T) { simulate(t, *simSeeds) }

// Eight simulations reach these faults and checks many times, and twenty the others, too.
var (
	simOften = []string{
		"fault: refused", "fault: answer lost", "fault: controller killed", "fault: pod evicted", "fault: pod failed",
		"check: made of the Job as it was seen", "check: status is one that the API server takes", "check: no UID is named again once it is counted",
		"check: released only after its end is recorded", "check: one active pod an index", "check: active at most parallelism",
	}
	simSeldom = []string{
		"fault: Job suspended", "fault: Job resumed", "fault: Job removed", "fault: quota refused a pod", "fault: clock of the next controller is ahead",
		"fault: clock of the next controller is behind", "fault: creation carried out late", "fault: no pod is created for some time", "fault: template changed",
		"fault: Job being deleted", "fault: no room for a memory", "check: nothing comes after the suspension",
		"check: Job ends", "check: no finalizer left", "check: no index ran beyond its limit", "end: Complete", "end: Failed",
	}
)

// simulate runs simulations, from the first seed on. Twenty or more go on until each kind
// of fault and check was there, up to ten times as many.
func simulate(t *testing.T, sims int) {
	table := map[string]int{}
	var wanted []string
	switch {
	case sims >= 20:
		wanted = slices.Concat(simOften, simSeldom)
	case sims >= 8:
		wanted = simOften
	}
	missing := func() []string {
		return slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return table[name] > 0 })
	}
	more := func() bool { return sims >= 20 && !t.Failed() && len(missing()) > 0 }
	for i := 0; i < sims || i < 10*sims && more(); i++ {
		seed := *simFirst + uint64(i)
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newSim(t, seed, table).run() })
		})
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		t.Logf("%-50s %8d", name, table[name])
	}
	if !t.Failed() {
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

	records  map[types.UID]*simRecord  // by Job
	unproven map[types.UID]*corev1.Pod // pods released after they were seen to have ended, with no record: they must have been deleted
	deleted  map[types.UID]bool        // by a controller
}

func newSim(t *testing.T, seed uint64, table map[string]int) *sim {
	s := &sim{
		T: t, Rand: newRandom(seed), server: newAPIServer(), table: table,
		records: map[types.UID]*simRecord{}, unproven: map[types.UID]*corev1.Pod{}, deleted: map[types.UID]bool{},
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

// begin starts a controller, with faults during the trouble.
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

// kill ends the controller like kill -9, so no further request arrives.
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

// settle ends the trouble and lets all pods succeed until all Jobs have ended.
func (s *sim) settle() {
	s.collect()
	s.locked(func() { s.calm = true })
	if s.chance(2) {
		s.kill()
		s.begin()
	} else {
		f := s.control.faults
		f.mu.Lock()
		f.random, f.lag, f.outage = nil, nil, time.Time{}
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
