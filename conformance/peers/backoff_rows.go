package peers

import (
	"fmt"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/conformance/peers/bench"
)

const clientGo = "client-go"

// backoffRows returns the rows of package backoff, measured against client-go's
// flowcontrol.Backoff and, for Retry, against cenkalti/backoff and avast/retry-go. Unless noted otherwise, both follow the kubelet's curve and read
// the real clock.
func backoffRows() []bench.Row {
	var rows []bench.Row
	for _, size := range []struct {
		keys int
		name string
	}{
		{1, "1 key"}, // without a goal, because this measures the clock more than the store
		{100, "100 keys"},
		{10_000, "10k keys"},
		{1_000_000, "1M keys"},
	} {
		rows = append(rows, callRows(size.keys, size.name)...)
	}
	rows = append(rows, mixRow())
	rows = append(rows, keyMemoryRows()...)
	rows = append(rows, collectionRows()...)
	rows = append(rows, exitedRow(1, "1 key", 2.5), exitedRow(10_000, "10k keys", 4))
	return append(rows, retryRows()...)
}

// Notes on missed goals, including attempts.
const (
	callNote   = "With few keys all memory is in the processor's caches, and most of a call is reading the clock, on both sides. Ours also places the event on the monotonic scale, so that setting the wall clock changes no answer."
	getNote    = "Both hash the key, take a lock and look the key up. Ours chooses a shard by the hash, so that other keys are not held up, and the hash is not the map's own."
	lockNote   = "The limit is the lock: a call often finds it in the cache of the other processor. A lock-free table was faster with two goroutines. It had lost writes, and nobody could argue in a page why another would not; the plain table stays."
	stallNote  = "A shard's lock is held while its keys, 32,000 of a million, are looked at. A busy neighbour that collects nothing holds a caller up for about as long on two processors."
	exitedNote = "A decision names a time, and wall time takes twice as long to read as the monotonic time of Next. A key's state holds its last Exit and Decision, so each call writes several cache lines where Next writes one."
)

// curve returns the policy of both sides.
func curve() backoff.Policy { return backoff.CrashLoop() }

type (
	tracker      = *backoff.Tracker[string]
	theirTracker = *flowcontrol.Backoff
)

// newTracker returns our candidate.
func newTracker(o backoff.TrackerOptions) tracker {
	return must(backoff.NewTracker[string](curve(), o))
}

// newBackoff returns their candidate.
func newBackoff() theirTracker { return flowcontrol.NewBackOff(curve().Initial, curve().Max) }

// keyed is the common API of both sides.
type keyed interface {
	Next(key string, event time.Time)
	Get(key string) time.Duration
	IsInBackOffSince(key string, event time.Time) bool
}

// podKeys returns n keys as long as a pod's UID.
func podKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("0f8fad5b-d9cb-469f-a165-%012x", i*7919)
	}
	return keys
}

// cursor walks round a ring of keys in long strides, so that neighbouring keys do not
// follow one another.
type cursor struct {
	keys     []string
	at, step int
}

// cursors returns cursors for two goroutines, half a ring apart.
func cursors(keys []string) [2]cursor {
	const stride = 611_953 // a prime, so that every key has its turn
	step := stride % len(keys)
	return [2]cursor{{keys, 0, step}, {keys, len(keys) / 2, step}}
}

func (c *cursor) next() string {
	c.at += c.step
	if c.at >= len(c.keys) {
		c.at -= len(c.keys)
	}
	return c.keys[c.at]
}

// keyedCandidate measures op on a backoff in which every key has just failed.
func keyedCandidate[B keyed](name string, goroutines, keys int, create func() B, op func(b B, key string, event time.Time, i int)) bench.Candidate {
	return bench.Parallel(name, goroutines, func(short bool) func(g, n int) {
		names := podKeys(shorter(short, keys))
		walk := cursors(names)
		event := time.Now()
		b := filled(create(), names, event)
		return func(g, n int) {
			c := walk[g] // a copy, because the goroutines' cursors share a cache line
			for i := range n {
				op(b, c.next(), event, i)
			}
			walk[g] = c
		}
	})
}

// shorter returns n, or a tenth of a large n with -short.
func shorter(short bool, n int) int {
	if short && n > 100_000 {
		return n / 10
	}
	return n
}

// oursOf and theirsOf measure the same operation on both sides.
func oursOf(name string, goroutines, keys int, op func(b tracker, key string, event time.Time, i int)) bench.Candidate {
	return keyedCandidate(name, goroutines, keys, func() tracker { return newTracker(backoff.TrackerOptions{}) }, op)
}

func theirsOf(goroutines, keys int, op func(b theirTracker, key string, event time.Time, i int)) bench.Candidate {
	return keyedCandidate(clientGo, goroutines, keys, newBackoff, op)
}

