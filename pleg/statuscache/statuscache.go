// Package statuscache provides a [Cache] of statuses ordered by observation time
// (KEP-3386, "Pod Status update in the Cache"). Late answers, replayed events and
// writes for deleted keys never undo newer writes, and readers can wait for a status
// newer than a time such as their last write.
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

	"github.com/restartkit/restart/internal/cachewriter"
)

// ErrClosed is the error of a wait that Close ended.
var ErrClosed = errors.New("statuscache: closed")

// Cache maps keys to their latest observed status. Each write carries the local time at
// which its observation began and is refused unless it is newer than the key's entry.
// "Newer" always means strictly After. The global time is the start of the last full list:
// as of then, every entry holds and every other key is absent.
//
// At every moment,
//
//  1. knowledge of a key never gets older, so Get's Modified never decreases;
//  2. a present entry was written with a time newer than that of the entry it replaced
//     (or, with AcceptEqual, equal to it), or than the tombstone and the global time;
//  3. a deleted key stays absent for writes stamped at or before its deletion;
//  4. every wait that can be answered ends;
//  5. tombstones are newer than the global time.
//
// All times are local, from the Clock of one process. Those more than 292 years after
// the creation of the Cache count as 292 years after. Those more than 292 years before
// it, including the zero time on the real clock, count as no time.
//
// The zero value is not usable; use New. A Cache is safe for concurrent use.
type Cache[K comparable, S any] struct {
	clock clock.WithTicker
	equal bool
	skew  time.Duration // negative if unchecked
	merge func(old, new S) S
	epoch time.Time // origin of instants

	// Read without a lock, written under mu.
	nodes   table[K, S]  // present keys and tombstones
	global  atomic.Int64 // the global time, as an instant
	present atomic.Int64 // number of present keys

	done chan struct{} // closed by Close

	mu       sync.Mutex
	closed   bool
	latest   instant        // the latest reading of the clock
	deleted  map[K]struct{} // keys with a tombstone, and some present again
	waits    waits[K]
	watchers map[*watcher[K]]struct{}
	counts   cachewriter.Counts
}

