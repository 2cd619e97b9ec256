// Package indexset records which indexes of a Job are done, and reads and writes the
// text of status.completedIndexes and status.failedIndexes:
//
//	done, err := indexset.Parse("0-4,7")
//	done = done.With(5, 6, 9)
//	fmt.Println(done)                             // 0-7,9
//	fmt.Println(done.AppendAbsent(nil, 2, 100))   // [8 10], the next two to run
//
// In the text (KEP-3850, Job API) numbers are in increasing order and separated by
// commas, with a run of three or more written as first-last. The set {1, 3, 4, 5, 7} is
// 1,3-5,7. Parse refuses any other text, and ParseLenient reads the valid part of it.
package indexset

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"sort"
)

// MaxIndex is the largest index of a set.
const MaxIndex = 1<<31 - 1

// A Set is an immutable set of indexes 0..[MaxIndex]. Create one with [Parse], [Of],
// [FromRange] or a [Builder]. Compare sets with [Set.Equal]. Queries accept any int.
//
// A Set takes 8 bytes for each run of consecutive indexes or, if less, 8 bytes
// for every 64 indexes up to the largest. Operations take time in proportion to that
// size.
//
// Store the text of [Set.String] in a database, a file or a message, and read it with
// [Parse]. The same set always has the same text, so texts can be compared. In JSON and
// other formats that use encoding.TextMarshaler, a Set is that text by itself.
//
// The zero value is the empty set. A Set is safe for concurrent use by multiple
// goroutines.
type Set struct {
	// Invariants:
	// 1. list is nil if and only if the set is empty; otherwise the set is stored
	//    either as words or as the runs of list, whichever takes fewer elements, and
	//    as words if both take the same number;
	// 2. the last word is not zero and holds no index above MaxIndex;
	// 3. runs are increasing, with at least one index missing between two;
	// 4. no run ends before it starts or lies above MaxIndex;
	// 5. list.n is the number of members.
	//
	// A Set has four machine words. With more, the compiler would pass it in memory
	// instead of registers, and every Contains would copy it.
	words []uint64 // a bitmap: index i is bit i%64 of word i/64
	list  *runList
}

// A runList holds the number of members of a set, and its runs unless it is a bitmap.
type runList struct {
	n    uint32
	runs []run
}

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

// A run holds the indexes from first to last, both included. Indexes are uint32 in this
// package, because MaxIndex+1 does not fit an int on 32-bit platforms.
type run struct{ first, last uint32 }

func (r run) len() uint32 { return r.last - r.first + 1 }

// valid returns an error for the first violated invariant. Tests call it.
func (s Set) valid() error {
	runs := s.runs()
	isBitmap := s.words != nil
	if isBitmap == (runs != nil) && s.list != nil || s.list == nil && isBitmap {
		return fmt.Errorf("indexset: invariant 1: %d words, list %v", len(s.words), s.list)
	}
	if k := len(s.words); k > 0 && s.words[k-1] == 0 || k > wordsFor(MaxIndex) {
		return fmt.Errorf("indexset: invariant 2: %d words", k)
	}
	if isBitmap {
		runs = runsOf(s.words)
	}
	n := uint64(0)
	for k, r := range runs {
		if k > 0 && r.first <= runs[k-1].last+1 {
			return fmt.Errorf("indexset: invariant 3: run %v touches %v", r, runs[k-1])
		}
		if r.last < r.first || r.last > MaxIndex {
			return fmt.Errorf("indexset: invariant 4: run %v", r)
		}
		n += uint64(r.len())
	}
	if len(runs) > 0 && isBitmap != (wordsFor(runs[len(runs)-1].last) <= len(runs)) {
		return fmt.Errorf("indexset: invariant 1: a bitmap is %v for %d runs up to %d", isBitmap, len(runs), runs[len(runs)-1].last)
	}
	if n != uint64(s.count()) {
		return fmt.Errorf("indexset: invariant 5: %d members are counted, there are %d", s.count(), n)
	}
	return nil
}

// Of returns the set of the given indexes, in any order. It panics if one is outside
// 0..MaxIndex.
func Of(indexes ...int) Set {
	var b Builder
	for _, i := range indexes {
		b.Add(i)
	}
	b.sort()
	return ofRuns(b.runs)
}

// FromRange returns the set of first to last, both included, or the empty set if
// last < first. It panics if it would hold an index outside 0..MaxIndex.
func FromRange(first, last int) Set {
	if last < first {
		return Set{}
	}
	return ofRuns([]run{{index(first), index(last)}})
}

// index converts i and panics if it is not an index.
func index(i int) uint32 {
	if i < 0 || i > MaxIndex {
		panic(fmt.Sprintf("indexset: index %d out of range 0..%d", i, MaxIndex))
	}
	return uint32(i)
}

// A Builder collects indexes, in any order, into a [Set]. It takes 8 bytes for each run,
// and up to twice that while indexes are added out of order.
//
// The zero value is ready to use. A Builder must not be copied after first use.
type Builder struct {
	runs   []run
	sorted int // so many runs at the beginning increase and do not touch
}

// Add adds i. It panics if i is outside 0..MaxIndex.
func (b *Builder) Add(i int) { b.add(run{index(i), index(i)}) }