// The operations measured on both sides.
func nextOp[B keyed](b B, key string, event time.Time, _ int) { b.Next(key, event) }
func getOp[B keyed](b B, key string, _ time.Time, _ int)      { b.Get(key) }
func sinceOp[B keyed](b B, key string, event time.Time, _ int) {
	b.IsInBackOffSince(key, event)
}
func mixOp[B keyed](b B, key string, event time.Time, i int) {
	if i%10 == 9 {
		b.Next(key, event)
	} else {
		b.IsInBackOffSince(key, event)
	}
}
func remainingOp(b tracker, key string, event time.Time, _ int) {
	b.Remaining(key, event)
}

// callRows measures each call with one goroutine and, where goroutines seldom meet in
// one key, with two. client-go has no Remaining; ours is measured against the look-up
// and the clock reading of IsInBackOffSince.
func callRows(keys int, size string) []bench.Row {
	var rows []bench.Row
	for _, call := range []struct {
		name     string
		note     string       // for one goroutine
		one, two limitsBySize // of restated goals, for one goroutine and for two
		ours     func(tracker, string, time.Time, int)
		theirs   func(theirTracker, string, time.Time, int)
	}{
		{"Next", callNote, limitsBySize{100: 1.15}, nil, nextOp[tracker], nextOp[theirTracker]},
		{"Get", getNote, limitsBySize{100: 1.3, 10_000: 1.15}, limitsBySize{10_000: 1.1, 1_000_000: 1}, getOp[tracker], getOp[theirTracker]},
		{"Remaining", callNote, limitsBySize{100: 1.3}, limitsBySize{10_000: 1.1}, remainingOp, sinceOp[theirTracker]},
		{"IsInBackOffSince", callNote, limitsBySize{100: 1.4}, limitsBySize{10_000: 1.1}, sinceOp[tracker], sinceOp[theirTracker]},
	} {
		row := func(goroutines int, name, note string, goals ...bench.Goal) bench.Row {
			return bench.Row{
				Package: "backoff",
				Name:    name,
				Note:    note,
				Candidates: []bench.Candidate{
					oursOf(ours, goroutines, keys, call.ours),
					theirsOf(goroutines, keys, call.theirs),
				},
				Goals: append(goals, bench.Allocs(0)),
			}
		}
		name := call.name + ", " + size
		if keys == 1 {
			rows = append(rows, row(1, name, call.note))
		} else {
			rows = append(rows, row(1, name, call.note, call.one.restate(bench.Ratio(clientGo, 1), keys)))
		}
		if keys >= 10_000 {
			rows = append(rows, row(2, name+", 2 goroutines", lockNote, call.two.restate(bench.Ratio(clientGo, 0.8), keys)))
		}
	}
	return rows
}

// limitsBySize are the limits of restated goals by the number of keys.
type limitsBySize map[int]float64

func (l limitsBySize) restate(g bench.Goal, keys int) bench.Goal {
	if limit, ok := l[keys]; ok {
		return g.Restated(limit)
	}
	return g
}

// mixRow measures the calls of a busy node, which asks often and fails sometimes.
func mixRow() bench.Row {
	const keys = 10_000
	return bench.Row{
		Package: "backoff",
		Name:    "90 % IsInBackOffSince, 10 % Next, 10k keys, 2 goroutines",
		Candidates: []bench.Candidate{
			oursOf(ours, 2, keys, mixOp),
			theirsOf(2, keys, mixOp),
		},
		Goals: []bench.Goal{bench.Ratio(clientGo, 0.8), bench.Allocs(0)},
	}
}

