package bench

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	kubeletpleg "k8s.io/kubernetes/pkg/kubelet/pleg"
	"k8s.io/utils/clock"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/statuscache"
)

// nodePods is how many pods of two containers the node has.
const nodePods = 1000

type podStatus = kubecontainer.PodStatus

func newCache() *statuscache.Cache[types.UID, *podStatus] {
	return statuscache.New[types.UID](statuscache.Options[*podStatus]{})
}

// writable are the methods that both caches have.
type writable interface {
	Set(pod types.UID, status *podStatus, err error, at time.Time) bool
	UpdateTime(at time.Time)
}

// ourCache is a statuscache.Cache with the method that only a Generator calls.
type ourCache struct {
	*statuscache.Cache[types.UID, *podStatus]
}

func (c ourCache) UpdateTime(at time.Time) { c.Writer().UpdateTime(at) }

// writeAll writes the status of every pod.
func writeAll(c writable, pods []types.UID, at time.Time) {
	for _, pod := range pods {
		c.Set(pod, &podStatus{ID: pod}, nil, at)
	}
}

// BenchmarkRelist measures a relist that finds no change.
func BenchmarkRelist(b *testing.B) {
	name := fmt.Sprintf("pods=%d", nodePods)
	b.Run(name+"/impl=restart", func(b *testing.B) {
		g := must(pleg.NewGenerator(newQuietRuntime(), newCache(), pleg.GeneratorOptions[types.UID]{}))
		relist := func() {
			if err := g.Relist(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
		relist() // finds every pod
		relist() // finds that they are unchanged
		b.ReportAllocs()
		for b.Loop() {
			relist()
		}
	})
	b.Run(name+"/impl=kubelet", func(b *testing.B) {
		events := make(chan *kubeletpleg.PodLifecycleEvent, 2*nodePods)
		period := &kubeletpleg.RelistDuration{RelistPeriod: time.Second, RelistThreshold: 3 * time.Minute}
		g := kubeletpleg.NewGenericPLEG(newQuietKubeletRuntime(), events, period, kubecontainer.NewCache(), clock.RealClock{}).(*kubeletpleg.GenericPLEG)
		g.Relist(context.Background()) // finds every pod
		b.ReportAllocs()
		for b.Loop() {
			g.Relist(context.Background())
		}
	})
}

// BenchmarkEvent measures an event up to the end of the inspection that it asks for, while the
// stream is relied upon. Events of different pods come one after the other. Compare fifty
// of them with a relist, which without a stream comes every second.
func BenchmarkEvent(b *testing.B) {
	b.Run(fmt.Sprintf("pods=%d/impl=restart", nodePods), func(b *testing.B) {
		rt := &eventedRuntime{quietRuntime: newQuietRuntime(), looked: make(chan struct{}, 1), opened: make(chan struct{})}
		g := must(pleg.NewGenerator(rt, newCache(), pleg.GeneratorOptions[types.UID]{Stream: rt, RelistPeriod: time.Millisecond}))
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- g.Run(ctx) }()
		<-rt.opened
		for !g.Stats().Streaming {
			time.Sleep(time.Millisecond)
		}
		rt.counting.Store(true)
		next := 0
		b.ReportAllocs()
		for b.Loop() {
			pod := rt.pods[next%nodePods]
			next++
			rt.handle(pleg.RuntimeEvent[types.UID]{Pod: pod.ID, Container: pod.Containers[0].ID, Type: pleg.RuntimeEventStarted})
			<-rt.looked
		}
		cancel()
		<-ended
	})
}

// eventedRuntime is a quietRuntime with a stream, whose inspections can be waited for.
type eventedRuntime struct {
	quietRuntime
	handle   func(pleg.RuntimeEvent[types.UID])
	opened   chan struct{}
	counting atomic.Bool
	looked   chan struct{}
}

func (r *eventedRuntime) Events(ctx context.Context, handle func(pleg.RuntimeEvent[types.UID])) error {
	r.handle = handle
	close(r.opened)
	<-ctx.Done()
	return ctx.Err()
}

func (r *eventedRuntime) Pod(ctx context.Context, id types.UID) (pleg.Pod[types.UID], *podStatus, error) {
	if r.counting.Load() {
		defer func() { r.looked <- struct{}{} }()
	}
	return r.quietRuntime.Pod(ctx, id)
}

// BenchmarkSecond measures the CPU time of a second in which nothing changes, or in which 25
// containers are replaced by others, which are 50 events: with a stream, and with a list every
// second. The operations last a second each, so choose their number, as in -benchtime 10x.
func BenchmarkSecond(b *testing.B) {
	for _, changes := range []int{0, 25} {
		name := fmt.Sprintf("pods=%d/changes=%d", nodePods, changes)
		b.Run(name+"/impl=stream", func(b *testing.B) { benchmarkSecond(b, changes, true) })
		b.Run(name+"/impl=lists", func(b *testing.B) { benchmarkSecond(b, changes, false) })
	}
}

func benchmarkSecond(b *testing.B, changes int, streams bool) {
	rt := &changingRuntime{quietRuntime: newQuietRuntime(), opened: make(chan struct{})}
	o := pleg.GeneratorOptions[types.UID]{RelistPeriod: time.Second}
	if streams {
		o.Stream = rt
	}
	g := must(pleg.NewGenerator(rt, newCache(), o))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	for g.Stats().Relists == 0 || streams && !g.Stats().Streaming {
		time.Sleep(time.Millisecond)
	}
	if streams {
		<-rt.opened
	}
	before := cpuTime()
	for b.Loop() {
		for range max(1, changes) {
			time.Sleep(time.Second / time.Duration(max(1, changes)))
			if changes > 0 {
				rt.change()
			}
		}
	}
	b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
	cancel()
	<-ended
}

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// changingRuntime is a quietRuntime whose containers are replaced, with a stream of events.
type changingRuntime struct {
	quietRuntime
	mu      sync.Mutex
	changes int
	opened  chan struct{}
	handle  func(pleg.RuntimeEvent[types.UID]) // set when opened is closed
}

// change replaces a container of the next pod.
func (r *changingRuntime) change() {
	r.mu.Lock()
	pod := &r.pods[r.changes%nodePods]
	old, now := pod.Containers[1].ID, containerID(nodePods+r.changes, 1)
	pod.Containers = []pleg.Container{pod.Containers[0], {ID: now, State: pleg.StateRunning}}
	id := pod.ID
	r.changes++
	r.mu.Unlock()
	if r.handle != nil {
		r.handle(pleg.RuntimeEvent[types.UID]{Pod: id, Container: old, Type: pleg.RuntimeEventDeleted})
		r.handle(pleg.RuntimeEvent[types.UID]{Pod: id, Container: now, Type: pleg.RuntimeEventStarted})
	}
}

func (r *changingRuntime) Events(ctx context.Context, handle func(pleg.RuntimeEvent[types.UID])) error {
	r.handle = handle
	close(r.opened)
	<-ctx.Done()
	return ctx.Err()
}

func (r *changingRuntime) Pods(context.Context) ([]pleg.Pod[types.UID], error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.pods), nil
}