// AddRange adds first to last, both included. It is a no-op if last < first, and panics
// if an index is outside 0..MaxIndex.
func (b *Builder) AddRange(first, last int) {
	if first <= last {
		b.add(run{index(first), index(last)})
	}
}

func (b *Builder) add(r run) {
	if k := len(b.runs); k == b.sorted && (k == 0 || r.first >= b.runs[k-1].first) {
		b.runs = appendRun(b.runs, r)
		b.sorted = len(b.runs)
		return
	}
	b.runs = append(b.runs, r)
	if len(b.runs) > 2*b.sorted+1000 {
		b.sort()
	}
}

// sort orders all runs and joins those that touch.
func (b *Builder) sort() {
	if b.sorted < len(b.runs) {
		b.runs = joined(b.runs)
		b.sorted = len(b.runs)
	}
}

// Set returns the set of indexes collected so far. The builder remains usable.
func (b *Builder) Set() Set {
	b.sort()
	return ofRuns(slices.Clone(b.runs))
}

// Contains reports whether i is a member. It takes constant time if the set is stored as
// a bitmap, and otherwise the time of a binary search among the runs.
func (s Set) Contains(i int) bool { return contains(s.words, s.list, i, (*runList).contains) }

// contains looks for i in words and, if i is beyond them, in list. It takes the method of
// list as a parameter, because then the compiler inlines Contains, which makes it three
// times faster.
func contains(words []uint64, list *runList, i int, inList func(*runList, int) bool) bool {
	if w := uint(i) / 64; w < uint(len(words)) {
		return words[w]>>(uint(i)%64)&1 != 0
	}
	return inList(list, i)
}

// contains reports whether i is in a run.
func (l *runList) contains(i int) bool {
	if l == nil || i < 0 || i > MaxIndex {
		return false
	}
	at := uint32(i)
	k := sort.Search(len(l.runs), func(k int) bool { return l.runs[k].last >= at })
	return k < len(l.runs) && l.runs[k].first <= at
}

// Len returns the number of members. On 32-bit platforms it saturates at 2^31-1.
func (s Set) Len() int { return saturate(uint64(s.count())) }

// saturate converts a count to int, which cannot hold 2^31 on 32-bit platforms.
func saturate(n uint64) int { return int(min(n, math.MaxInt)) }

// IsZero reports whether s is empty.
func (s Set) IsZero() bool { return s.list == nil }

// Min returns the smallest member; ok is false if s is empty.
func (s Set) Min() (i int, ok bool) {
	for r := range s.eachRun {
		return int(r.first), true
	}
	return 0, false
}

// Max returns the largest member; ok is false if s is empty.
func (s Set) Max() (i int, ok bool) {
	if s.list == nil {
		return 0, false
	}
	return int(s.max()), true
}

// max returns the largest member of a non-empty set.
func (s Set) max() uint32 {
	if k := len(s.words); k > 0 {
		return uint32(64*k - 1 - bits.LeadingZeros64(s.words[k-1]))
	}
	return s.list.runs[len(s.list.runs)-1].last
}

// All yields the members in increasing order.
func (s Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for r := range s.eachRun {
			for i := r.first; i <= r.last; i++ {
				if !yield(int(i)) {
					return
				}
			}
		}
	}
}

// A Range holds the indexes from First to Last, both included.
type Range struct{ First, Last int }

// Ranges yields the runs of consecutive members in increasing order.
func (s Set) Ranges() iter.Seq[Range] {
	return func(yield func(Range) bool) {
		for r := range s.eachRun {
			if !yield(Range{int(r.first), int(r.last)}) {
				return
			}
		}
	}
}

// eachRun calls yield with each run until yield returns false.
func (s Set) eachRun(yield func(run) bool) {
	open, first := false, uint32(0) // whether a run that began at first continues from the previous word
	for k := range s.words {
		starts, ends := runEdges(s.words, k)
		base := uint32(64 * k)
		for ; ends != 0; ends &= ends - 1 {
			if !open {
				first = base + uint32(bits.TrailingZeros64(starts))
				starts &= starts - 1
			}
			open = false
			if !yield(run{first, base + uint32(bits.TrailingZeros64(ends))}) {
				return
			}
		}
		if starts != 0 {
			open, first = true, base+uint32(bits.TrailingZeros64(starts))
		}
	}
	for _, r := range s.runs() {
		if !yield(r) {
			return
		}
	}
}

// AppendAbsent appends the n lowest indexes below limit missing from s to dst, or all
// if there are fewer. Such indexes of a Job are the next to run.
func (s Set) AppendAbsent(dst []int, n, limit int) []int {
	end := clampLimit(limit)
	next := uint32(0) // lowest index not yet looked at
	appendUpTo := func(end uint32) {
		for ; next < end && n > 0; next++ {
			dst = append(dst, int(next))
			n--
		}
	}
	for r := range s.eachRun {
		appendUpTo(min(r.first, end))
		if n <= 0 || r.first >= end {
			return dst
		}
		next = r.last + 1
	}
	appendUpTo(end)
	return dst
}

// clampLimit converts an exclusive upper bound to one in 0..MaxIndex+1.
func clampLimit(limit int) uint32 {
	if limit > MaxIndex {
		return MaxIndex + 1
	}
	return uint32(max(limit, 0))
}
