package backoff

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// bucket is a token bucket whose tokens can be booked ahead. It gives each restart the
// first free instant that keeps to the rate, so a restart decided later may get an
// earlier instant. Instants are steady times.
//
// Invariants: (1) any n instants given out, first to last, satisfy n <=
// (last-first)/interval + burst; (2) booked holds turns in order.
type bucket struct {
	mu     sync.Mutex
	pace   pace
	spent  time.Duration // until when past instants use up the bucket
	booked *turn         // future instants
	unused *turn         // turns for reuse, linked by left
	kept   int           // number of unused turns
}

// maxUnused is the maximum number of turns kept for reuse, so that the next restart of
// a key does not allocate.
const maxUnused = 1000

// newBucket returns a full bucket of burst restarts, refilled at rate per second.
func newBucket(rate float64, burst int) *bucket {
	interval := time.Duration(math.MaxInt64)
	if ns := math.Ceil(float64(time.Second) / rate); ns < math.MaxInt64 {
		interval = time.Duration(ns)
	}
	slack := multiplyDuration(interval, max(burst, 1)-1)
	return &bucket{pace: pace{interval: interval, slack: slack, most: int(min(math.MaxInt64/interval, math.MaxInt))}, spent: math.MinInt64}
}

// book gives out the first free instant at or after from, in time logarithmic in the
// length of the queue.
func (b *bucket) book(now, from time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass(now)
	at, _ := b.pace.firstFrom(b.booked, from, b.spent, math.MaxInt64) // the last turn has room behind it
	b.booked = b.pace.insert(b.booked, b.newTurn(at))
	return at
}

// cancel frees a booked instant. An instant in the past stays used.
func (b *bucket) cancel(now, at time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass(now)
	rest, one := b.pace.remove(b.booked, at)
	if b.booked = rest; one != nil {
		b.drop(one)
	}
}

// pass uses up the instants booked up to now.
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

// moveOrigin subtracts by from every instant.
func (b *bucket) moveOrigin(by time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = subtract(b.spent, by)
	b.pace.moveOrigin(b.booked, by)
}
