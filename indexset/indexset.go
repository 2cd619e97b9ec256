// Package indexset implements sets of indexes in the text form of a Job's
// status.completedIndexes and status.failedIndexes (KEP-3850, Job API). Numbers are in
// increasing order, separated by commas, with a run of three or more written as
// first-last. The set {1, 3, 4, 5, 7} is 1,3-5,7.
package indexset

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// MaxIndex is the largest index of a set.
const MaxIndex = 1<<31 - 1

// end is the limit above every index. It does not fit an int on 32-bit platforms, so
// this package uses uint32 for indexes.
const end uint32 = MaxIndex + 1

// A Range is a run of consecutive indexes, First and Last included.
type Range struct{ First, Last int }

// String returns the text form of r, such as "7", "3,4" or "3-5".
func (r Range) String() string {
	b := strconv.AppendInt(nil, int64(r.First), 10)
	switch r.Last - r.First {
	case 0:
		return string(b)
	case 1:
		b = append(b, ',')
	default:
		b = append(b, '-')
	}
	return string(strconv.AppendInt(b, int64(r.Last), 10))
}

// A Set is an immutable set of indexes 0..[MaxIndex]. Create one with [Parse], [Of],
// [FromRange] or a [Builder]. Compare sets with [Set.Equal]. Queries accept any int.
//
// A Set is stored as r runs of 8 bytes or, if not much larger, as a bitmap of w words
// of 64 indexes. The costs of methods are given in r and w.
//
// The zero value is the empty set. A Set is safe for concurrent use.
type Set struct {
	// Invariants:
	// 1. list is nil if and only if the set is empty; words and the runs of
	//    list are then nil too, and else exactly one of them is;
	// 2. the last word is not zero and holds no index above MaxIndex;
	// 3. runs are increasing, with at least one index missing between two;
	// 4. no run ends before it starts or lies above MaxIndex;
	// 5. the list finds every run by its directory;
	// 6. list.n is the number of members.
	words []uint64
	list  *runList
}

// valid returns an error for the first violated invariant. Tests call it.
func (s Set) valid() error {
	var n uint64
	runs := s.runs()
	if (s.list == nil) != (s.words == nil && runs == nil) || s.words != nil && runs != nil {
		return fmt.Errorf("indexset: invariant 1: %d words, list %v", len(s.words), s.list)
	}
	for _, w := range s.words {
		n += uint64(bits.OnesCount64(w))
	}
	if k := len(s.words); k > 0 && s.words[k-1] == 0 || k > wordsFor(MaxIndex) {
		return fmt.Errorf("indexset: invariant 2: %d words", k)
	}
	for k, r := range runs {
		if k > 0 && r.first <= runs[k-1].last+1 {
			return fmt.Errorf("indexset: invariant 3: run %v touches %v", r, runs[k-1])
		}
		if r.last < r.first || r.last > MaxIndex {
			return fmt.Errorf("indexset: invariant 4: run %v", r)
		}
		if s.list.search(r.first) != k || s.list.search(r.last) != k || s.list.search(r.last+1) != k+1 {
			return fmt.Errorf("indexset: invariant 5: run %d, %v", k, r)
		}
		n += uint64(r.len())
	}
	if n != uint64(s.count()) {
		return fmt.Errorf("indexset: invariant 6: %d members are counted, there are %d", s.count(), n)
	}
	return nil
}

// Of returns the set of the given indexes, in any order. It panics if one is outside
// 0..MaxIndex.
func Of(indexes ...int) Set { return Collect(slices.Values(indexes)) }

// FromRange returns the set of first to last, both included, in O(1), or the empty set
// if last < first. It panics if it would hold an index outside 0..MaxIndex.
func FromRange(first, last int) Set {
	if last < first {
		return Set{}
	}
	return ofRuns([]run{{index(first), index(last)}})
}

// Collect returns the set of the indexes in seq, like [Of].
func Collect(seq iter.Seq[int]) Set {
	var b Builder
	for i := range seq {
		b.Add(i)
	}
	return b.Set()
}

// index converts i and panics if it is not an index.
func index(i int) uint32 {
	if i < 0 || i > MaxIndex {
		panic(fmt.Sprintf("indexset: index %d out of range 0..%d", i, MaxIndex))
	}
	return uint32(i)
}

