package indexset

import "slices"

// A set becomes a bitmap if that takes at most twice the memory of its runs, and
// stays one until it takes eight times as much. A bitmap answers and merges many
// times faster, and a set that changes a little should not change its
// representation each time. A word takes as much memory as a run.
const (
	makeWords = 2
	keepWords = 8
)

// ofRuns returns the set of runs, which obey invariants 3 and 4. It may keep the
// slice.
func ofRuns(runs []run) Set {
	if len(runs) == 0 {
		return Set{}
	}
	if k := wordsFor(runs[len(runs)-1].last); k <= makeWords*len(runs) {
		words := make([]uint64, k)
		return Set{words, &runList{n: fillRuns(words, runs)}}
	}
	if cap(runs)-len(runs) > len(runs)/8 {
		runs = slices.Clone(runs)
	}
	return Set{list: newRunList(runs)}
}

// ofWords returns the set of the n members of words. It may keep the slice.
func ofWords(words []uint64, n uint32) Set {
	words = trim(words)
	switch {
	case n == 0:
		return Set{}
	case !hasRuns(words, len(words)/keepWords):
		return Set{list: newRunList(runsOf(words))}
	case cap(words)-len(words) > len(words)/8:
		words = slices.Clone(words)
	}
	return Set{words, &runList{n: n}}
}

// changedTo returns the set of the n members of words, which was made from s by
// only adding members or only removing some. If n says that nothing has changed,
// it returns s itself, so that both share their memory.
func (s Set) changedTo(words []uint64, n uint32) Set {
	if n == s.count() {
		return s
	}
	return ofWords(words, n)
}

// grown returns a copy of words that reaches index last; ok is false if that is
// not worth its memory.
func grown(words []uint64, last uint32) (longer []uint64, ok bool) {
	k := wordsFor(last)
	if k <= len(words) {
		return slices.Clone(words), true
	}
	if !hasRuns(words, k/keepWords) {
		return nil, false
	}
	longer = make([]uint64, k)
	copy(longer, words)
	return longer, true
}
