package peers

import (
	"fmt"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/peers/bench"
)

const clientGo = "client-go"

// backoffRows are the rows of package backoff, measured against client-go's
// flowcontrol.Backoff. Both follow the kubelet's curve and read the real clock,
// where nothing else is said.
func backoffRows() []bench.Row {
	var rows []bench.Row
	for _, size := range []struct {
		keys  int
		name  string
		next  float64 // goal for Next
		reads string  // why reading misses its goals, where it does
	}{
		{1, "1 key", 0.95, readNote},
		{10_000, "10k keys", 0.9, cachedNote},
		{1_000_000, "1M keys", 0.7, memoryNote},
	} {
		rows = append(rows, nextRows(size.keys, size.name, size.next)...)
		rows = append(rows, readRows(size.keys, size.name, size.reads)...)
	}
	rows = append(rows, mixRow())
	rows = append(rows, keyMemoryRows()...)
	rows = append(rows, collectionRows()...)
	return append(rows, exitedRow(1, "1 key"), exitedRow(10_000, "10k keys"))
}

// Why goals are missed, and what was tried.
const (
	nextNote      = "Where the entry is in a cache the time is reading the clock and three locked instructions, which claim, write and release an entry so that readers need no lock; client-go's lock takes two and lets it write plainly. A lock and a version per part of the table instead took seven, and a fifth more time at one key. With a million keys both sides seem to wait for memory; that was not profiled."
	contendedNote = "Two goroutines that record failures of one and the same key hand its cache line back and forth at every step, where a lock puts one of them to sleep. Trying again at once, after a pause and after a growing pause came to the same."
	readNote      = "Half of it is reading the clock, which both sides do alike. The rest is a hash, the part of the table, its tags and the slot, each found through the one before, against an uncontended lock and a map of one key. Slots that hold their whole hash, without tags, saved a tenth at one key, but are slower at 10,000 and take more memory."
	cachedNote    = "A hash, the part of the table, its tags and the slot, each found through the one before: about what client-go's lock and map take, now a little more and now a little less."
	stallNote     = "Collecting holds a part's lock, which no reader takes, and a busy neighbour that collects nothing has stalls of about a millisecond in some runs as well: probably the scheduler's. That was not traced."
	memoryNote    = "With a million keys client-go's readers get in each other's way little: two are nearly twice as fast as one, and so are ours. One design was measured."
	exitedNote    = "A record holds the exit and the decision whole, in four cache lines, and its reading of the wall clock is the dearer one; that 10,000 of them fit the caches less well than the entries of Next is a guess from their size. Nothing else was tried."
)

// curve is the policy that both sides follow.
func curve() backoff.Policy { return backoff.CrashLoop() }

type (
	tracker      = *backoff.Tracker[string]
	theirTracker = *flowcontrol.Backoff
)

// newTracker is ours.
func newTracker(o backoff.Options) tracker {
	return must(backoff.NewTracker[string](curve(), o))
}

// newBackoff is theirs.
func newBackoff() theirTracker { return flowcontrol.NewBackOff(curve().Initial, curve().Max) }

// keyed is what both sides have in common.
type keyed interface {
	Next(key string, event time.Time)
	Get(key string) time.Duration
	IsInBackOffSince(key string, event time.Time) bool
}

// podKeys are n keys of the length of a pod's UID.
func podKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("0f8fad5b-d9cb-469f-a165-%012x", i*7919)
	}
	return keys
}

// cursor walks round a ring of keys in strides that leave no locality.
type cursor struct {
	keys     []string
	at, step int
}

// cursors are one cursor for each of two goroutines, half a ring apart.
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

// keyedCandidate measures op on a backoff of so many keys, each of which has
// failed just now.
func keyedCandidate[B keyed](name string, goroutines, keys int, create func() B, op func(b B, key string, event time.Time, i int)) bench.Candidate {
	return bench.Parallel(name, goroutines, func(short bool) func(g, n int) {
		names := podKeys(shorter(short, keys))
		walk := cursors(names)
		event := time.Now()
		b := filled(create(), names, event)
		return func(g, n int) {
			c := walk[g] // a copy: the goroutines' cursors share a cache line
			for i := range n {
				op(b, c.next(), event, i)
			}
			walk[g] = c
		}
	})
}

// shorter is the size to use: a tenth of large ones under -short.
func shorter(short bool, n int) int {
	if short && n > 100_000 {
		return n / 10
	}
	return n
}

// oursOf and theirsOf measure the same operation on both sides.
func oursOf(name string, goroutines, keys int, op func(b tracker, key string, event time.Time, i int)) bench.Candidate {
	return keyedCandidate(name, goroutines, keys, func() tracker { return newTracker(backoff.Options{}) }, op)
}

func theirsOf(goroutines, keys int, op func(b theirTracker, key string, event time.Time, i int)) bench.Candidate {
	return keyedCandidate(clientGo, goroutines, keys, newBackoff, op)
}

// The operations measured, of ours and of theirs.
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