// Options are the settings of a Cache. The zero value is the KEP's cache.
type Options[S any] struct {
	// Clock is used by the cache and its Generator, and must not go backwards. Nil
	// means the real clock.
	Clock clock.WithTicker
	// AcceptEqual accepts writes stamped exactly like the entry, as the kubelet does.
	AcceptEqual bool
	// MaxSkew is how far writes, deletions and global times may be ahead of Clock.
	// Later ones are refused and counted. 0 means 1 minute, a negative value no limit.
	MaxSkew time.Duration
	// Merge returns the status to store when new replaces old, for example to keep
	// fields that new lacks. Nil stores new. old is the status of the last write
	// without an error; writes with an error are not merged. Merge must not call the
	// cache.
	Merge func(old, new S) S
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

// Set stores status, or the error of an inspection, as observed at the local time at,
// and reports whether it did. It refuses the write, and counts it, if the entry is
// newer (or equally new, without AcceptEqual); if the key is absent and its deletion or
// the global time is not older than at; or if at is no time or more than MaxSkew ahead
// of the clock.
//
// Take at before asking for the status. A time taken after the answer makes a status
// from before a change appear newer than the change. Set then refuses the change, and
// GetNewerThan returns the outdated status:
//
//	at := time.Now() // or that of Options.Clock
//	status, err := inspect(key)
//	cache.Set(key, status, err, at)
func (c *Cache[K, S]) Set(key K, status S, err error, at time.Time) (updated bool) {
	freed, updated := c.write(key, status, err, at, false)
	freed.wake()
	return updated
}

// setInOrder is like Set but also accepts a time equal to the entry's, for a single
// writer whose writes may share a reading of the clock.
func (c *Cache[K, S]) setInOrder(key K, status S, err error, at time.Time) (updated bool) {
	freed, updated := c.write(key, status, err, at, true)
	freed.wake()
	return updated
}

// write implements Set and, with inOrder, setInOrder. It returns the waiters to wake.
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

// last returns the last accepted write or deletion of key, or nil.
func (c *Cache[K, S]) last(key K) *version[S] {
	if n := c.nodes.find(key); n != nil {
		return n.last.Load()
	}
	return nil
}

// earliestWrite returns the earliest time of a write that may replace old. A write at
// exactly that time may do so only if equal times are accepted.
func (c *Cache[K, S]) earliestWrite(old *version[S]) instant {
	if old.present() {
		return old.at
	}
	return max(c.globalTime(), old.when())
}

// put stores v, which must not be older than key's version, and returns the waiters
// that it frees.
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

// skewed reports, and counts, a time too far ahead of the clock. It reads the clock
// only if the latest reading does not already clear the time.
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

// ahead reports whether at is later than latest by more than skew. The difference of
// two instants may overflow an int64 but fits a uint64.
func (c *Cache[K, S]) ahead(at instant) bool {
	return at > c.latest && uint64(at)-uint64(c.latest) > uint64(c.skew)
}

// Get returns the entry of key, which may be old; GetNewerThan waits for a newer one.
func (c *Cache[K, S]) Get(key K) Entry[S] {
	v, global := c.lookup(key)
	if v != nil && v.at >= global {
		return v.entry // the common case, all in registers
	}
	return c.entry(v, global)
}

// lookup returns the last version of key, or nil, and the global time at that moment,
// without a lock. It starts over if the global time moves in between, because the
// version may then be outdated or removed.
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

// globalTime returns the global time.
func (c *Cache[K, S]) globalTime() instant { return instant(c.global.Load()) }

// instant converts t to an instant, using its monotonic reading if it has one.
func (c *Cache[K, S]) instant(t time.Time) instant { return instant(t.Sub(c.epoch)) }

// time is the inverse of instant.
func (c *Cache[K, S]) time(i instant) time.Time { return c.epoch.Add(time.Duration(i)) }

// entry returns the entry for v at a global time.
func (c *Cache[K, S]) entry(v *version[S], global instant) (e Entry[S]) {
	if v != nil {
		e = v.entry
	}
	if global > v.when() {
		e.Modified = c.time(global)
	}
	return e
}

// Delete makes key absent as of at, unless its entry is newer, and reports whether it
// is then absent. Delete also returns false if Set would refuse the time. As for Set, take
// at before asking whether the key exists.
//
// The cache remembers the deletion, as a tombstone, and refuses writes stamped at or before
// it. A Generator frees tombstones with each full list that began later. Without a Generator
// a tombstone costs memory until the key is written again.
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

// setObservedTime implements cachewriter.Writer. Only the entry's writer should call it,
// because it also confirms any write made since the observation.
func (c *Cache[K, S]) setObservedTime(key K, at time.Time) bool {
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

// keepTombstone keeps the tombstone of key, if any, until the global time is as new and
// refuses the same writes.
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

// updateTime sets the global time to at, the local start time of a completed full
// list. It ignores earlier times than the current one.
func (c *Cache[K, S]) updateTime(at time.Time) {
	i := c.instant(at)
	c.mu.Lock()
	if c.closed || i <= c.globalTime() || c.skewed(i) {
		c.mu.Unlock()
		return
	}
	c.global.Store(int64(i))
	if deleted := c.deleted; len(deleted) > 0 {
		c.deleted = map[K]struct{}{} // maps never shrink, and ranging takes time in proportion to the largest size
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
		// Waking thousands at once would block all other callers for milliseconds.
		runtime.Gosched()
		c.mu.Lock()
	}
}

// All yields the present entries in no particular order. Entries written meanwhile may
// appear in their old or new form.
func (c *Cache[K, S]) All() iter.Seq2[K, Entry[S]] {
	return func(yield func(K, Entry[S]) bool) {
		for key := range c.keys() {
			if e := c.Get(key); e.Present && !yield(key, e) {
				return
			}
		}
	}
}

// keys yields the present keys in no particular order.
func (c *Cache[K, S]) keys() iter.Seq[K] {
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

// Close ends waits with ErrClosed, and Watch loops. All writes are then refused, but
// reads still work. A second Close is a no-op.
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

// allCounts returns the current counts.
func (c *Cache[K, S]) allCounts() cachewriter.Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.counts
	counts.Tombstones = len(c.deleted)
	return counts
}
