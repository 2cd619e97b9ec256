package statuscache

import (
	"math"
	"time"
)

// Entry is what is known of one key. It is passed by value, so S should be a
// pointer or small. The zero value means that nothing is known yet.
type Entry[S any] struct {
	Status S // as last written
	// Err is why the inspection failed, nil if it did not. If it did, Status is what the
	// writer gave with Err, and may be wrong.
	Err error
	// Modified is the local time of this knowledge: of the write, or of a later global time.
	// It is zero if nothing is known yet.
	Modified time.Time
	Present  bool // false if the key is known to be absent, or nothing is known
}

// An instant is a local time in nanoseconds since the cache's epoch. Instants are
// totally ordered, and an atomic can hold one. Comparing two values of time.Time
// depends on which of them carry a monotonic reading.
type instant int64

// never is before every time: nothing is known.
const never instant = math.MinInt64

// A version is one write of a key, or its deletion. It is immutable.
type version[S any] struct {
	entry Entry[S] // as written
	at    instant  // entry.Modified
	base  *S       // the last status written without an error, kept for Merge
}

// when is the time of v; without a version nothing was ever known.
func (v *version[S]) when() instant {
	if v == nil {
		return never
	}
	return v.at
}

// present reports whether the key of v is known to be present.
func (v *version[S]) present() bool { return v != nil && v.entry.Present }

// merge makes v, which replaces old, keep what merge keeps of old.
func (v *version[S]) merge(old *version[S], merge func(old, new S) S) {
	if old != nil {
		v.base = old.base
	}
	if v.entry.Err != nil {
		return
	}
	if v.base != nil {
		v.entry.Status = merge(*v.base, v.entry.Status)
	}
	v.base = &v.entry.Status
}
