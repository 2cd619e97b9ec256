package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// must returns v and panics on an error, for calls that cannot fail here.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// podKeys returns n keys as long as the UIDs of pods.
func podKeys[K ~string](n int) []K {
	keys := make([]K, n)
	for i := range keys {
		keys[i] = K(fmt.Sprintf("0f8fad5b-d9cb-469f-a165-%012x", i))
	}
	return keys
}

// shuffled returns the keys in random order. Otherwise calls would find the entries of
// neighbouring keys side by side in memory, in the order in which they were allocated.
func shuffled[K any](keys []K) []K {
	keys = slices.Clone(keys)
	rand.New(rand.NewPCG(1, 0)).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

// callEach measures call with one key after the other. Several goroutines share the
// iterations, each beginning at another key, and the time of one operation is the wall
// time divided by the calls of all goroutines.
func callEach[K any](b *testing.B, goroutines int, keys []K, call func(key K)) {
	b.ReportAllocs()
	if goroutines == 1 {
		i := 0
		for b.Loop() {
			call(keys[i])
			if i++; i == len(keys) {
				i = 0
			}
		}
		return
	}
	if runtime.GOMAXPROCS(0) < goroutines {
		b.Skipf("needs GOMAXPROCS=%d", goroutines)
	}
	var running sync.WaitGroup
	b.ResetTimer()
	for g := range goroutines {
		running.Go(func() {
			i := g * len(keys) / goroutines
			for range (b.N + g) / goroutines {
				call(keys[i])
				if i++; i == len(keys) {
					i = 0
				}
			}
		})
	}
	running.Wait()
}

// reportHeap reports how many bytes of the heap hold what build returns, for each of its
// units, in place of the time.
func reportHeap(b *testing.B, unit string, build func() (kept any, units int)) {
	var bytes, units float64
	for b.Loop() {
		before := liveHeap()
		kept, n := build()
		bytes += liveHeap() - before
		units += float64(n)
		runtime.KeepAlive(kept)
	}
	b.ReportMetric(bytes/units, "B/"+unit)
	b.ReportMetric(0, "ns/op") // leaves it out
}

// liveHeap returns the size of all that can be reached on the heap.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC() // sync.Pool keeps its contents for one collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// reportStall reports the longest of the calls made while during runs, in place of the
// time. With several iterations it is the mean of their longest calls.
func reportStall(b *testing.B, call, during func()) {
	runtime.GC() // so that the garbage of the preparations is not collected meanwhile
	var sum time.Duration
	n := 0
	for b.Loop() {
		sum += longestCall(call, during)
		n++
	}
	b.ReportMetric(float64(sum)/float64(n), "stall-ns")
	b.ReportMetric(0, "ns/op") // leaves it out
}

// longestCall calls without a pause while during runs in another goroutine, and returns
// how long the longest call took.
func longestCall(call, during func()) time.Duration {
	const warmUp = 1000
	var stop atomic.Bool
	warm, longest := make(chan struct{}), make(chan time.Duration)
	go func() {
		var worst time.Duration
		for i := 0; !stop.Load(); i++ {
			if i == warmUp {
				worst = 0
				close(warm)
			}
			start := time.Now()
			call()
			worst = max(worst, time.Since(start))
		}
		longest <- worst
	}()
	<-warm
	during()
	stop.Store(true)
	return <-longest
}
