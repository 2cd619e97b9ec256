package backoff

import (
	"math"
	"slices"
	"sort"
	"sync"
	"time"
)

// rate is a token bucket whose tokens are booked ahead. It gives each start the first
// free slot that keeps to the rate, so a start that is decided later may get an earlier
// slot. Slots are times of a clock that never goes back.
//
// Invariants: (1) any n slots, first to last, satisfy n <= (last-first)/interval + burst;
// (2) booked is in order.
type rate struct {
	interval time.Duration // between starts in the long run; > 0
	slack    time.Duration // how far a burst may run ahead: (burst-1) * interval

	mu     sync.Mutex
	wall   time.Time       // the latest reading of the clock
	steady time.Duration   // the time of the slots that belongs to it
	spent  time.Duration   // the slots that have passed use up the bucket until then
	booked []time.Duration // slots to come
	latest []time.Duration // see book; kept to be used again
}

// newRate returns a full bucket of burst starts, refilled at perSecond.
func newRate(perSecond float64, burst int, now time.Time) *rate {
	interval := time.Duration(math.MaxInt64)
	if ns := math.Ceil(float64(time.Second) / perSecond); ns < math.MaxInt64 {
		interval = time.Duration(ns)
	}
	return &rate{
		interval: interval,
		slack:    multiplyDuration(interval, max(burst, 1)-1),
		wall:     now,
		spent:    math.MinInt64,
	}
}

// book gives out the first free slot at or after now + wait, and returns it with the time
// from now until then.
func (r *rate) book(now time.Time, wait time.Duration) (slot, until time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	steady := r.pass(now)
	from := add(steady, max(wait, 0))
	first := sort.Search(len(r.booked), func(i int) bool { return r.booked[i] > from })
	spent := r.spent
	for _, at := range r.booked[:first] {
		spent = r.after(spent, at)
	}
	// latest[i] is until when the bucket may be used up for booked[first+i] and those after
	// it to keep to the rate.
	behind := r.booked[first:]
	r.latest = append(r.latest[:0], make([]time.Duration, len(behind))...)
	least := time.Duration(math.MaxInt64)
	for i := len(behind) - 1; i >= 0; i-- {
		if least != math.MaxInt64 {
			least = subtract(least, r.interval)
		}
		least = min(least, add(behind[i], r.slack))
		r.latest[i] = least
	}
	for i := 0; ; i++ {
		slot = max(from, subtract(spent, r.slack))
		if i == len(behind) || slot <= behind[i] && r.after(spent, slot) <= r.latest[i] {
			r.booked = slices.Insert(r.booked, first+i, slot)
			return slot, subtract(slot, steady)
		}
		spent, from = r.after(spent, behind[i]), behind[i]
	}
}

// cancel frees a slot. One that has passed stays used.
func (r *rate) cancel(now time.Time, slot time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pass(now)
	if i, found := slices.BinarySearch(r.booked, slot); found {
		r.booked = slices.Delete(r.booked, i, i+1)
	}
}

// pass advances the steady time to a reading of the clock and uses up the slots until
// then.
//
// If the clock is set back, steady time goes on from where it was. Of a jump ahead, it
// takes at most a day, or else until the last slot has passed and the bucket is full, so
// that no number of jumps to and fro makes it overflow.
func (r *rate) pass(now time.Time) time.Duration {
	ahead := max(now.Sub(r.wall), 0)
	r.wall = now
	if ahead > day {
		full := r.spent
		for _, at := range r.booked {
			full = r.after(full, at)
		}
		ahead = min(ahead, max(subtract(full, r.steady), day))
	}
	r.steady = add(r.steady, ahead)
	passed := sort.Search(len(r.booked), func(i int) bool { return r.booked[i] > r.steady })
	for _, at := range r.booked[:passed] {
		r.spent = r.after(r.spent, at)
	}
	r.booked = slices.Delete(r.booked, 0, passed)
	return r.steady
}

const day = 24 * time.Hour

// after returns until when the bucket is used up after a slot, given until when before it.
func (r *rate) after(spent, slot time.Duration) time.Duration {
	return add(max(spent, slot), r.interval)
}
