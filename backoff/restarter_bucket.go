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
	slack := multiplyDuration(interval, max(burst, 1)-1)
	return &bucket{pace: pace{interval: interval, slack: slack, most: int(min(math.MaxInt64/interval, math.MaxInt))}, spent: math.MinInt64}
}

// book gives out the first instant at or after from. Its work does not grow with the
// queue, but for the queue's logarithm.
func (b *bucket) book(now, from time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass(now)
	at, _ := b.pace.firstFrom(b.booked, from, b.spent, math.MaxInt64) // behind the last there is room
	b.booked = b.pace.insert(b.booked, b.newTurn(at))
	return at
}

// cancel takes back a booked instant. One that has passed stays used.
func (b *bucket) cancel(now, at time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass(now)
	rest, one := b.pace.remove(b.booked, at)
	if b.booked = rest; one != nil {
		b.drop(one)
	}
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
