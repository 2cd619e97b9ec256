// Package statuscache has a cache of statuses whose writes are ordered by the time of
// their observation (KEP-3386, "Pod Status update in the Cache"). Late answers and
// replayed events take nothing back, and a reader can wait for a status newer than a
// moment of its own, such as its last write. The keys can be pods, custom resources or
// anything else comparable. Make a [Cache] with [New].
package statuscache

import (
	"errors"
	"hash/maphash"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// ErrClosed is the error of a wait that Close ended.
var ErrClosed = errors.New("statuscache: closed")

// Cache maps keys to their latest observed status. A write carries the local
// time of its observation and loses against anything newer, so late answers,
// replayed events and writes for deleted keys cannot take knowledge back
// (KEP-3386, "Pod Status update in the Cache").
//
// Beside the entries stands one global time: everything is known as of it,
// absent keys as absent. *Newer* always means strictly After.
//
// It holds at every moment that
//
//  1. what is known of a key never gets older: Get's Modified never decreases;
//  2. a present entry was written with a time newer than the entry, or the
//     tombstone and the global time, that it replaced (AcceptEqual: or equal
//     to the entry's);
//  3. a deleted key stays absent for every write stamped at or before its
//     deletion;
//  4. no wait that could be answered is left waiting;
//  5. tombstones are newer than the global time.
//
// All times are local: they come from the Clock of the same process. A time more
// than 292 years after the Cache was made counts as 292 years after. A time more
// than 292 years before counts as no time, and a write stamped so is refused; on
// the real clock the zero time is such a time.
//
// The zero value is not usable; start with New. A Cache is safe for
// concurrent use by multiple goroutines.
type Cache[K comparable, S any] struct {
	clock clock.WithTicker
	equal bool
	skew  time.Duration // negative: no check
	merge func(old, new S) S
	epoch time.Time // instants count from here

	// Readers take no lock for these; they are written under mu.
	nodes   table[K, S]  // present keys and tombstones
	global  atomic.Int64 // the instant as of which everything is known
	present atomic.Int64 // the number of present keys

	done chan struct{} // closed by Close

	mu       sync.Mutex
	closed   bool
	latest   instant        // the newest reading of the clock
	deleted  map[K]struct{} // keys with a tombstone, and some that are present again
	waits    waits[K]
	watchers map[*watcher[K]]struct{}
	counts   Counts
}

// Options are the settings of a Cache. The zero value is the KEP's cache
// on the real clock.
type Options[S any] struct {
	// Clock is the cache's and its Generator's; nil is the real one. It must
	// not go backwards; the real one does not, thanks to Go's monotonic reading.
	Clock clock.WithTicker
	// AcceptEqual accepts a write stamped exactly like the entry, as the
	// kubelet's code does; without it only newer ones, as the KEP has it.
	AcceptEqual bool
	// MaxSkew is how far ahead of Clock a write, deletion or global time may be
	// stamped; later ones are refused and counted. 0 means 1 minute; a negative
	// MaxSkew allows any.
	MaxSkew time.Duration
	// Merge returns the status to store when a newer status of a key replaces an
	// older one, so that it can keep what a newer observation must not take back.
	// old is the status of the last write without an error. A write with an error
	// is stored as it is. With a nil Merge new replaces old. Merge runs under the
	// cache's lock and must not call the cache.
	Merge func(old, new S) S
}

// Counts are what a Cache refused since it was made, and what it remembers.
type Counts struct {
	Stale         uint64 // writes that lost against newer knowledge
	Skewed        uint64 // times that were too far ahead of the clock
	Resurrections uint64 // of Stale, those of a deleted key
	Tombstones    int    // deletions that are remembered
}

// New returns an empty cache.
func New[K comparable, S any](o Options[S]) *Cache[K, S] {
	c := &Cache[K, S]{
		clock:    o.Clock,
		equal:    o.AcceptEqual,
		skew:     o.MaxSkew,
		merge:    o.Merge,
		done:     make(chan struct{}),
		waits:    waits[K]{byKey: map[K]*waiter[K]{}, began: make(chan struct{}, 1)},
		deleted:  map[K]struct{}{},
		watchers: map[*watcher[K]]struct{}{},
	}
	if c.clock == nil {
		c.clock = clock.RealClock{}
	}
	if c.skew == 0 {
		c.skew = time.Minute
	}
	c.nodes.init()
	c.epoch = c.clock.Now()
	c.global.Store(int64(never))
	return c
}

// Set stores status, or the error of an inspection, as observed at the local
// time at, and reports whether it did. It refuses, and counts, a write if the
// entry is newer, or as new without AcceptEqual; if the key is absent and its
// deletion or the global time is as new or newer; if at is later than the clock by
// more than MaxSkew; and if at is no time, as the zero time is on the real clock.
// After Close it refuses every write.
func (c *Cache[K, S]) Set(key K, status S, err error, at time.Time) (updated bool) {
	freed, updated := c.write(key, status, err, at, false)
	freed.wake()
	return updated
}

// SetInOrder is Set for a single writer of key, whose writes follow one another even
// within one reading of the clock: a time equal to the entry's will do.
func (c *Cache[K, S]) SetInOrder(key K, status S, err error, at time.Time) (updated bool) {
	freed, updated := c.write(key, status, err, at, true)
	freed.wake()
	return updated
}

// write is Set, and with inOrder SetInOrder. It returns the waiters to wake.
func (c *Cache[K, S]) write(key K, status S, err error, at time.Time, inOrder bool) (freed *waiter[K], updated bool) {
	v := &version[S]{entry: Entry[S]{status, err, at, true}, at: c.instant(at)}
	c.mu.Lock()
	defer c.mu.Unlock() // Merge may panic
	if c.closed || c.skewed(v.at) {
		return nil, false
	}
	old := c.last(key)
	if earliest := c.earliestWrite(old); v.at < earliest || v.at == earliest && (earliest == never || !inOrder && !(c.equal && old.present())) {
		c.counts.Stale++
		if old != nil && !old.entry.Present {
			c.counts.Resurrections++
		}
		return nil, false
	}
	if c.merge != nil {
		v.merge(old, c.merge)
	}
	if !old.present() {
		c.present.Add(1)
	}
	return c.put(key, v), true
}

// last returns the last write or deletion of key that counts, or nil.
func (c *Cache[K, S]) last(key K) *version[S] {
	if n := c.nodes.find(key); n != nil {
		return n.last.Load()
	}
	return nil
}

// earliestWrite is the earliest time of a write that may replace old; a write at
// that very time may only if equal times are accepted.
func (c *Cache[K, S]) earliestWrite(old *version[S]) instant {
	if old.present() {
		return old.at
	}
	return max(c.globalTime(), old.when())
}

// put stores v, which is not older than what is known of key, and returns the
// waiters that it frees.
func (c *Cache[K, S]) put(key K, v *version[S]) *waiter[K] {
	if n := c.nodes.find(key); n != nil {
		n.last.Store(v)
	} else {
		c.nodes.add(key, v)
	}
	for w := range c.watchers {
		w.mark(key, v.entry.Present)
	}
	return c.waits.written(key, max(v.at, c.globalTime()))
}

// skewed reports, and counts, a time too far ahead of the clock. The clock is
// read only when the newest reading does not already clear it.
func (c *Cache[K, S]) skewed(at instant) bool {
	if c.skew < 0 || !c.ahead(at) {
		return false
	}
	c.latest = c.instant(c.clock.Now())
	if !c.ahead(at) {
		return false
	}
	c.counts.Skewed++
	return true
}

// ahead reports whether at is later than latest by more than skew; the
// difference of two instants fits a uint64 only.
func (c *Cache[K, S]) ahead(at instant) bool {
	return at > c.latest && uint64(at)-uint64(c.latest) > uint64(c.skew)
}

// Get returns what is known of key. Whoever wants what is newer than a time now or
// not at all compares Modified with it; GetNewerThan waits for it.
func (c *Cache[K, S]) Get(key K) Entry[S] {
	v, global := c.lookup(key)
	if v != nil && v.at >= global {
		return v.entry // all in registers, as it mostly goes
	}
	return c.entry(v, global)
}

// lookup returns the last version of key, nil if there is none, and the global
// time of that moment, without a lock. It starts over if the global time moved in
// between: the version could be older than that, or gone because of it.
func (c *Cache[K, S]) lookup(key K) (v *version[S], global instant) {
	hash := maphash.Comparable(c.nodes.seed, key)
	for {
		global, v = c.globalTime(), nil
		if n := c.nodes.findHash(key, hash); n != nil {
			v = n.last.Load()
		}
		if c.globalTime() == global {
			return v, global
		}
	}
}

// globalTime is the instant as of which everything is known.
func (c *Cache[K, S]) globalTime() instant { return instant(c.global.Load()) }

// instant returns t on the cache's axis, by the monotonic clock if t has it.
func (c *Cache[K, S]) instant(t time.Time) instant { return instant(t.Sub(c.epoch)) }

// time is the inverse of instant.
func (c *Cache[K, S]) time(i instant) time.Time { return c.epoch.Add(time.Duration(i)) }

// entry is what v says under a global time.
func (c *Cache[K, S]) entry(v *version[S], global instant) (e Entry[S]) {
	if v != nil {
		e = v.entry
	}
	if global > v.when() {
		e.Modified = c.time(global)
	}
	return e
}

// Delete makes key absent as of at and reports whether key is absent then: true
// also if it was absent before, false if its entry is newer than at. Until the
// global time reaches at, the cache remembers the deletion as a tombstone: no
// write stamped at or before at brings the key back. Like Set, Delete refuses a
// time that is too far ahead or no time, and everything after Close.
func (c *Cache[K, S]) Delete(key K, at time.Time) bool {
	i := c.instant(at)
	var freed *waiter[K]
	defer func() { freed.wake() }() // after the unlock
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || i == never || c.skewed(i) {
		return false
	}
	old := c.last(key)
	if old.present() {
		if old.at > i {
			return false
		}
		c.present.Add(-1)
	} else if i <= max(c.globalTime(), old.when()) {
		return true // known to be absent as of a later time
	}
	freed = c.put(key, &version[S]{entry: Entry[S]{Modified: at}, at: i})
	c.keepTombstone(key)
	return true
}

// SetObservedTime notes that the entry of key still holds at the local time at, and
// reports whether it did: false if key is absent, if what is known is as new or newer,
// or if Set would refuse the time. It ends waits for knowledge of that age, and is no
// change for Watch. It is for the writer of the entry: a write between the look and
// SetObservedTime would be confirmed in place of what was seen.
func (c *Cache[K, S]) SetObservedTime(key K, at time.Time) bool {
	i := c.instant(at)
	var freed *waiter[K]
	defer func() { freed.wake() }() // after the unlock
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.last(key)
	if c.closed || !old.present() || i <= max(old.at, c.globalTime()) || c.skewed(i) {
		return false
	}
	v := *old
	v.entry.Modified, v.at = at, i
	c.nodes.find(key).last.Store(&v)
	freed = c.waits.written(key, i)
	return true
}

// keepTombstone keeps the tombstone of key, if key has one, until the global time
// is as new: from then on that refuses what the tombstone would.
func (c *Cache[K, S]) keepTombstone(key K) {
	v := c.last(key)
	switch {
	case v.present():
		delete(c.deleted, key)
	case v.at > c.globalTime():
		c.deleted[key] = struct{}{}
	default:
		delete(c.deleted, key)
		c.nodes.remove(key)
	}
}

// UpdateTime sets the global time: a full relist that began at the local time at
// has ended, so everything is known as of at. An earlier time than the last one
// changes nothing. UpdateTime forgets the tombstones up to at and wakes the
// waiters that it answers, a hundred at a time, outside the lock.
func (c *Cache[K, S]) UpdateTime(at time.Time) {
	i := c.instant(at)
	c.mu.Lock()
	if c.closed || i <= c.globalTime() || c.skewed(i) {
		c.mu.Unlock()
		return
	}
	c.global.Store(int64(i))
	if deleted := c.deleted; len(deleted) > 0 {
		c.deleted = map[K]struct{}{} // a map never shrinks, and a walk over it takes as long as it was ever large
		for key := range deleted {
			c.keepTombstone(key)
		}
	}
	for {
		freed, more := c.waits.upTo(i)
		c.mu.Unlock()
		freed.wake()
		if !more {
			return
		}
		// If thousands became ready at once, everybody else would wait behind them
		// for milliseconds.
		runtime.Gosched()
		c.mu.Lock()
	}
}

// All yields the present entries, in no order. It holds no lock while it
// yields: entries written meanwhile may appear as they were or as they are.
func (c *Cache[K, S]) All() iter.Seq2[K, Entry[S]] {
	return func(yield func(K, Entry[S]) bool) {
		for key := range c.Keys() {
			if e := c.Get(key); e.Present && !yield(key, e) {
				return
			}
		}
	}
}

// Keys yields the keys that are present, in no order and without a lock.
func (c *Cache[K, S]) Keys() iter.Seq[K] {
	return func(yield func(K) bool) {
		for n := range c.nodes.all() {
			if n.last.Load().entry.Present && !yield(n.key) {
				return
			}
		}
	}
}

// Len returns the number of present entries.
func (c *Cache[K, S]) Len() int { return int(c.present.Load()) }

// Close ends every wait with ErrClosed, and every Watch loop once it has yielded
// what is pending. The cache refuses later writes and still answers reads. A
// second Close does nothing.
func (c *Cache[K, S]) Close() {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.done)
	}
	freed := c.waits.all()
	c.mu.Unlock()
	freed.wake()
}

// Counts returns the refusals so far and the number of tombstones.
func (c *Cache[K, S]) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.counts
	counts.Tombstones = len(c.deleted)
	return counts
}

// Clock returns the clock of the options, or the real one.
func (c *Cache[K, S]) Clock() clock.WithTicker { return c.clock }

// Done returns a channel that Close closes.
func (c *Cache[K, S]) Done() <-chan struct{} { return c.done }

// WaitBegan returns a channel that holds a token after the first of the current waits
// began. Its receiver is to call Overdue.
func (c *Cache[K, S]) WaitBegan() <-chan struct{} { return c.waits.began }
