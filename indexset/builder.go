package indexset

import (
	"fmt"
	"math/bits"
	"slices"
	"sort"
)

// A Builder collects indexes, in any order, into a [Set]. Adding one takes O(1) if they
// are dense enough for a bitmap, and otherwise O(log r).
//
// The zero value is ready to use. A Builder must not be copied after first use.
type Builder struct {
	// Invariants:
	// 1. one of words and blocks is nil;
	// 2. no block is empty or has more than blockLen runs; all of them, one
	//    after another, obey invariants 3 and 4 of Set;
	// 3. runs is how many runs the blocks have;
	// 4. n is the number of members.
	words  []uint64 // may have zeros at the end
	blocks [][]run
	runs   int
	wait   int // runs to add before considering a bitmap again
	n      uint32
}

// blockLen is the maximum number of runs in a block. Moving half of them takes about as
// long as finding the block.
const blockLen = 256

// Add adds i and reports whether it was new. It panics if i is outside 0..MaxIndex.
func (b *Builder) Add(i int) bool { return add(b, i, (*Builder).addOne) }

// add adds i to the bitmap, or calls other if the bitmap does not reach i. Calling
// through a parameter lets the compiler inline Add, which nearly halves its time.
func add(b *Builder, i int, other func(*Builder, int) bool) bool {
	w, bit := uint(i)/64, uint64(1)<<(uint(i)%64)
	if w >= uint(len(b.words)) {
		return other(b, i)
	}
	isNew := b.words[w]&bit == 0
	if isNew {
		b.words[w] |= bit
		b.n++
	}
	return isNew
}

func (b *Builder) addOne(i int) bool { return b.addRun(run{index(i), index(i)}) > 0 }

// AddRange adds first to last, both included. It is a no-op if last < first, and panics
// if an index is outside 0..MaxIndex.
func (b *Builder) AddRange(first, last int) {
	if first <= last {
		b.addRun(run{index(first), index(last)})
	}
}

// addRun adds r and returns the number of new indexes.
func (b *Builder) addRun(r run) (added uint32) {
	if b.stretchTo(r.last) {
		added = fillRun(b.words, r)
	} else {
		added = b.insert(r)
	}
	b.n += added
	return added
}

// stretchTo reports whether the builder has a bitmap that reaches index i. It lengthens
// a shorter bitmap if that is worth the memory, and otherwise replaces it with blocks.
func (b *Builder) stretchTo(i uint32) bool {
	k := wordsFor(i)
	switch {
	case k <= len(b.words):
		return true
	case b.words == nil:
		return false
	case hasRuns(b.words, k/keepWords):
		longer := make([]uint64, max(k, min(len(b.words)*3/2, wordsFor(MaxIndex))))
		copy(longer, b.words)
		b.words = longer
		return true
	}
	runs := runsOf(b.words)
	b.words, b.runs, b.wait = nil, len(runs), len(runs)/4
	for part := range slices.Chunk(runs, blockLen/2) {
		b.blocks = append(b.blocks, slices.Clone(part))
	}
	return false
}

// insert adds r to the blocks and returns the number of new indexes.
func (b *Builder) insert(r run) (added uint32) {
	block, at := b.find(max(r.first, 1) - 1)
	next, to := block, at // behind the runs that touch r and merge into it
	taken := uint32(0)
	for next < len(b.blocks) && b.blocks[next][to].first <= r.last+1 {
		q := b.blocks[next][to]
		r = run{min(r.first, q.first), max(r.last, q.last)}
		taken += q.len()
		b.runs--
		if to++; to == len(b.blocks[next]) {
			next, to = next+1, 0
		}
	}
	switch {
	case next == block && block < len(b.blocks):
		b.blocks[block] = slices.Replace(b.blocks[block], at, to, r)
	case len(b.blocks) == 0:
		b.blocks = [][]run{{r}}
	default:
		if block == len(b.blocks) {
			block, at = block-1, len(b.blocks[block-1])
		}
		if to > 0 {
			b.blocks[next] = slices.Delete(b.blocks[next], 0, to)
		}
		b.blocks[block] = append(b.blocks[block][:at], r)
		b.blocks = slices.Delete(b.blocks, block+1, next)
	}
	b.runs++
	b.settle(block)
	b.densify()
	return r.len() - taken
}

// find returns the block of the first run that ends at i or later and the run's
// position there. Without such a run, block is len(b.blocks).
func (b *Builder) find(i uint32) (block, at int) {
	block = sort.Search(len(b.blocks), func(k int) bool { return b.blocks[k][len(b.blocks[k])-1].last >= i })
	if block == len(b.blocks) {
		return block, 0
	}
	runs := b.blocks[block]
	return block, sort.Search(len(runs), func(k int) bool { return runs[k].last >= i })
}

