package indexset

import (
	"iter"
	"math/bits"
	"slices"
)

// All yields the members in increasing order.
func (s Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for k, w := range s.words {
			for ; w != 0; w &= w - 1 {
				if !yield(64*k + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
		for _, r := range s.runs() {
			for i := r.first; i <= r.last; i++ {
				if !yield(int(i)) {
					return
				}
			}
		}
	}
}

// Ranges yields the maximal runs of members in increasing order.
func (s Set) Ranges() iter.Seq[Range] {
	return func(yield func(Range) bool) {
		s.eachRun(func(r run) bool { return yield(r.Range()) })
	}
}

// eachRun calls yield with each run until yield returns false.
func (s Set) eachRun(yield func(run) bool) {
	for first, ok := nextSet(s.words, 0); ok; {
		after := nextClear(s.words, first)
		if !yield(run{first, after - 1}) {
			return
		}
		first, ok = nextSet(s.words, after)
	}
	for _, r := range s.runs() {
		if !yield(r) {
			return
		}
	}
}

// Gaps yields the maximal runs of non-members below limit in increasing order. It
// clamps limit to 0..MaxIndex+1.
func (s Set) Gaps(limit int) iter.Seq[Range] {
	return func(yield func(Range) bool) {
		s.eachGap(clampLimit(limit), func(r run) bool { return yield(r.Range()) })
	}
}

// eachGap calls yield with each gap below limit until yield returns false.
func (s Set) eachGap(limit uint32, yield func(run) bool) {
	next, more := uint32(0), true
	s.eachRun(func(r run) bool {
		if next < r.first && next < limit {
			more = yield(run{next, min(r.first, limit) - 1})
		}
		next = r.last + 1
		return more && next < limit
	})
	if more && next < limit {
		yield(run{next, limit - 1})
	}
}

// AppendAbsent appends the first n non-members below limit to dst, or all if fewer
// exist. It searches no further than the last one appended.
func (s Set) AppendAbsent(dst []int, n, limit int) []int {
	top := clampLimit(limit)
	for k := 0; k < len(s.words) && n > 0 && uint32(64*k) < top; k++ {
		absent := ^s.words[k]
		if left := top - uint32(64*k); left < 64 {
			absent &= 1<<left - 1
		}
		found := min(n, bits.OnesCount64(absent))
		dst = slices.Grow(dst, found)
		part := dst[len(dst) : len(dst)+found]
		for j := range part {
			part[j] = 64*k + bits.TrailingZeros64(absent)
			absent &= absent - 1
		}
		dst = dst[:len(dst)+found]
		n -= found
	}
	behind := Set{list: s.list}
	behind.eachGap(top, func(r run) bool {
		for i := max(r.first, uint32(64*len(s.words))); i <= r.last && n > 0; i++ {
			dst = append(dst, int(i))
			n--
		}
		return n > 0
	})
	return dst
}
