package backoff

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// Started records that run carries out the pending restart of key. From then on,
// Remaining is 0 and Due no longer yields key. Started
// is a no-op unless a restart is pending and run is 0 or greater than the last exit's
// Run. Store the Restarter afterward; otherwise, Due yields the restart again after a
// crash.
func (r *Restarter[K]) Started(key K, run int64) {
	shard, hash, _, _ := r.lock(key)
	defer shard.mu.Unlock()
	h, ok := lookup(shard, hash, key)
	if ok && h.pending() && (run == 0 || run > h.last.Run) {
		h.started = true
		r.waiters.wake(key)
	}
}

// Due yields every restart that was decided but not Started, soonest first, including
// those still waiting at now; see Decision.Remaining. Pass the clock's time as now.
// Call Due after loading a state, because a crash may have prevented restarts already
// decided. GC forgets them like other keys. The sequence is a snapshot; the loop may use
// the Restarter.
func (r *Restarter[K]) Due(now time.Time) iter.Seq2[K, Decision] {
	return func(yield func(K, Decision) bool) {
		type restart struct {
			key      K
			decision Decision
		}
		var due []restart
		for key := range r.keys.keys() {
			if d, ok := r.pending(key); ok {
				due = append(due, restart{key, d})
			}
		}
		slices.SortStableFunc(due, func(a, b restart) int {
			return cmp.Or(cmp.Compare(a.decision.Remaining(now), b.decision.Remaining(now)), a.decision.NotBefore.Compare(b.decision.NotBefore))
		})
		for _, one := range due {
			if !yield(one.key, one.decision) {
				return
			}
		}
	}
}

// pending returns the decision about key if its restart is pending. NotBefore is
// corrected if the clock was set since.
func (r *Restarter[K]) pending(key K) (d Decision, ok bool) {
	shard, hash, clockTime, now := r.lock(key)
	defer shard.mu.Unlock()
	h, ok := lookup(shard, hash, key)
	if !ok || !h.pending() {
		return Decision{}, false
	}
	d = h.decision
	if left := h.remaining(now); left > 0 {
		d.NotBefore = clockTime.Round(0).Add(left)
	} else {
		d.NotBefore = earlier(d.NotBefore, clockTime.Round(0))
	}
	return d, true
}

// Start takes a turn under Rate for a start of key that is not a restart, such as its
// first, and returns the time until that turn, or 0 without a Rate. Call it once for each
// such start. If a restart is pending, Start returns Remaining. A restored restart whose
// wait was already over has no turn; Start gives it one.
func (r *Restarter[K]) Start(key K) time.Duration {
	shard, hash, clockTime, now := r.lock(key)
	defer shard.mu.Unlock()
	if h, ok := lookup(shard, hash, key); ok && h.pending() {
		if !h.booked {
			h.due = max(h.due, now)
			r.book(h, h.last.finished(clockTime), clockTime, now)
		}
		return h.remaining(now)
	}
	if r.bucket == nil {
		return 0
	}
	return max(subtract(r.bucket.book(now, now), now), 0)
}
