package bench

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Candidate is one contender of a row, with a name and a way to sample it.
type Candidate struct {
	name  string
	unit  Unit
	start func(o Options) func() sample // once per measurement; then once per round
}

// sample is the result of one candidate in one round.
type sample struct{ value, allocs float64 }

// Time returns a candidate measured in nanoseconds and allocations per operation. setup
// runs once per measurement and returns a function that performs n operations.
func Time(name string, setup func(short bool) func(n int)) Candidate {
	return Parallel(name, 1, func(short bool) func(g, n int) {
		run := setup(short)
		return func(_, n int) { run(n) }
	})
}

// Parallel is like Time with the operations split over goroutines, numbered g from 0
// and performing n each. It divides wall-clock nanoseconds by the operations of all.
func Parallel(name string, goroutines int, setup func(short bool) func(g, n int)) Candidate {
	return Candidate{name, timePerOp, func(o Options) func() sample {
		run := setup(o.Short)
		n := calibrate(goroutines, run, o.sampleTime())
		return func() sample { return timed(goroutines, n, run) }
	}}
}

// Fresh is like Time for operations that consume their data. setup runs before every
// sample of exactly n operations, and cleanUp after it.
func Fresh(name string, n int, setup func(short bool) (run func(n int), cleanUp func())) Candidate {
	return Candidate{name, timePerOp, func(o Options) func() sample {
		return func() sample {
			run, cleanUp := setup(o.Short)
			defer cleanUp()
			return timed(1, n, func(_, n int) { run(n) })
		}
	}}
}

// Heap returns a candidate measured in bytes per unit left on the heap by a garbage
// collection. setup returns build, which makes a number of units and returns a
// reference that keeps them alive. Memory allocated by setup does not count.
func Heap(name string, setup func(short bool) (build func() (keep any, units int))) Candidate {
	return Candidate{name, heapBytes, func(o Options) func() sample {
		build := setup(o.Short)
		return func() sample {
			before := heap()
			keep, units := build()
			after := heap()
			runtime.KeepAlive(keep)
			runtime.KeepAlive(build)
			return sample{value: (float64(after) - float64(before)) / float64(units)}
		}
	}}
}

// Stall returns a candidate measured by its longest single call, while one goroutine
// calls without pause and another runs during. setup runs before every sample.
func Stall(name string, setup func(short bool) (call, during func())) Candidate {
	return Candidate{name, stall, func(o Options) func() sample {
		return func() sample {
			call, during := setup(o.Short)
			runtime.GC()
			return sample{value: float64(longestStall(call, during))}
		}
	}}
}

// Value returns a candidate measured by any other number, in the given unit.
func Value(name string, u Unit, setup func(short bool) func() float64) Candidate {
	return Candidate{name, u, func(o Options) func() sample {
		run := setup(o.Short)
		return func() sample { return sample{value: run()} }
	}}
}

// calibrate returns the number of operations that take about d.
func calibrate(goroutines int, run func(g, n int), d time.Duration) int {
	for n := goroutines; ; {
		took := elapsed(goroutines, n, run)
		if took >= d/2 || n >= 1e9 {
			return max(goroutines, int(float64(n)*float64(d)/float64(max(took, 1))))
		}
		grow := 100.0
		if took > 0 {
			grow = min(grow, max(1.5, 1.2*float64(d)/float64(took)))
		}
		n = int(float64(n)*grow) + 1
	}
}

// timed samples n operations split over goroutines, after a garbage collection.
func timed(goroutines, n int, run func(g, n int)) sample {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	took := elapsed(goroutines, n, run)
	runtime.ReadMemStats(&after)
	done := n / goroutines * goroutines
	return sample{
		value:  float64(took) / float64(done),
		allocs: float64(after.Mallocs-before.Mallocs) / float64(done),
	}
}

// elapsed returns the wall time of n operations split evenly over goroutines.
func elapsed(goroutines, n int, run func(g, n int)) time.Duration {
	if goroutines == 1 {
		start := time.Now()
		run(0, n)
		return time.Since(start)
	}
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	for g := range goroutines {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-gate
			run(g, n/goroutines)
		})
	}
	ready.Wait()
	start := time.Now()
	close(gate)
	done.Wait()
	return time.Since(start)
}

// heap returns the size of the live heap.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // the second empties what pools kept over the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// longestStall calls without pause while during runs, and returns the longest call.
func longestStall(call, during func()) time.Duration {
	const warmUp = 1000
	var stop atomic.Bool
	warm := make(chan struct{})
	longest := make(chan time.Duration)
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
