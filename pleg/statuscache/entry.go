package statuscache

import (
	"math"
	"time"
)

// Entry is the latest information about one key. The zero value stands for an unknown
// key. Entries are passed by value, so S should be small or a pointer.
type Entry[S any] struct {
	Status S // last written status
	// Err is the error of the last inspection, if it failed. Status is then the
	// writer's choice and may be wrong.
	Err error
	// Modified is the local time of the write, or of a later global time.
	Modified time.Time
	Present  bool // false if the key is absent or unknown
}

// An instant is a local time in nanoseconds since the cache's epoch. Unlike time.Time
// values, whose comparison depends on their monotonic readings, instants are totally
// ordered. An instant also fits in an atomic.
type instant int64

// never is before every time and stands for an unknown key.
const never instant = math.MinInt64

// A version is a write or deletion of a key. It is immutable.
type version[S any] struct {
	entry Entry[S] // as written
	at    instant  // entry.Modified
	base  *S       // the last status written without an error, for Merge
}

// when returns the time of v, or never if v is nil.
func (v *version[S]) when() instant {
	if v == nil {
		return never
	}
	return v.at
}

// present reports whether v is a write.
func (v *version[S]) present() bool { return v != nil && v.entry.Present }

// merge applies merge to v, which replaces old.
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
