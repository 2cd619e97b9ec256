package indexset

import (
	"cmp"
	"math/bits"
	"slices"
)

// A set has one of two forms, a list of runs or a bitmap. These functions make one and
// decide which form is shorter.

// ofRuns returns the set of increasing runs that do not touch. It may keep the
// slice.
func ofRuns(runs []run) Set {
	if len(runs) == 0 {
		return Set{}
	}
	n := uint32(0)
	for _, r := range runs {
		n += r.len()
	}
	if k := wordsFor(runs[len(runs)-1].last); k <= len(runs) {
		words := make([]uint64, k)
		for _, r := range runs {
			fillRun(words, r)
		}
		return Set{words, &runList{n: n}}
	}
	if cap(runs) > len(runs)+len(runs)/4 {
		runs = slices.Clone(runs)
	}
	return Set{list: &runList{n, runs}}
}

// ofWords returns the set of the members of words. It may keep the slice.
func ofWords(words []uint64) Set {
	k := len(words)
	for k > 0 && words[k-1] == 0 {
		k--
	}
	n, runs := 0, countRuns(words[:k])
	for _, w := range words[:k] {
		n += bits.OnesCount64(w)
	}
	switch {
	case k == 0:
		return Set{}
	case k > runs:
		return Set{list: &runList{uint32(n), runsOf(words[:k])}}
	case len(words) > k+k/4:
		words = slices.Clone(words[:k])
	}
	return Set{words[:k], &runList{n: uint32(n)}}
}

// appendRun appends r, which starts no earlier than the runs before it, and joins it
// with the last one if they touch.
func appendRun(runs []run, r run) []run {
	if k := len(runs) - 1; k >= 0 && r.first <= runs[k].last+1 {
		runs[k].last = max(runs[k].last, r.last)
		return runs
	}
	return append(runs, r)
}

// joined sorts runs in place and joins those that touch.
func joined(runs []run) []run {
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.first, b.first) })
	out := runs[:0]
	for _, r := range runs {
		out = appendRun(out, r)
	}
	return out
}

// unionRuns returns the runs of the union of a and b.
func unionRuns(a, b []run) []run {
	out := make([]run, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].first <= b[0].first {
			out, a = appendRun(out, a[0]), a[1:]
		} else {
			out, b = appendRun(out, b[0]), b[1:]
		}
	}
	for _, r := range a {
		out = appendRun(out, r)
	}
	for _, r := range b {
		out = appendRun(out, r)
	}
	return out
}

// eachCommon calls do with each run of the intersection of a and b.
func eachCommon(a, b []run, do func(run)) {
	for len(a) > 0 && len(b) > 0 {
		if first, last := max(a[0].first, b[0].first), min(a[0].last, b[0].last); first <= last {
			do(run{first, last})
		}
		if a[0].last < b[0].last {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
}

// intersectRuns returns the runs of the intersection of a and b.
func intersectRuns(a, b []run) (out []run) {
	eachCommon(a, b, func(r run) { out = append(out, r) })
	return out
}

// minusRuns returns the runs of the indexes in a but not in b.
func minusRuns(a, b []run) []run {
	out := make([]run, 0, len(a))
	for _, r := range a {
		for len(b) > 0 && b[0].last < r.first {
			b = b[1:]
		}
		for k := 0; k < len(b) && b[k].first <= r.last; k++ {
			if r.first < b[k].first {
				out = append(out, run{r.first, b[k].first - 1})
			}
			r.first = b[k].last + 1
		}
		if r.first <= r.last {
			out = append(out, r)
		}
	}
	return out
}

// wordsFor returns the number of words of a bitmap that ends with index last.
func wordsFor(last uint32) int { return int(last/64) + 1 }

// masks returns the words, from lo to hi, that r occupies in a bitmap, and its bits in
// the first and in the last of them. If both are the same word, its bits are common to
// both masks.
func (r run) masks() (lo, hi int, head, tail uint64) {
	return int(r.first / 64), int(r.last / 64), ^uint64(0) << (r.first % 64), ^uint64(0) >> (63 - r.last%64)
}

// fillRun adds the indexes of r, which must be within the words.
func fillRun(words []uint64, r run) {
	k, hi, mask, tail := r.masks()
	for ; k < hi; k++ {
		words[k] |= mask
		mask = ^uint64(0)
	}
	words[k] |= mask & tail
}

// countRun returns how many members of words are in r. The run may end above the words.
func countRun(words []uint64, r run) (n uint64) {
	end := 64 * uint32(len(words))
	if r.first >= end {
		return 0
	}
	r.last = min(r.last, end-1)
	k, hi, mask, tail := r.masks()
	for ; k < hi; k++ {
		n += uint64(bits.OnesCount64(mask & words[k]))
		mask = ^uint64(0)
	}
	return n + uint64(bits.OnesCount64(mask&tail&words[k]))
}

// runEdges returns the bits of word k at which a run of members starts, and those at
// which one ends. A run of one member starts and ends at the same bit.
func runEdges(words []uint64, k int) (starts, ends uint64) {
	w := words[k]
	lower, upper := w<<1, w>>1 // bit i is bit i-1, and bit i+1, of w
	if k > 0 {
		lower |= words[k-1] >> 63
	}
	if k+1 < len(words) {
		upper |= words[k+1] << 63
	}
	return w &^ lower, w &^ upper
}

// countRuns returns the number of runs of a bitmap.
func countRuns(words []uint64) (n int) {
	for k := range words {
		starts, _ := runEdges(words, k)
		n += bits.OnesCount64(starts)
	}
	return n
}

// runsOf returns the runs of a bitmap.
func runsOf(words []uint64) []run {
	runs := make([]run, 0, countRuns(words))
	for r := range (Set{words: words}).eachRun {
		runs = append(runs, r)
	}
	return runs
}
