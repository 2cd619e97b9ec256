package backoff

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"
)

// bucket is a token bucket whose tokens can be booked ahead. It gives each restart
// the first instant that keeps to the rate; a restart that is decided later may get
// an earlier one. Instants are steady times.
//
// Invariants: (1) any n instants given out, first to last, satisfy n <=
// (last-first)/interval + burst; (2) booked is sorted, and spent and latest of each
// follow from those before and after it.
type bucket struct {
	interval time.Duration // between restarts in the long run; > 0
	slack    time.Duration // how far a burst may run ahead: (burst-1) * interval

	mu     sync.Mutex
	spent  time.Duration // until then the instants that have passed use up the bucket
	booked []booking     // instants that have not passed yet
}

// booking is one instant given out. One more fits before it and behind the others,
// at an instant t, if spent <= t+slack, t <= latest+slack and spent <= latest+slack:
// t is late enough for those before, early enough for those after, and between them
// there is room for one.
type booking struct {
	at     time.Duration
	spent  time.Duration // until when those before it use up the bucket
	latest time.Duration // from when those after it, and it, leave an interval free
}

// newBucket returns a full bucket of burst restarts, refilled at rate per second.
func newBucket(rate float64, burst int) *bucket {
	interval := time.Duration(math.MaxInt64)
	if ns := math.Ceil(float64(time.Second) / rate); ns < math.MaxInt64 {
		interval = time.Duration(ns)
	}
	return &bucket{interval: interval, slack: multiplyDuration(interval, max(burst, 1)-1), spent: math.MinInt64}
}

// book gives out the first instant at or after from. It looks at what is booked
// from then on: one after the other where the rate is used up, so it takes time in
// proportion to the queue, 0.3 ms for 100,000.
func (b *bucket) book(now, from time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass(now)
	i := b.search(from)
	for ; i < len(b.booked); i++ {
		next := &b.booked[i]
		if add(next.spent, -b.slack) > next.latest {
			continue // the rate is used up around here
		}
		if at := b.soonest(i, from); at <= next.at && at <= add(next.latest, b.slack) {
			return b.insert(i, at)
		}
	}
	return b.insert(i, b.soonest(i, from))
}

// soonest is the first instant at or after from that the bookings before the i-th
// allow one more behind them.
func (b *bucket) soonest(i int, from time.Duration) time.Duration {
	at := max(from, add(b.spentBefore(i), -b.slack))
	if i > 0 {
		at = max(at, b.booked[i-1].at)
	}
	return at
}

// search returns the index of the first booking at or after an instant.
func (b *bucket) search(at time.Duration) int {
	i, _ := slices.BinarySearchFunc(b.booked, at, func(k booking, at time.Duration) int { return cmp.Compare(k.at, at) })
	return i
}

// spentBefore is until when the bookings before the i-th use up the bucket.
func (b *bucket) spentBefore(i int) time.Duration {
	if i == 0 {
		return b.spent
	}
	return add(max(b.booked[i-1].spent, b.booked[i-1].at), b.interval)
}

func (b *bucket) insert(i int, at time.Duration) time.Duration {
	b.booked = slices.Insert(b.booked, i, booking{at: at, spent: b.spentBefore(i)})
	b.settle(i+1, i)
	return at
}

// settle works out spent from the i-th booking on and latest from the j-th back,
// as far as they change.
func (b *bucket) settle(i, j int) {
	for ; i < len(b.booked); i++ {
		spent := b.spentBefore(i)
		if b.booked[i].spent == spent {
			break
		}
		b.booked[i].spent = spent
	}
	for first := j; j >= 0; j-- {
		latest := time.Duration(math.MaxInt64)
		if j+1 < len(b.booked) {
			latest = b.booked[j+1].latest
		}
		latest = add(min(latest, b.booked[j].at), -b.interval)
		if j < first && b.booked[j].latest == latest {
			break
		}
		b.booked[j].latest = latest
	}
}

// cancel takes back a booked instant. One that has passed stays used.
func (b *bucket) cancel(now, at time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass(now)
	if i := b.search(at); i < len(b.booked) && b.booked[i].at == at {
		b.booked = slices.Delete(b.booked, i, i+1)
		b.settle(i, i-1)
	}
}

// pass uses up what was booked up to now.
func (b *bucket) pass(now time.Duration) {
	n := 0
	for n < len(b.booked) && b.booked[n].at <= now {
		n++
	}
	b.spent = b.spentBefore(n)
	b.booked = slices.Delete(b.booked, 0, n)
}

// moveOrigin makes every instant less.
func (b *bucket) moveOrigin(by time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = subtract(b.spent, by)
	for i := range b.booked {
		k := &b.booked[i]
		k.at, k.spent, k.latest = subtract(k.at, by), subtract(k.spent, by), subtract(k.latest, by)
	}
}
