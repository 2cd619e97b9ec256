package backoff

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// bucket is a token bucket whose tokens can be booked ahead. It gives each restart
// the first instant that keeps to the rate; a restart that is decided later may get
// an earlier one. Instants are steady times.
//
// Invariants: (1) any n instants given out, first to last, satisfy n <=
// (last-first)/interval + burst; (2) booked are turns in order.
type bucket struct {
	mu     sync.Mutex
	pace   pace
	spent  time.Duration // until then the instants that have passed use up the bucket
	booked *turn         // instants that have not passed yet
	unused *turn         // turns to be used again, each the left of the one before
	kept   int           // how many those are
}

// maxUnused is how many turns a bucket keeps for later ones, so that the next restart of
// a key allocates nothing.
const maxUnused = 1000

// newBucket returns a full bucket of burst restarts, refilled at rate per second.
func newBucket(rate float64, burst int) *bucket {
	interval := time.Duration(math.MaxInt64)
	if ns := math.Ceil(float64(time.Second) / rate); ns < math.MaxInt64 {
		interval = time.Duration(ns)
	}
	return &bucket{pace: pace{interval: interval, slack: multiplyDuration(interval, max(burst, 1)-1)}, spent: math.MinInt64}
}

// book gives out the first instant at or after from. Its work does not grow with the
// queue, but for the queue's logarithm.
func (b *bucket) book(now, from time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass(now)
	before, after := b.pace.split(b.booked, from)
	spent := b.pace.after(b.spent, before.all())
	at := max(from, add(spent, -b.pace.slack))
	if !b.pace.room(max(spent, from), after.all().latest) {
		at, _ = b.pace.firstTurn(after, spent, math.MaxInt64)
	}
	earlier, later := b.pace.split(after, at)
	b.booked = b.pace.join(before, b.pace.join(earlier, b.pace.join(b.newTurn(at), later)))
	return at
}

// cancel takes back a booked instant. One that has passed stays used.
func (b *bucket) cancel(now, at time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass(now)
	before, rest := b.pace.split(b.booked, at)
	those, after := b.pace.split(rest, add(at, 1))
	if those != nil {
		one := those
		those = b.pace.join(one.left, one.right)
		b.drop(one)
	}
	b.booked = b.pace.join(before, b.pace.join(those, after))
}

// pass uses up what was booked up to now.
func (b *bucket) pass(now time.Duration) {
	if first := b.booked.first(); first == nil || first.at > now {
		return
	}
	passed, rest := b.pace.split(b.booked, add(now, 1))
	b.spent = b.pace.after(b.spent, passed.all())
	b.booked = rest
	b.dropAll(passed)
}

// newTurn returns a turn at an instant.
func (b *bucket) newTurn(at time.Duration) *turn {
	t := b.unused
	if t == nil {
		t = &turn{}
	} else {
		b.unused = t.left
		b.kept--
	}
	*t = turn{at: at, rank: rand.Uint32()}
	b.pace.sum(t)
	return t
}

func (b *bucket) drop(t *turn) {
	if b.kept < maxUnused {
		*t = turn{left: b.unused}
		b.unused = t
		b.kept++
	}
}

func (b *bucket) dropAll(t *turn) {
	if t != nil {
		left, right := t.left, t.right
		b.dropAll(left)
		b.drop(t)
		b.dropAll(right)
	}
}

// moveOrigin makes every instant less.
func (b *bucket) moveOrigin(by time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = subtract(b.spent, by)
	b.pace.moveOrigin(b.booked, by)
}
