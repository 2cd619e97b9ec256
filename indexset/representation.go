package indexset

import "slices"

// A set becomes a bitmap if that takes at most twice the memory of its runs, and
// remains one up to eight times the memory. A bitmap answers and merges many times
// faster, and the gap between the factors keeps small changes from switching the
// representation each time. A word takes as much memory as a run.
const (
	makeWords = 2
	keepWords = 8
)

// ofRuns returns the set of runs, which must satisfy invariants 3 and 4. It may keep
// the slice.
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

// changedTo returns the set of the n members of words, made from s by either adding or
// removing members. If n shows no change, changedTo returns s to share its memory.
func (s Set) changedTo(words []uint64, n uint32) Set {
	if n == s.count() {
		return s
	}
	return ofWords(words, n)
}

// grown returns a copy of words that reaches index last; ok is false if the copy is not
// worth its memory.
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
