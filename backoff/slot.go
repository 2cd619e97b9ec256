package backoff

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"
)

// entry is the state of one key of a Tracker. The zero entry is none.
type entry struct {
	failures int // > 0
	delay    time.Duration
	updated  time.Duration // on the Tracker's timescale
}

// slot holds a key, which never changes, and its entry, which anybody may read
// and replace at any time without a lock.
//
// The word failures says whose turn it is:
//
//	n > 0    an entry; whoever makes it busy may write the slot
//	busy     somebody writes the slot and will be done in a few nanoseconds
//	0        no entry; only the holder of the shard's lock may write one
//	-n < 0   the entry n, for ever: the table is being replaced by another
type slot[K comparable] struct {
	key      K
	failures atomic.Int64
	delay    atomic.Int64
	updated  atomic.Int64
}

const busy = math.MinInt64

// load returns the entry of a slot, and whether it may still be replaced there.
// It reads everything twice: words that are the same again are of one entry,
// unless both the time and the delay changed in between and one of them changed
// back, which takes a clock that shows the same nanosecond again.
func (s *slot[K]) load() (e entry, open bool) {
	if s == nil {
		return entry{}, false
	}
	for {
		failures, updated, delay := s.failures.Load(), s.updated.Load(), s.delay.Load()
		switch {
		case failures == 0:
			return entry{}, false
		case failures != busy && failures == s.failures.Load() && updated == s.updated.Load() && delay == s.delay.Load():
			return entry{int(max(failures, -failures)), time.Duration(delay), time.Duration(updated)}, failures > 0
		}
		runtime.Gosched()
	}
}

// loadDelay is the delay of load.
func (s *slot[K]) loadDelay() time.Duration {
	for {
		failures, delay := s.failures.Load(), s.delay.Load()
		switch {
		case failures == 0:
			return 0
		case failures != busy && failures == s.failures.Load():
			return time.Duration(delay)
		}
		runtime.Gosched()
	}
}

// replace writes e, or the zero entry for none, if the slot still has the entry
// was and may be written, and reports whether.
func (s *slot[K]) replace(was, e entry) bool {
	if !s.failures.CompareAndSwap(int64(was.failures), busy) {
		return false
	}
	if s.updated.Load() != int64(was.updated) || s.delay.Load() != int64(was.delay) {
		s.failures.Store(int64(was.failures))
		return false
	}
	s.put(e)
	return true
}

// put writes an entry into a slot that nobody else may write, failures last: until
// then readers see none, or wait. What does not change is not written, since a
// write takes as long as reading all.
func (s *slot[K]) put(e entry) {
	if e.failures > 0 {
		s.updated.Store(int64(e.updated))
		if s.delay.Load() != int64(e.delay) {
			s.delay.Store(int64(e.delay))
		}
	}
	s.failures.Store(int64(e.failures))
}

// drop deletes the entry if there is one that which reports, and reports whether.
// The shard's lock must be held.
func (s *slot[K]) drop(which func(entry) bool) bool {
	for {
		if e, open := s.load(); !open || !which(e) {
			return false
		} else if s.replace(e, entry{}) {
			return true
		}
	}
}

// take makes the slot busy if it has an entry that may be replaced, and returns the
// entry: the last that was written, for now nobody else may write.
func (s *slot[K]) take() (e entry, ok bool) {
	failures := s.failures.Load()
	if failures <= 0 || !s.failures.CompareAndSwap(failures, busy) {
		return entry{}, false
	}
	return entry{int(failures), time.Duration(s.delay.Load()), time.Duration(s.updated.Load())}, true
}

// freeze makes the slot's entry one that cannot be replaced, and returns it. The
// shard's lock must be held, and the slot not be frozen.
func (s *slot[K]) freeze() entry {
	for {
		if e, ok := s.take(); ok {
			s.failures.Store(-int64(e.failures))
			return e
		}
		if s.failures.Load() == 0 {
			return entry{}
		}
		runtime.Gosched()
	}
}
