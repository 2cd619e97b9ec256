package indexset

import "math/bits"

// A bitmap has a word for every 64 indexes; index i is bit i%64 of word i/64.

// wordsFor returns the number of words of a bitmap that ends with index last.
func wordsFor(last uint32) int { return int(last/64) + 1 }

// span returns the position of r in a bitmap. It occupies the words lo to hi, the bits
// of head in the first word and those of tail in the last, and the bits common to both
// if lo is hi.
func (r run) span() (lo, hi int, head, tail uint64) {
	return int(r.first / 64), int(r.last / 64), ^uint64(0) << (r.first % 64), ^uint64(0) >> (63 - r.last%64)
}

// fillRun adds r and returns the number of new indexes.
func fillRun(words []uint64, r run) (added uint32) {
	k, hi, m, tail := r.span()
	for ; k < hi; k++ {
		added += uint32(bits.OnesCount64(m &^ words[k]))
		words[k] |= m
		m = ^uint64(0)
	}
	m &= tail
	added += uint32(bits.OnesCount64(m &^ words[k]))
	words[k] |= m
	return added
}

// clearRun removes r and returns the number of removed members.
func clearRun(words []uint64, r run) (removed uint32) {
	k, hi, m, tail := r.span()
	for ; k < hi; k++ {
		removed += uint32(bits.OnesCount64(m & words[k]))
		words[k] &^= m
		m = ^uint64(0)
	}
	m &= tail
	removed += uint32(bits.OnesCount64(m & words[k]))
	words[k] &^= m
	return removed
}

// countRun returns the number of members in r.
func countRun(words []uint64, r run) (n uint64) {
	k, hi, m, tail := r.span()
	for ; k < hi; k++ {
		n += uint64(bits.OnesCount64(m & words[k]))
		m = ^uint64(0)
	}
	return n + uint64(bits.OnesCount64(m&tail&words[k]))
}

// fillRuns adds runs and returns the number of new indexes.
func fillRuns(words []uint64, runs []run) (added uint32) {
	for _, r := range runs {
		added += fillRun(words, r)
	}
	return added
}

// orWords returns the union of two bitmaps and the number of indexes new to long. short
// must not be longer than long.
func orWords(long, short []uint64) (out []uint64, added uint32) {
	out = make([]uint64, len(long))
	head, old := out[:len(short)], long[:len(short)]
	for k, w := range short {
		added += uint32(bits.OnesCount64(w &^ old[k]))
		head[k] = w | old[k]
	}
	copy(out[len(short):], long[len(short):])
	return out, added
}

// andWords returns the intersection of two bitmaps and its number of members. short
// must not be longer than long.
func andWords(long, short []uint64) (out []uint64, n uint32) {
	out = make([]uint64, len(short))
	out, long = out[:len(short)], long[:len(short)]
	for k, w := range short {
		w &= long[k]
		n += uint32(bits.OnesCount64(w))
		out[k] = w
	}
	return out, n
}

// andNotWords returns words without the members of other, and the number of removed
// members.
func andNotWords(words, other []uint64) (out []uint64, removed uint32) {
	out = make([]uint64, len(words))
	k := min(len(words), len(other))
	head, old := out[:k], words[:k]
	for k, w := range other[:k] {
		removed += uint32(bits.OnesCount64(w & old[k]))
		head[k] = old[k] &^ w
	}
	copy(out[k:], words[k:])
	return out, removed
}

// nextSet returns the first member from i on; ok is false without such a member.
func nextSet(words []uint64, i uint32) (next uint32, ok bool) {
	k := int(i / 64)
	if k >= len(words) {
		return 0, false
	}
	for w := words[k] >> (i % 64) << (i % 64); ; w = words[k] {
		if w != 0 {
			return uint32(64*k + bits.TrailingZeros64(w)), true
		}
		if k++; k == len(words) {
			return 0, false
		}
	}
}

// nextClear returns the first non-member from i on; i must be within the words.
func nextClear(words []uint64, i uint32) uint32 {
	k := int(i / 64)
	for w := ^words[k] >> (i % 64) << (i % 64); ; w = ^words[k] {
		if w != 0 {
			return uint32(64*k + bits.TrailingZeros64(w))
		}
		if k++; k == len(words) {
			return uint32(64 * k)
		}
	}
}

// countRuns returns the number of runs by counting members that follow a non-member.
func countRuns(words []uint64) int {
	n, before := 0, uint64(0)
	for _, w := range words {
		n += bits.OnesCount64(w &^ (w<<1 | before))
		before = w >> 63
	}
	return n
}

// hasRuns reports whether words have at least atLeast runs. It stops as soon as the
// answer is known.
func hasRuns(words []uint64, atLeast int) bool {
	n, before := 0, uint64(0)
	for _, w := range words {
		if n >= atLeast {
			return true
		}
		n += bits.OnesCount64(w &^ (w<<1 | before))
		before = w >> 63
	}
	return n >= atLeast
}

// runsOf returns the runs of a bitmap.
func runsOf(words []uint64) []run {
	runs := make([]run, 0, countRuns(words))
	for first, ok := nextSet(words, 0); ok; {
		after := nextClear(words, first)
		runs = append(runs, run{first, after - 1})
		first, ok = nextSet(words, after)
	}
	return runs
}

// trim removes zero words from the end.
func trim(words []uint64) []uint64 {
	for len(words) > 0 && words[len(words)-1] == 0 {
		words = words[:len(words)-1]
	}
	return words
}
