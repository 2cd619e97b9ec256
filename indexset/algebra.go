package indexset

import (
	"math/bits"
	"slices"
)

// Equal reports whether s and t have the same members.
func (s Set) Equal(t Set) bool {
	return s.count() == t.count() && slices.Equal(s.words, t.words) && slices.Equal(s.runs(), t.runs())
}

// Overlaps reports whether s and t have a common member.
func (s Set) Overlaps(t Set) bool { return s.intersectLen(t) > 0 }

// IntersectLen returns the number of common members of s and t without allocating. It
// saturates like [Set.Len].
func (s Set) IntersectLen(t Set) int { return saturate(s.intersectLen(t)) }

func (s Set) intersectLen(t Set) (n uint64) {
	switch {
	case s.words != nil && t.words != nil:
		for k, w := range s.words[:min(len(s.words), len(t.words))] {
			n += uint64(bits.OnesCount64(w & t.words[k]))
		}
	case t.words != nil:
		return t.intersectLen(s)
	case s.words != nil:
		for _, r := range t.runs() {
			n += countRun(s.words, r)
		}
	default:
		eachCommon(s.runs(), t.runs(), func(r run) { n += uint64(r.len()) })
	}
	return n
}

// Union returns the set of indexes in s or t.
func (s Set) Union(t Set) Set {
	switch {
	case s.list == nil:
		return t
	case t.list == nil:
		return s
	}
	if k := wordsFor(max(s.max(), t.max())); s.worthWords(t, k) {
		words := make([]uint64, k)
		s.fill(words)
		t.fill(words)
		return ofWords(words)
	}
	return ofRuns(unionRuns(s.allRuns(), t.allRuns()))
}

// Intersect returns the set of indexes in both s and t.
func (s Set) Intersect(t Set) Set {
	if s.list == nil || t.list == nil {
		return Set{}
	}
	if k := wordsFor(min(s.max(), t.max())); s.worthWords(t, k) {
		words, others := make([]uint64, k), make([]uint64, k)
		s.fill(words)
		t.fill(others)
		for i, w := range others {
			words[i] &= w
		}
		return ofWords(words)
	}
	return ofRuns(intersectRuns(s.allRuns(), t.allRuns()))
}

// Minus returns the set of indexes in s but not in t.
func (s Set) Minus(t Set) Set {
	if s.list == nil || t.list == nil {
		return s
	}
	if k := wordsFor(s.max()); s.worthWords(t, k) {
		words, others := make([]uint64, k), make([]uint64, k)
		s.fill(words)
		t.fill(others)
		for i, w := range others {
			words[i] &^= w
		}
		return ofWords(words)
	}
	return ofRuns(minusRuns(s.allRuns(), t.allRuns()))
}

// Clip returns the members of s below limit.
func (s Set) Clip(limit int) Set {
	end := clampLimit(limit)
	switch {
	case end == 0 || s.list == nil:
		return Set{}
	case s.max() < end:
		return s
	}
	return s.Intersect(ofRuns([]run{{0, end - 1}}))
}

// With returns s with the given indexes added. It panics if one is outside 0..MaxIndex.
func (s Set) With(indexes ...int) Set {
	if !slices.ContainsFunc(indexes, func(i int) bool { return !s.Contains(int(index(i))) }) {
		return s
	}
	if len(indexes) > 0 && slices.Max(indexes) < 64*len(s.words) {
		words := slices.Clone(s.words)
		for _, i := range indexes {
			words[i/64] |= 1 << (i % 64)
		}
		return ofWords(words)
	}
	return s.Union(Of(indexes...))
}

// Without returns s with the given indexes removed. It ignores indexes that are not
// members.
func (s Set) Without(indexes ...int) Set {
	var b Builder
	for _, i := range indexes {
		if s.Contains(i) {
			b.Add(i)
		}
	}
	return s.Minus(b.Set())
}

// worthWords reports whether an operation on s and t should use bitmaps of k words. It
// should if one of the sets is already a bitmap, of at least k/8 words.
func (s Set) worthWords(t Set, k int) bool {
	return k <= 8*max(len(s.words), len(t.words))
}

// fill adds the members of s that fit into words.
func (s Set) fill(words []uint64) {
	for k, w := range s.words[:min(len(s.words), len(words))] {
		words[k] |= w
	}
	for _, r := range s.runs() {
		if int(r.first/64) >= len(words) {
			return
		}
		fillRun(words, run{r.first, min(r.last, 64*uint32(len(words))-1)})
	}
}

// allRuns returns the runs of s, however it is stored.
func (s Set) allRuns() []run {
	if s.words != nil {
		return runsOf(s.words)
	}
	return s.runs()
}