// clampLimit converts a limit, an exclusive upper bound, to one in 0..MaxIndex+1.
func clampLimit(limit int) uint32 {
	if limit > MaxIndex {
		return end
	}
	return uint32(max(limit, 0))
}

// saturate converts a count to int, which cannot hold 2^31 on 32-bit platforms.
func saturate(n uint64) int { return int(min(n, math.MaxInt)) }

// runs returns the runs of a set, or nil if it is a bitmap.
func (s Set) runs() []run {
	if s.list == nil {
		return nil
	}
	return s.list.runs
}

// count returns the number of members.
func (s Set) count() uint32 {
	if s.list == nil {
		return 0
	}
	return s.list.n
}

// Contains reports whether i is a member, in O(1), or O(log r) if the runs are very
// unevenly spread.
func (s Set) Contains(i int) bool { return contains(s.words, i, s.list, (*runList).contains) }

// contains looks in words, or asks list if words do not reach i. Calling through a
// parameter lets the compiler inline Contains, which makes it two to three times
// faster.
func contains(words []uint64, i int, list *runList, ask func(*runList, int) bool) bool {
	if w := uint(i) / 64; w < uint(len(words)) {
		return words[w]>>(uint(i)%64)&1 != 0
	}
	return ask(list, i)
}

// Len returns the number of members, in O(1). On 32-bit platforms it saturates at
// 2^31-1.
func (s Set) Len() int { return saturate(uint64(s.count())) }

// IsZero reports whether s is empty, in O(1).
func (s Set) IsZero() bool { return s.list == nil }

// NumRanges returns the number of ranges yielded by [Set.Ranges], in O(1) or O(w).
func (s Set) NumRanges() int {
	if s.words != nil {
		return countRuns(s.words)
	}
	return len(s.runs())
}

// Min returns the smallest member, in O(1) or O(w); ok is false if s is empty.
func (s Set) Min() (i int, ok bool) {
	switch {
	case s.list == nil:
		return 0, false
	case s.words == nil:
		return int(s.list.runs[0].first), true
	}
	first, ok := nextSet(s.words, 0)
	return int(first), ok
}

// Max returns the largest member, in O(1); ok is false if s is empty.
func (s Set) Max() (i int, ok bool) {
	if s.list == nil {
		return 0, false
	}
	return int(s.max()), true
}

// max returns the largest member of a nonempty set.
func (s Set) max() uint32 {
	if k := len(s.words); k > 0 {
		return uint32(64*k - 1 - bits.LeadingZeros64(s.words[k-1]))
	}
	return s.list.runs[len(s.list.runs)-1].last
}

// Next returns the smallest member at or above i; ok is false if none exists. It takes
// as long as [Set.Contains], or O(w) if the next member is far away.
func (s Set) Next(i int) (next int, ok bool) {
	if i > MaxIndex || s.list == nil {
		return 0, false
	}
	from := uint32(max(i, 0))
	if s.words != nil {
		member, ok := nextSet(s.words, from)
		return int(member), ok
	}
	k := s.list.search(from)
	if k == len(s.list.runs) {
		return 0, false
	}
	return int(max(from, s.list.runs[k].first)), true
}

// Rank returns the number of members below i, in O(r) or O(w).
func (s Set) Rank(i int) int {
	limit := clampLimit(i)
	if limit == 0 || s.list == nil {
		return 0
	}
	return saturate(s.countWithin(run{0, limit - 1}))
}

// Select returns the k-th member, counted from 0; ok is false if s has at most k
// members. It is the inverse of [Set.Rank] and takes O(r) or O(w).
func (s Set) Select(k int) (i int, ok bool) {
	if k < 0 || uint64(k) >= uint64(s.count()) {
		return 0, false
	}
	left := uint32(k)
	for at, w := range s.words {
		if c := uint32(bits.OnesCount64(w)); c <= left {
			left -= c
			continue
		}
		for ; left > 0; left-- {
			w &= w - 1
		}
		return 64*at + bits.TrailingZeros64(w), true
	}
	for _, r := range s.runs() {
		if left < r.len() {
			return int(r.first + left), true
		}
		left -= r.len()
	}
	return 0, false
}