// nextRows measure one more failure, with one goroutine and two.
func nextRows(keys int, size string, goal float64) []bench.Row {
	row := func(goroutines int, name, note string) bench.Row {
		return bench.Row{
			Package: "backoff",
			Name:    name,
			Note:    note,
			Candidates: []bench.Candidate{
				oursOf(ours, goroutines, keys, nextOp),
				theirsOf(goroutines, keys, nextOp),
			},
			Goals: []bench.Goal{bench.Ratio(clientGo, goal), bench.Allocs(0)},
		}
	}
	together := nextNote
	if keys == 1 {
		together = contendedNote
	}
	return []bench.Row{row(1, "Next, "+size, nextNote), row(2, "Next, "+size+", 2 goroutines", together)}
}

// readRows measure the questions, with one goroutine and two. For Remaining
// client-go has no call; it is measured against the look-up and the clock reading
// of IsInBackOffSince.
func readRows(keys int, size, note string) []bench.Row {
	const serial = "ours, 1 goroutine"
	var rows []bench.Row
	for _, read := range []struct {
		name   string
		ours   func(tracker, string, time.Time, int)
		theirs func(theirTracker, string, time.Time, int)
	}{
		{"Get", getOp[tracker], getOp[theirTracker]},
		{"Remaining", remainingOp, sinceOp[theirTracker]},
		{"IsInBackOffSince", sinceOp[tracker], sinceOp[theirTracker]},
	} {
		rows = append(rows, bench.Row{
			Package: "backoff",
			Name:    read.name + ", " + size,
			Note:    note,
			Candidates: []bench.Candidate{
				oursOf(ours, 1, keys, read.ours),
				theirsOf(1, keys, read.theirs),
			},
			Goals: []bench.Goal{bench.Ratio(clientGo, 1), bench.Allocs(0)},
		}, bench.Row{
			Package: "backoff",
			Name:    read.name + ", " + size + ", 2 goroutines",
			Note:    note,
			Candidates: []bench.Candidate{
				oursOf(ours, 2, keys, read.ours),
				theirsOf(2, keys, read.theirs),
				oursOf(serial, 1, keys, read.ours),
			},
			Goals: []bench.Goal{bench.Ratio(clientGo, 0.6), bench.Ratio(serial, 1)},
		})
	}
	return rows
}

// mixRow measures what a busy node does: it asks often and fails sometimes.
func mixRow() bench.Row {
	const keys = 10_000
	return bench.Row{
		Package: "backoff",
		Name:    "90 % IsInBackOffSince, 10 % Next, 10k keys, 2 goroutines",
		Candidates: []bench.Candidate{
			oursOf(ours, 2, keys, mixOp),
			theirsOf(2, keys, mixOp),
		},
		Goals: []bench.Goal{bench.Ratio(clientGo, 0.6), bench.Allocs(0)},
	}
}

// keyMemoryRows measure the heap per key, the keys' own text left out, and what
// is left of it once every key has expired and was collected.
func keyMemoryRows() []bench.Row {
	held := func(keys int, name string) bench.Row {
		return bench.Row{
			Package: "backoff",
			Name:    "memory per key, " + name,
			Candidates: []bench.Candidate{
				bench.Heap(ours, func(short bool) func() (any, int) {
					names := podKeys(shorter(short, keys))
					return func() (any, int) {
						return filled(newTracker(backoff.Options{}), names, time.Now()), len(names)
					}
				}),
				bench.Heap(clientGo, func(short bool) func() (any, int) {
					names := podKeys(shorter(short, keys))
					return func() (any, int) { return filled(newBackoff(), names, time.Now()), len(names) }
				}),
			},
			Goals:  []bench.Goal{bench.Ratio(clientGo, 1)},
			Rounds: 5,
		}
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
					t := filled(newTracker(backoff.Options{Clock: clock}), names, clock.Now())
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
	return []bench.Row{held(900_000, "0.9M keys"), held(peak, "1M keys"), expired}
}

// filled is b after one failure of every key.
func filled[B keyed](b B, keys []string, event time.Time) B {
	for _, key := range keys {
		b.Next(key, event)
	}
	return b
}

// collectionRows measure how long a collection of 1M keys holds up a concurrent
// caller, when it finds nothing to drop and when it drops all. The idle candidate
// shows what the machine itself does to a caller meanwhile.
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
					t := filled(newTracker(backoff.Options{Clock: clock}), names, clock.Now())
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
			Goals:  []bench.Goal{bench.AtMost(1e6)},
			Rounds: 7,
		}
	}
	return []bench.Row{row("nothing expired", time.Minute), row("everything expired", time.Hour)}
}

// caller asks for one key after the other.
func caller[B keyed](b B, keys []string) func() {
	c := cursors(keys)[0]
	event := time.Unix(1e9, 0)
	return func() { b.IsInBackOffSince(c.next(), event) }
}

// exitedRow measures a whole restart decision against the bare count of a failure.
func exitedRow(keys int, size string) bench.Row {
	const next = "our Next"
	exited := bench.Time(ours, func(bool) func(n int) {
		names := podKeys(keys)
		r := must(backoff.NewRestarter(curve(), backoff.RestarterOptions[string]{}))
		c := cursors(names)[0]
		always := backoff.ContainerPolicy{RestartPolicy: backoff.RestartPolicyAlways}
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
		Goals:      []bench.Goal{bench.Ratio(next, 2), bench.Allocs(0)},
	}
}
