package indexset

import (
	"cmp"
	"math/bits"
	"slices"
)

// Equal reports whether s and t have the same members, in O(r+w).
func (s Set) Equal(t Set) bool {
	switch {
	case s.count() != t.count():
		return false
	case s.words != nil && t.words != nil:
		return slices.Equal(s.words, t.words)
	case s.words == nil && t.words == nil:
		return slices.Equal(s.runs(), t.runs())
	}
	return s.intersectLen(t) == uint64(s.count())
}

// IsSubsetOf reports whether t contains every member of s, in O(r+w).
func (s Set) IsSubsetOf(t Set) bool {
	return s.count() <= t.count() && s.intersectLen(t) == uint64(s.count())
}

// Overlaps reports whether s and t have a common member, in O(r+w).
func (s Set) Overlaps(t Set) bool {
	if s.words != nil && t.words != nil {
		for k, w := range s.words[:min(len(s.words), len(t.words))] {
			if w&t.words[k] != 0 {
				return true
			}
		}
		return false
	}
	if s.words != nil {
		s, t = t, s
	}
	if t.words != nil {
		return slices.ContainsFunc(s.runs(), func(r run) bool { return t.countWithin(r) > 0 })
	}
	i, j := 0, 0
	_, ok := commonRun(s.runs(), t.runs(), &i, &j)
	return ok
}

// IntersectLen returns the number of common members of s and t, in O(r+w) and without
// allocating. It saturates like [Set.Len].
func (s Set) IntersectLen(t Set) int { return saturate(s.intersectLen(t)) }

func (s Set) intersectLen(t Set) (n uint64) {
	if s.words != nil && t.words != nil {
		for k, w := range s.words[:min(len(s.words), len(t.words))] {
			n += uint64(bits.OnesCount64(w & t.words[k]))
		}
		return n
	}
	if s.words != nil {
		s, t = t, s
	}
	if t.words != nil {
		for _, r := range s.runs() {
			n += t.countWithin(r)
		}
		return n
	}
	return countCommon(s.runs(), t.runs())
}

// countWithin returns the number of members in r.
func (s Set) countWithin(r run) (n uint64) {
	if s.words != nil {
		if r.last = min(r.last, s.max()); r.first > r.last {
			return 0
		}
		return countRun(s.words, r)
	}
	return countCommon(s.runs(), []run{r})
}

// Union returns the set of indexes in s or t, in O(r+w).
func (s Set) Union(t Set) Set {
	switch {
	case s.list == nil:
		return t
	case t.list == nil:
		return s
	case s.words == nil && t.words == nil:
		return ofRuns(unionRuns(s.runs(), t.runs()))
	case len(s.words) < len(t.words):
		s, t = t, s
	}
	if t.words == nil {
		return s.unionRuns(t.runs())
	}
	words, added := orWords(s.words, t.words)
	return s.changedTo(words, s.count()+added)
}

// unionRuns returns the union of s, a bitmap, with runs, which may end far behind it.
func (s Set) unionRuns(runs []run) Set {
	words, ok := grown(s.words, runs[len(runs)-1].last)
	if !ok {
		return ofRuns(unionRuns(runsOf(s.words), runs))
	}
	return s.changedTo(words, s.count()+fillRuns(words, runs))
}

// Intersect returns the set of indexes in both s and t, in O(r+w).
func (s Set) Intersect(t Set) Set {
	switch {
	case s.list == nil || t.list == nil:
		return Set{}
	case s.words == nil && t.words == nil:
		return ofRuns(intersectRuns(s.runs(), t.runs()))
	case s.words == nil || t.words != nil && len(t.words) < len(s.words):
		s, t = t, s
	}
	if t.words != nil {
		return s.changedTo(andWords(t.words, s.words))
	}
	words := slices.Clone(s.words[:wordsFor(min(s.max(), t.max()))])
	limit := uint32(64 * len(words))
	n := uint32(countRun(words, run{0, limit - 1}))
	t.eachGap(limit, func(gap run) bool {
		n -= clearRun(words, gap)
		return true
	})
	return s.changedTo(words, n)
}

