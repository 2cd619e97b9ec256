package backoff

import (
	"math"
	"slices"
	"sort"
	"sync"
	"time"
)

// rate is a token bucket whose tokens are booked ahead. It gives each start the first
// free slot that keeps to the rate, so a start decided later may get an earlier
// slot. Slots are times of a clock that never goes back.
//
// Invariants: (1) any n slots, first to last, satisfy n <= (last-first)/interval + burst;
// (2) booked is in order.
type rate struct {
	interval time.Duration // between starts in the long run; > 0
	slack    time.Duration // how far a burst may run ahead: (burst-1) * interval

	mu         sync.Mutex
	wall       time.Time       // the latest reading of the clock
	steady     time.Duration   // the time of the slots that belongs to it
	emptyUntil time.Duration   // the slots that have passed leave the bucket empty until then
	booked     []time.Duration // slots to come
	latest     []time.Duration // see book; kept to be used again
}

// newRate returns a full bucket of burst starts, refilled at perSecond.
func newRate(perSecond float64, burst int, now time.Time) *rate {
	interval := time.Duration(math.MaxInt64)
	if ns := math.Ceil(float64(time.Second) / perSecond); ns < math.MaxInt64 {
		interval = time.Duration(ns)
	}
	return &rate{
		interval:   interval,
		slack:      multiplyDuration(interval, max(burst, 1)-1),
		wall:       now,
		emptyUntil: math.MinInt64,
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
	emptyUntil := r.emptyUntil
	for _, at := range r.booked[:first] {
		emptyUntil = r.after(emptyUntil, at)
	}
	// If the bucket is empty until latest[i] or less, slot first+i and those behind it keep to
	// the rate. For one start per 10s without a burst, and slots at 30s and 35s:
	//
	//	slot    30s  35s    35s may be reached with the bucket empty until 35s,
	//	latest  25s  35s    and 30s until 25s, because it empties it for 10s more
	//
	// A new slot fits between two slots if the bucket is empty no longer than latest behind it.
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
		slot = max(from, subtract(emptyUntil, r.slack))
		if i == len(behind) || slot <= behind[i] && r.after(emptyUntil, slot) <= r.latest[i] {
			r.booked = slices.Insert(r.booked, first+i, slot)
			return slot, subtract(slot, steady)
		}
		emptyUntil, from = r.after(emptyUntil, behind[i]), behind[i]
	}
}

// until returns the time from now until a slot, at least 0.
func (r *rate) until(now time.Time, slot time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(subtract(slot, r.pass(now)), 0)
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
// Monotonic readings go back only if a caller read the clock before another one and got the
// lock after it; such a reading changes nothing. If a clock without them is set back, steady
// time goes on from where it was. If it is set ahead by more than a day, steady time goes on
// for a day, or until the last slot has passed and the bucket is full. So it does not
// overflow, however often the clock is set.
func (r *rate) pass(now time.Time) time.Duration {
	ahead := now.Sub(r.wall)
	if monotonic := now != now.Round(0); ahead > 0 || !monotonic {
		r.wall = now
	}
	ahead = max(ahead, 0)
	if ahead > day {
		full := r.emptyUntil
		for _, at := range r.booked {
			full = r.after(full, at)
		}
		ahead = min(ahead, max(subtract(full, r.steady), day))
	}
	r.steady = add(r.steady, ahead)
	passed := sort.Search(len(r.booked), func(i int) bool { return r.booked[i] > r.steady })
	for _, at := range r.booked[:passed] {
		r.emptyUntil = r.after(r.emptyUntil, at)
	}
	r.booked = slices.Delete(r.booked, 0, passed)
	return r.steady
}

const day = 24 * time.Hour

// after returns until when the bucket is empty once a slot is taken, if it was empty until
// emptyUntil before.
func (r *rate) after(emptyUntil, slot time.Duration) time.Duration {
	return add(max(emptyUntil, slot), r.interval)
}