func (r *changingRuntime) Pod(ctx context.Context, id types.UID) (pleg.Pod[types.UID], *podStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quietRuntime.Pod(ctx, id)
}

// BenchmarkCacheGet measures a lookup by one reader and by two.
func BenchmarkCacheGet(b *testing.B) {
	pods := podKeys[types.UID](nodePods)
	inRandomOrder := shuffled(pods)
	ours, theirs := newCache(), kubecontainer.NewCache()
	writeAll(ourCache{ours}, pods, time.Now())
	writeAll(theirs, pods, time.Now())
	for goroutines := 1; goroutines <= 2; goroutines++ {
		name := fmt.Sprintf("pods=%d/goroutines=%d", nodePods, goroutines)
		b.Run(name+"/impl=restart", func(b *testing.B) {
			callEach(b, goroutines, inRandomOrder, func(pod types.UID) { ours.Get(pod) })
		})
		b.Run(name+"/impl=kubelet", func(b *testing.B) {
			callEach(b, goroutines, inRandomOrder, func(pod types.UID) { _, _ = theirs.Get(pod) })
		})
	}
}

// BenchmarkWake measures a global time that ends a hundred waits, up to the last answer,
// while ten thousand other waits go on.
func BenchmarkWake(b *testing.B) {
	const name = "ready=100/others=10000"
	b.Run(name+"/impl=restart", func(b *testing.B) {
		cache := newCache()
		benchmarkWake(b, ourCache{cache}, func(pod types.UID, min time.Time) {
			must(cache.GetNewerThan(context.Background(), pod, min))
		})
	})
	b.Run(name+"/impl=kubelet", func(b *testing.B) {
		cache := kubecontainer.NewCache()
		benchmarkWake(b, cache, func(pod types.UID, min time.Time) {
			must(cache.GetNewerThan(pod, min))
		})
	})
}