// Minus returns the set of indexes in s but not in t, in O(r+w).
func (s Set) Minus(t Set) Set {
	switch {
	case s.list == nil || t.list == nil:
		return s
	case s.words == nil && t.words == nil:
		return ofRuns(minusRuns(s.runs(), t.runs()))
	case s.words == nil:
		return s.minusWords(t)
	}
	if t.words != nil {
		words, removed := andNotWords(s.words, t.words)
		return s.changedTo(words, s.count()-removed)
	}
	words, highest, n := slices.Clone(s.words), s.max(), s.count()
	for _, r := range runsUpTo(t.runs(), highest) {
		n -= clearRun(words, run{r.first, min(r.last, highest)})
	}
	return s.changedTo(words, n)
}

// minusWords returns s minus t, where only t is a bitmap. It builds a bitmap as long as
// t and adds the runs of s behind it.
func (s Set) minusWords(t Set) Set {
	limit, n := min(s.max(), t.max()), uint32(0)
	words := make([]uint64, wordsFor(limit))
	var tail []run
	for _, r := range s.runs() {
		if r.first <= limit {
			n += fillRun(words, run{r.first, min(r.last, limit)})
		}
		if r.last > limit {
			tail = append(tail, run{max(r.first, limit+1), r.last})
		}
	}
	words, removed := andNotWords(words, t.words)
	return ofWords(words, n-removed).Union(ofRuns(tail))
}

// runsUpTo returns the runs that start at or before i.
func runsUpTo(runs []run, i uint32) []run {
	k, _ := slices.BinarySearchFunc(runs, i+1, func(r run, i uint32) int { return cmp.Compare(r.first, i) })
	return runs[:k]
}

// Complement returns the set of indexes below limit that are not in s, in O(r+w). It
// clamps limit to 0..MaxIndex+1.
func (s Set) Complement(limit int) Set { return firstIndexes(limit).Minus(s) }

// Clip returns the members of s below limit, which it clamps like [Set.Complement], in
// O(r+w), or O(1) if the result is s.
func (s Set) Clip(limit int) Set {
	if s.list == nil || s.max() < clampLimit(limit) {
		return s
	}
	return s.Intersect(firstIndexes(limit))
}

// firstIndexes returns the set of all indexes below limit.
func firstIndexes(limit int) Set {
	if limit <= 0 {
		return Set{}
	}
	return ofRuns([]run{{0, clampLimit(limit) - 1}})
}

// With returns s with the given indexes added. It panics if one is outside 0..MaxIndex.
// It takes O(r+w) to copy s and O(1) per index, or O(log r) if s is not a bitmap.
func (s Set) With(indexes ...int) Set {
	if !slices.ContainsFunc(indexes, func(i int) bool { return !s.Contains(int(index(i))) }) {
		return s
	}
	if s.words == nil {
		return s.Union(Of(indexes...))
	}
	words, n := slices.Clone(s.words), s.count()
	for k, i := range indexes {
		w := uint(i) / 64
		if w >= uint(len(words)) {
			index(i) // panics unless i is an index
			longer, ok := grown(words, index(slices.Max(indexes[k:])))
			if !ok {
				return ofWords(words, n).Union(Of(indexes[k:]...))
			}
			words = longer
		}
		old := words[w]
		words[w] = old | 1<<(uint(i)%64)
		n += uint32(^old >> (uint(i) % 64) & 1)
	}
	return ofWords(words, n)
}

// Without returns s with the given indexes removed, ignoring non-members. It takes as
// long as [Set.With].
func (s Set) Without(indexes ...int) Set {
	if !slices.ContainsFunc(indexes, s.Contains) {
		return s
	}
	if s.words == nil {
		var b Builder
		for _, i := range indexes {
			if s.Contains(i) {
				b.Add(i)
			}
		}
		return s.Minus(b.Set())
	}
	words, n := slices.Clone(s.words), s.count()
	for _, i := range indexes {
		if w := uint(i) / 64; w < uint(len(words)) {
			n -= uint32(words[w] >> (uint(i) % 64) & 1)
			words[w] &^= 1 << (uint(i) % 64)
		}
	}
	return ofWords(words, n)
}
