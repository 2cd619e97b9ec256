package bench

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/util/flowcontrol"

	"github.com/restartkit/restart/backoff"
)

// keyed are the methods that a Tracker shares with client-go's flowcontrol.Backoff.
type keyed interface {
	Next(key string, event time.Time)
	Get(key string) time.Duration
	IsInBackOffSince(key string, event time.Time) bool
}

func newTracker() *backoff.Tracker[string] {
	return must(backoff.NewTracker[string](backoff.CrashLoop(), backoff.TrackerOptions{}))
}

func newClientGo() *flowcontrol.Backoff {
	return flowcontrol.NewBackOff(backoff.CrashLoop().Initial, backoff.CrashLoop().Max)
}

// backoffs are the two implementations, which follow the kubelet's curve.
var backoffs = []struct {
	impl string
	new  func() keyed
}{
	{"restart", func() keyed { return newTracker() }},
	{"client-go", func() keyed { return newClientGo() }},
}

// failAll counts one failure of every key.
func failAll(k keyed, keys []string, event time.Time) {
	for _, key := range keys {
		k.Next(key, event)
	}
}

func BenchmarkNext(b *testing.B) {
	benchmarkCalls(b, func(k keyed, key string, event time.Time) { k.Next(key, event) })
}

func BenchmarkGet(b *testing.B) {
	benchmarkCalls(b, func(k keyed, key string, _ time.Time) { k.Get(key) })
}

func BenchmarkIsInBackOffSince(b *testing.B) {
	benchmarkCalls(b, func(k keyed, key string, event time.Time) { k.IsInBackOffSince(key, event) })
}

// benchmarkCalls measures call with keys that have all failed just now, and with two
// goroutines only where they seldom meet in a key.
func benchmarkCalls(b *testing.B, call func(k keyed, key string, event time.Time)) {
	for _, n := range []int{1, 100, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			keys := podKeys[string](n)
			inRandomOrder := shuffled(keys)
			event := time.Now()
			for _, impl := range backoffs {
				k := impl.new()
				failAll(k, keys, event)
				for goroutines := 1; goroutines <= 2; goroutines++ {
					if goroutines > 1 && n < 10_000 {
						continue
					}
					b.Run(fmt.Sprintf("goroutines=%d/impl=%s", goroutines, impl.impl), func(b *testing.B) {
						callEach(b, goroutines, inRandomOrder, func(key string) { call(k, key, event) })
					})
				}
			}
		})
	}
}

// BenchmarkKeyMemory measures the heap per key without the text of the keys. Tables grow
// in steps, at sizes that differ between the two, so it takes the mean over sizes up to
// twice the smallest.
func BenchmarkKeyMemory(b *testing.B) {
	keys := podKeys[string](190_000)
	event := time.Now()
	for _, impl := range backoffs {
		b.Run("impl="+impl.impl, func(b *testing.B) {
			reportHeap(b, "key", func() (any, int) {
				var all []keyed
				units := 0
				for n := 100_000; n <= len(keys); n += 10_000 {
					k := impl.new()
					failAll(k, keys[:n], event)
					all = append(all, k)
					units += n
				}
				return all, units
			})
		})
	}
}

// BenchmarkStallDuringGC measures how long a collection that finds nothing to drop holds
// up a caller.
func BenchmarkStallDuringGC(b *testing.B) {
	const n = 1_000_000
	keys := podKeys[string](n)
	inRandomOrder := shuffled(keys)
	caller := func(k keyed) func() {
		event := time.Now()
		failAll(k, keys, event)
		i := 0
		return func() {
			k.IsInBackOffSince(inRandomOrder[i], event)
			i = (i + 1) % n
		}
	}
	b.Run("keys=1000000/impl=restart", func(b *testing.B) {
		t := newTracker()
		reportStall(b, caller(t), func() { t.GC() })
	})
	b.Run("keys=1000000/impl=client-go", func(b *testing.B) {
		t := newClientGo()
		reportStall(b, caller(t), t.GC)
	})
}

// BenchmarkExited measures a whole decision about a restart, without rules, beside a
// Tracker that only counts the failure.
func BenchmarkExited(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		keys := podKeys[string](n)
		inRandomOrder := shuffled(keys)
		b.Run(fmt.Sprintf("keys=%d/impl=restart", n), func(b *testing.B) {
			r := must(backoff.NewRestarter(backoff.ExitPolicy{}, backoff.RestarterOptions[string]{}))
			finished := time.Now()
			exit := backoff.Exit{Code: 1, Reason: "Error", Started: finished.Add(-5 * time.Second), Finished: finished}
			for range 3 {
				exit.Run++
				for _, key := range keys {
					r.Exited(key, backoff.ExitPolicy{}, exit)
				}
			}
			callEach(b, 1, inRandomOrder, func(key string) {
				exit.Run++
				r.Exited(key, backoff.ExitPolicy{}, exit)
			})
		})
		b.Run(fmt.Sprintf("keys=%d/impl=Tracker.Next", n), func(b *testing.B) {
			t := newTracker()
			event := time.Now()
			failAll(t, keys, event)
			callEach(b, 1, inRandomOrder, func(key string) { t.Next(key, event) })
		})
	}
}
