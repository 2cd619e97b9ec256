package pleg

import (
	"hash/maphash"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

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
// Times count as local: they come from the Clock of the same process. Times
// more than 292 years after the making of the Cache count as that far away, and
// those as long before it as no time at all: a write stamped so is refused, on
// the real clock one with the zero time.
//
// The zero value is not usable; start with NewCache. A Cache is safe for
// concurrent use by multiple goroutines.
type Cache[K comparable, S any] struct {
	clock clock.WithTicker
	equal bool
	skew  time.Duration // negative: no check
	merge func(old, new S) S
	epoch time.Time // instants count from here

	// For readers, who take no lock; written under mu.
	nodes   table[K, S]  // present keys and tombstones
	global  atomic.Int64 // the instant as of which everything is known
	present atomic.Int64 // the number of present keys

	done chan struct{} // closed by Close

	mu       sync.Mutex
	closed   bool
	latest   instant   // the newest reading of the clock
	graves   graves[K] // of the tombstones, oldest first
	waits    waits[K]
	watchers map[*watcher[K]]struct{}
	counts   counts
}

// CacheOptions are the settings of a Cache. The zero value is the KEP's cache
// on the real clock.
type CacheOptions[S any] struct {
	// Clock is the cache's and its Generator's; nil is the real one. It must
	// not go backwards; the real one does not, thanks to Go's monotonic reading.
	Clock clock.WithTicker
	// AcceptEqual accepts a write stamped exactly like the entry, as the
	// kubelet's code does; without it only newer ones, as the KEP has it.
	AcceptEqual bool
	// MaxSkew refuses and counts a write, deletion or global time stamped later
	// than now+MaxSkew. 0 means 1 minute; a negative one checks nothing.
	MaxSkew time.Duration
	// Merge yields what to store when a newer status replaces an older one of
	// the same key: it keeps what a newer observation must not take back. old is
	// the status of the last write without an error; a write with an error is
	// stored as it is. nil: new replaces old. Merge runs under the cache's lock
	// and must not call it.
	Merge func(old, new S) S
}

// counts are the refusals, for a Generator's Stats.
type counts struct {
	stale, skewed, resurrections uint64
}

// NewCache returns an empty cache.
func NewCache[K comparable, S any](o CacheOptions[S]) *Cache[K, S] {
	c := &Cache[K, S]{
		clock:    o.Clock,
		equal:    o.AcceptEqual,
		skew:     o.MaxSkew,
		merge:    o.Merge,
		done:     make(chan struct{}),
		waits:    waits[K]{byKey: map[K]*waiter[K]{}, began: make(chan struct{}, 1)},
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
// time at, and reports whether it did. It is refused, and counted, where the
// entry is newer (or as new, without AcceptEqual), where the key is absent and
// its deletion or the global time is as new, where at is later than the clock
// by more than MaxSkew or lies 292 years before the making of the Cache, as the
// zero time does on the real clock; and after Close.
func (c *Cache[K, S]) Set(key K, status S, err error, at time.Time) (updated bool) {
	return c.write(key, status, err, at, false)
}

// write is Set; inOrder is for the Generator, whose observations of a key follow each
// other even within one reading of the clock: an equal time will do.
func (c *Cache[K, S]) write(key K, status S, err error, at time.Time, inOrder bool) bool {
	freed, ok := c.set(key, &record[S]{entry: Entry[S]{status, err, at, true}, at: c.instant(at)}, inOrder)
	freed.wake()
	return ok
}

func (c *Cache[K, S]) set(key K, r *record[S], inOrder bool) (*waiter[K], bool) {
	c.mu.Lock()
	defer c.mu.Unlock() // Merge may panic
	if c.closed || c.skewed(r.at) {
		return nil, false
	}
	old := c.record(key)
	if bar := c.bar(old); r.at < bar || r.at == bar && (bar == never || !inOrder && !(c.equal && old.is())) {
		c.counts.stale++
		if old != nil && !old.entry.Present {
			c.counts.resurrections++
		}
		return nil, false
	}
	if c.merge != nil {
		r.merge(old, c.merge)
	}
	if !old.is() {
		c.present.Add(1)
	}
	return c.put(key, r), true
}

// record returns the last write or deletion of key that counts, or nil.
func (c *Cache[K, S]) record(key K) *record[S] {
	if n := c.nodes.find(key); n != nil {
		return n.last.Load()
	}
	return nil
}

// bar is the time that a write has to be newer than to replace old.
func (c *Cache[K, S]) bar(old *record[S]) instant {
	if old.is() {
		return old.at
	}
	return max(c.floor(), old.when())
}

// put stores r, which is not older than what is known of key, and returns the
// waiters that it frees.
func (c *Cache[K, S]) put(key K, r *record[S]) *waiter[K] {
	if n := c.nodes.find(key); n != nil {
		n.last.Store(r)
	} else {
		c.nodes.add(key, r)
	}
	for w := range c.watchers {
		w.mark(key, r.entry.Present)
	}
	return c.waits.written(key, max(r.at, c.floor()))
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
	c.counts.skewed++
	return true
}

// ahead reports whether at is later than latest by more than skew; the
// difference of two instants fits a uint64 only.
func (c *Cache[K, S]) ahead(at instant) bool {
	return at > c.latest && uint64(at)-uint64(c.latest) > uint64(c.skew)
}

// Get returns what is known of key.
func (c *Cache[K, S]) Get(key K) Entry[S] {
	r, floor := c.look(key)
	if r != nil && r.at >= floor {
		return r.entry // all in registers, as it mostly goes
	}
	return c.entry(r, floor)
}

// look returns the record of key, nil if there is none, and the global time of
// that moment, without a lock. Had a global time been set in between, the
// record could be older than it, or gone because of it.
func (c *Cache[K, S]) look(key K) (r *record[S], floor instant) {
	hash := maphash.Comparable(c.nodes.seed, key)
	for {
		floor, r = c.floor(), nil
		if n := c.nodes.findHash(key, hash); n != nil {
			r = n.last.Load()
		}
		if c.floor() == floor {
			return r, floor
		}
	}
}

// floor is the global time.
func (c *Cache[K, S]) floor() instant { return instant(c.global.Load()) }

// entry is what a record says under a global time.
func (c *Cache[K, S]) entry(r *record[S], floor instant) (e Entry[S]) {
	if r != nil {
		e = r.entry
	}
	if floor > r.when() {
		e.Modified = c.time(floor)
	}
	return e
}

// Delete makes key absent as of at, unless its entry is newer, and reports
// whether it was not: true also for a key that was absent. Until the global
// time reaches at, the cache remembers it: no write stamped at or before at
// brings the key back. Like a write it is refused if at lies too far ahead or
// counts as no time, and after Close.
func (c *Cache[K, S]) Delete(key K, at time.Time) bool {
	freed, ok := c.delete(key, at)
	freed.wake()
	return ok
}

func (c *Cache[K, S]) delete(key K, at time.Time) (*waiter[K], bool) {
	i := c.instant(at)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || i == never || c.skewed(i) {
		return nil, false
	}
	old := c.record(key)
	if old.is() {
		if old.at > i {
			return nil, false
		}
		c.present.Add(-1)
	} else if i <= max(c.floor(), old.when()) {
		return nil, true // known to be absent as of a later time
	}
	freed := c.put(key, &record[S]{entry: Entry[S]{Modified: at}, at: i})
	c.bury(key)
	return freed, true
}

// bury sees to it that the tombstone of key, if it is one, is remembered no
// longer than the global time leaves it something to guard.
func (c *Cache[K, S]) bury(key K) {
	n := c.nodes.find(key)
	r := n.last.Load()
	switch {
	case r.entry.Present || n.grave:
	case r.at <= c.floor():
		c.nodes.remove(key)
	default:
		n.grave = true
		c.graves.add(key, r.at)
	}
}

// UpdateTime says that everything is known as of at: a full relist began then
// and has ended. It never goes back; it forgets the deletions up to at and
// wakes the waiters that it answers, a hundred at a time, outside the lock.
func (c *Cache[K, S]) UpdateTime(at time.Time) {
	i := c.instant(at)
	c.mu.Lock()
	if c.closed || i <= c.floor() || c.skewed(i) {
		c.mu.Unlock()
		return
	}
	c.global.Store(int64(i))
	for key := range c.graves.upTo(i) {
		c.nodes.find(key).grave = false
		c.bury(key)
	}
	for {
		freed, more := c.waits.upTo(i)
		c.mu.Unlock()
		freed.wake()
		if !more {
			return
		}
		// Behind thousands that become ready at once everybody else would stand
		// in line for milliseconds.
		runtime.Gosched()
		c.mu.Lock()
	}
}

// All yields the present entries, in no order. It holds no lock while it
// yields: entries written meanwhile may appear as they were or as they are.
func (c *Cache[K, S]) All() iter.Seq2[K, Entry[S]] {
	return func(yield func(K, Entry[S]) bool) {
		for n := range c.nodes.all() {
			if e := c.Get(n.key); e.Present && !yield(n.key, e) {
				return
			}
		}
	}
}

// Len returns the number of present entries.
func (c *Cache[K, S]) Len() int { return int(c.present.Load()) }

// Close ends every wait with ErrClosed and every Watch loop once it has yielded
// what is pending. Later writes are refused; reads go on to answer. Closing
// again does nothing.
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

// isClosed reports whether Close was called.
func (c *Cache[K, S]) isClosed() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// tombstones is the number of deletions that are remembered.
func (c *Cache[K, S]) tombstones() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.graves)
}

// counted returns the refusals so far.
func (c *Cache[K, S]) counted() counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}