// settle restores invariant 2 after a block has changed by one run.
func (b *Builder) settle(block int) {
	switch runs := b.blocks[block]; {
	case len(runs) == 0:
		b.blocks = slices.Delete(b.blocks, block, block+1)
	case len(runs) > blockLen:
		b.blocks[block] = runs[:blockLen/2]
		b.blocks = slices.Insert(b.blocks, block+1, slices.Clone(runs[blockLen/2:]))
	}
}

// densify replaces the blocks with a bitmap if that is worth the memory, but not
// shortly after giving up a bitmap.
func (b *Builder) densify() {
	if b.wait > 0 {
		b.wait--
		return
	}
	tail := b.blocks[len(b.blocks)-1]
	k := wordsFor(tail[len(tail)-1].last)
	if k > makeWords*b.runs {
		return
	}
	b.words = make([]uint64, k)
	for _, runs := range b.blocks {
		fillRuns(b.words, runs)
	}
	b.blocks, b.runs = nil, 0
}

// Remove removes i and reports whether it was a member.
func (b *Builder) Remove(i int) bool {
	if !b.Contains(i) {
		return false
	}
	b.n--
	at := uint32(i)
	if b.words != nil {
		b.words[at/64] &^= 1 << (at % 64)
		return true
	}
	block, k := b.find(at)
	r := b.blocks[block][k]
	left := make([]run, 0, 2)
	if r.first < at {
		left = append(left, run{r.first, at - 1})
	}
	if at < r.last {
		left = append(left, run{at + 1, r.last})
	}
	b.blocks[block] = slices.Replace(b.blocks[block], k, k+1, left...)
	b.runs += len(left) - 1
	b.settle(block)
	return true
}

// AddSet adds the members of s.
func (b *Builder) AddSet(s Set) {
	switch {
	case s.words != nil && b.n == 0:
		*b = Builder{words: slices.Clone(s.words), n: s.count()}
	case s.words != nil && b.words != nil && b.stretchTo(s.max()):
		for k, w := range s.words {
			b.n += uint32(bits.OnesCount64(w &^ b.words[k]))
			b.words[k] |= w
		}
	default:
		s.eachRun(func(r run) bool {
			b.addRun(r)
			return true
		})
	}
}

// Contains reports whether i has been collected. It takes as long as [Builder.Add].
func (b *Builder) Contains(i int) bool {
	if w := uint(i) / 64; w < uint(len(b.words)) {
		return b.words[w]>>(uint(i)%64)&1 != 0
	}
	if i < 0 || i > MaxIndex {
		return false
	}
	block, at := b.find(uint32(i))
	return block < len(b.blocks) && b.blocks[block][at].first <= uint32(i)
}

// Len returns the number of collected indexes, in O(1). It saturates like [Set.Len].
func (b *Builder) Len() int { return saturate(uint64(b.n)) }

// Set returns the set of indexes collected so far, in O(r+w). The builder remains
// usable.
func (b *Builder) Set() Set {
	if b.words != nil {
		return ofWords(slices.Clone(trim(b.words)), b.n)
	}
	return ofRuns(slices.Concat(b.blocks...))
}

// Reset empties the builder and releases its memory.
func (b *Builder) Reset() { *b = Builder{} }

// valid returns an error for the first violated invariant. Tests call it.
func (b *Builder) valid() error {
	var n uint64
	if b.words != nil && b.blocks != nil {
		return fmt.Errorf("indexset: builder: invariant 1: %d words and %d blocks", len(b.words), len(b.blocks))
	}
	for _, w := range b.words {
		n += uint64(bits.OnesCount64(w))
	}
	runs := 0
	before := uint64(0) // smallest index that may come next
	for _, block := range b.blocks {
		if len(block) == 0 || len(block) > blockLen {
			return fmt.Errorf("indexset: builder: invariant 2: %d runs in a block", len(block))
		}
		for _, r := range block {
			if uint64(r.first) < before || r.last < r.first || r.last > MaxIndex {
				return fmt.Errorf("indexset: builder: invariant 2: run %v before %d", r, before)
			}
			before = uint64(r.last) + 2
			n += uint64(r.len())
			runs++
		}
	}
	if runs != b.runs {
		return fmt.Errorf("indexset: builder: invariant 3: runs is %d, there are %d", b.runs, runs)
	}
	if n != uint64(b.n) {
		return fmt.Errorf("indexset: builder: invariant 4: n is %d, members are %d", b.n, n)
	}
	return nil
}
