package pleg

import (
	"math"
	"time"
)

// Entry is what is known of one key. It is passed by value: S should be a
// pointer or small. The zero value means that nothing is known yet.
type Entry[S any] struct {
	Status   S         // as last written
	Err      error     // the inspection failed; Status is what the writer gave with it, which may not be true
	Modified time.Time // the local time of this knowledge, a later global time included; zero where nothing is known yet
	Present  bool      // false where the key is known to be absent, or nothing is known
}

// An instant is a local time: nanoseconds since the cache's epoch. Unlike
// time.Time, whose comparison depends on which of two times carry a monotonic
// reading, it is totally ordered, and readable without a lock.
type instant int64

// never is before every time: nothing is known.
const never instant = math.MinInt64

// instant returns t on the cache's axis, by the monotonic clock where t has it.
func (c *Cache[K, S]) instant(t time.Time) instant { return instant(t.Sub(c.epoch)) }

// time is the inverse of instant.
func (c *Cache[K, S]) time(i instant) time.Time { return c.epoch.Add(time.Duration(i)) }

// A record is one write, or a tombstone where it is not present. It is
// immutable.
type record[S any] struct {
	entry Entry[S] // as written
	at    instant  // entry.Modified
	base  *S       // the last status written without an error, kept for Merge
}

// when is the time of the record, never for a missing one.
func (r *record[S]) when() instant {
	if r == nil {
		return never
	}
	return r.at
}

// is reports whether the record is of a present key.
func (r *record[S]) is() bool { return r != nil && r.entry.Present }

// merge makes r, which replaces old, keep what merge says.
func (r *record[S]) merge(old *record[S], merge func(old, new S) S) {
	if old != nil {
		r.base = old.base
	}
	if r.entry.Err != nil {
		return
	}
	if r.base != nil {
		r.entry.Status = merge(*r.base, r.entry.Status)
	}
	r.base = &r.entry.Status
}