func benchmarkWake(b *testing.B, cache writable, wait func(pod types.UID, min time.Time)) {
	const (
		ready  = 100
		others = 10_000
		later  = 30 * time.Second // less than a cache allows its times to be ahead of the clock
	)
	pods := podKeys[types.UID](others)
	now := time.Now()
	writeAll(cache, pods, now)

	// start starts a wait of each pod and returns once all of them have begun.
	start := func(waits *sync.WaitGroup, pods []types.UID, min time.Time) {
		before := blockedGoroutines()
		for _, pod := range pods {
			waits.Go(func() { wait(pod, min) })
		}
		deadline := time.Now().Add(time.Second) // because the count is approximate
		for blockedGoroutines() < before+uint64(len(pods)) && time.Now().Before(deadline) {
			runtime.Gosched()
		}
	}
	var notReady sync.WaitGroup
	end := now.Add(later)
	start(&notReady, pods, end)

	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		var woken sync.WaitGroup
		start(&woken, pods[:ready], now)
		now = now.Add(1)
		b.StartTimer()
		cache.UpdateTime(now)
		woken.Wait()
	}
	cache.UpdateTime(end.Add(1))
	notReady.Wait()
}

// blockedGoroutines returns about how many goroutines wait for something.
func blockedGoroutines() uint64 {
	sample := []metrics.Sample{{Name: "/sched/goroutines/waiting:goroutines"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// containerID returns an ID as long as a real one.
func containerID(pod, container int) string { return fmt.Sprintf("%064x", 2*pod+container) }

// quietRuntime lists the same running containers each time.
type quietRuntime struct {
	pods  []pleg.Pod[types.UID]
	place map[types.UID]int
}

func newQuietRuntime() quietRuntime {
	r := quietRuntime{place: map[types.UID]int{}}
	for i, id := range podKeys[types.UID](nodePods) {
		r.place[id] = i
		r.pods = append(r.pods, pleg.Pod[types.UID]{ID: id, Containers: []pleg.Container{
			{ID: containerID(i, 0), State: pleg.StateRunning},
			{ID: containerID(i, 1), State: pleg.StateRunning},
		}})
	}
	return r
}

func (r quietRuntime) Pods(context.Context) ([]pleg.Pod[types.UID], error) { return r.pods, nil }

func (r quietRuntime) Pod(_ context.Context, id types.UID) (pleg.Pod[types.UID], *podStatus, error) {
	return r.pods[r.place[id]], &podStatus{ID: id}, nil
}

// quietKubeletRuntime is a quietRuntime for the kubelet. A relist needs no other methods.
type quietKubeletRuntime struct {
	kubecontainer.Runtime
	pods []*kubecontainer.Pod
}

func newQuietKubeletRuntime() quietKubeletRuntime {
	var r quietKubeletRuntime
	for i, id := range podKeys[types.UID](nodePods) {
		pod := &kubecontainer.Pod{ID: id, Name: "pod-" + strconv.Itoa(i), Namespace: "default"}
		for c := range 2 {
			pod.Containers = append(pod.Containers, &kubecontainer.Container{
				ID:    kubecontainer.ContainerID{Type: "containerd", ID: containerID(i, c)},
				State: kubecontainer.ContainerStateRunning,
			})
		}
		r.pods = append(r.pods, pod)
	}
	return r
}

func (r quietKubeletRuntime) GetPods(context.Context, bool) ([]*kubecontainer.Pod, error) {
	return r.pods, nil
}

func (r quietKubeletRuntime) GetPodStatus(_ context.Context, pod *kubecontainer.Pod) (*podStatus, error) {
	return &podStatus{ID: pod.ID}, nil
}