// keyMemoryRows measures the heap per key, without the keys' own text, and the heap
// left once every key has expired and was collected.
func keyMemoryRows() []bench.Row {
	// Each side's tables grow in steps at different sizes, so a single size would only show
	// the steps. Take the mean over sizes up to three times the smallest.
	const fewest, most, step = 500_000, 1_500_000, 100_000
	mean := func(name string, fill func(names []string) any) bench.Candidate {
		return bench.Heap(name, func(short bool) func() (any, int) {
			names := podKeys(shorter(short, most))
			return func() (any, int) {
				var all []any
				units := 0
				for n := fewest; n <= most; n += step {
					n := n * len(names) / most
					all = append(all, fill(names[:n]))
					units += n
				}
				return all, units
			}
		})
	}
	held := bench.Row{
		Package: "backoff",
		Name:    "memory per key, mean over 0.5M, 0.6M … 1.5M keys",
		Candidates: []bench.Candidate{
			mean(ours, func(names []string) any { return filled(newTracker(backoff.TrackerOptions{}), names, time.Now()) }),
			mean(clientGo, func(names []string) any { return filled(newBackoff(), names, time.Now()) }),
		},
		Goals:  []bench.Goal{bench.Ratio(clientGo, 1)},
		Rounds: 3,
	}
	const peak = 1_000_000
	expired := bench.Row{
		Package: "backoff",
		Name:    "memory per former key, after 1M keys expired and were collected",
		Candidates: []bench.Candidate{
			bench.Heap(ours, func(short bool) func() (any, int) {
				names := podKeys(shorter(short, peak))
				return func() (any, int) {
					clock := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
					t := filled(newTracker(backoff.TrackerOptions{Clock: clock}), names, clock.Now())
					clock.SetTime(clock.Now().Add(time.Hour))
					t.GC()
					return t, len(names)
				}
			}),
			bench.Heap(clientGo, func(short bool) func() (any, int) {
				names := podKeys(shorter(short, peak))
				return func() (any, int) {
					clock := clocktesting.NewFakeClock(time.Unix(1e9, 0))
					b := filled(flowcontrol.NewFakeBackOff(curve().Initial, curve().Max, clock), names, clock.Now())
					clock.SetTime(clock.Now().Add(time.Hour))
					b.GC()
					return b, len(names)
				}
			}),
		},
		Goals:  []bench.Goal{bench.Ratio(clientGo, 1), bench.AtMost(4)},
		Rounds: 5,
	}
	return []bench.Row{held, expired}
}

// filled returns b after one failure of every key.
func filled[B keyed](b B, keys []string, event time.Time) B {
	for _, key := range keys {
		b.Next(key, event)
	}
	return b
}

// collectionRows measures how long a collection of 1M keys delays a concurrent caller,
// with nothing to drop and with everything to drop. The idle candidate shows the delays
// caused by the machine itself.
func collectionRows() []bench.Row {
	const (
		keys = 1_000_000
		idle = "nobody, a busy neighbour"
	)
	row := func(name string, passed time.Duration) bench.Row {
		return bench.Row{
			Package: "backoff",
			Name:    "longest stall of a call during GC of 1M keys, " + name,
			Note:    stallNote,
			Candidates: []bench.Candidate{
				bench.Stall(ours, func(short bool) (call, during func()) {
					names := podKeys(shorter(short, keys))
					clock := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
					t := filled(newTracker(backoff.TrackerOptions{Clock: clock}), names, clock.Now())
					clock.SetTime(clock.Now().Add(passed))
					return caller(t, names), func() { t.GC() }
				}),
				bench.Stall(clientGo, func(short bool) (call, during func()) {
					names := podKeys(shorter(short, keys))
					clock := clocktesting.NewFakeClock(time.Unix(1e9, 0))
					b := filled(flowcontrol.NewFakeBackOff(curve().Initial, curve().Max, clock), names, clock.Now())
					clock.SetTime(clock.Now().Add(passed))
					return caller(b, names), b.GC
				}),
				bench.Stall(idle, func(short bool) (call, during func()) {
					names := podKeys(shorter(short, keys))
					b := filled(newBackoff(), names, time.Now())
					return caller(b, names), func() {
						for start := time.Now(); time.Since(start) < 100*time.Millisecond; {
						}
					}
				}),
			},
			Goals:  []bench.Goal{bench.Ratio(clientGo, 1.0/50)},
			Rounds: 7,
		}
	}
	return []bench.Row{row("nothing expired", time.Minute), row("everything expired", time.Hour)}
}

// caller returns a function that asks for one key after the other.
func caller[B keyed](b B, keys []string) func() {
	c := cursors(keys)[0]
	event := time.Unix(1e9, 0)
	return func() { b.IsInBackOffSince(c.next(), event) }
}

// exitedRow measures a whole restart decision against merely counting a failure.
func exitedRow(keys int, size string, limit float64) bench.Row {
	const next = "our Next"
	exited := bench.Time(ours, func(bool) func(n int) {
		names := podKeys(keys)
		r := must(backoff.NewRestarter(curve(), backoff.RestarterOptions[string]{}))
		c := cursors(names)[0]
		always := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyAlways}
		finished := time.Now()
		exit := backoff.Exit{Code: 1, Reason: "Error", Started: finished.Add(-5 * time.Second), Finished: finished}
		for range 3 {
			exit.Run++
			for _, key := range names {
				r.Exited(key, always, exit)
			}
		}
		return func(n int) {
			for range n {
				exit.Run++
				r.Exited(c.next(), always, exit)
			}
		}
	})
	return bench.Row{
		Package:    "backoff",
		Name:       "Restarter.Exited, " + size,
		Note:       exitedNote,
		Candidates: []bench.Candidate{exited, oursOf(next, 1, keys, nextOp)},
		Goals:      []bench.Goal{bench.Ratio(next, 2).Restated(limit), bench.Allocs(0)},
	}
}
