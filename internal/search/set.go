package search

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
)

// fingerprint returns the fingerprint of an encoding, never 0.
func fingerprint(state []byte) uint64 {
	const a, b = 0xa0761d6478bd642f, 0xe7037ed1a0b428db
	h := uint64(len(state)) ^ b
	for len(state) >= 8 {
		h = fold(h^a, binary.LittleEndian.Uint64(state)^b)
		state = state[8:]
	}
	var rest [8]byte
	copy(rest[:], state)
	h = fold(h^a, binary.LittleEndian.Uint64(rest[:])^b)
	return max(fold(h, a), 1)
}

func fold(x, y uint64) uint64 {
	high, low := bits.Mul64(x, y)
	return high ^ low
}

// entry is a visited state.
type entry struct {
	print   uint64
	parent  uint64 // whose step led here first
	calm    uint64 // next state of a run without faults, 0 for none
	ordinal uint16 // of the parent's step
	depth   uint16

	expanded bool
	mark     mark
}

// mark is the outcome of the calm steps from a state.
type mark uint8

const (
	unmarked mark = iota
	onPath
	ending // or not known, because a state ahead was not expanded
	endless
)

// set is a set of states by fingerprint. It is safe for concurrent use.
type set struct{ shards [256]shard }

// shard holds the states whose fingerprints share their highest bits, in a hash table
// with linear probing.
type shard struct {
	mu    sync.Mutex
	slots []entry
	used  int
}

func newSet() *set {
	s := new(set)
	for i := range s.shards {
		s.shards[i].slots = make([]entry, 16)
	}
	return s
}

func (s *set) shard(print uint64) *shard { return &s.shards[print>>56] }

func (s *set) len() int {
	n := 0
	for i := range s.shards {
		n += s.shards[i].used
	}
	return n
}

// add reports whether the state is new. Of several parents at the same depth it keeps
// the one with the least fingerprint, then ordinal, so that the order of additions
// within a depth does not matter.
func (s *set) add(e entry) bool {
	h := s.shard(e.print)
	h.mu.Lock()
	defer h.mu.Unlock()
	slot := h.find(e.print)
	if slot.print != 0 {
		if slot.depth == e.depth && (e.parent < slot.parent || e.parent == slot.parent && e.ordinal < slot.ordinal) {
			slot.parent, slot.ordinal = e.parent, e.ordinal
		}
		return false
	}
	*slot = e
	if h.used++; 4*h.used > 3*len(h.slots) {
		old := h.slots
		h.slots = make([]entry, 2*len(old))
		for i := range old {
			if old[i].print != 0 {
				*h.find(old[i].print) = old[i]
			}
		}
	}
	return true
}

// find returns the slot of the state, or the free slot for it.
func (h *shard) find(print uint64) *entry {
	most := uint64(len(h.slots) - 1)
	for i := print & most; ; i = (i + 1) & most {
		if h.slots[i].print == print || h.slots[i].print == 0 {
			return &h.slots[i]
		}
	}
}

// get returns the entry of a visited state.
func (s *set) get(print uint64) *entry { return s.shard(print).find(print) }

// expanded records that the steps from the state were visited, the next state of a run
// without faults, and whether the state is an end.
func (s *set) expanded(print, calm uint64, end bool) {
	h := s.shard(print)
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.find(print)
	if e.expanded, e.calm = true, calm; end {
		e.mark = ending
	}
}

// path returns the ordinals of the steps from the root to a state.
func (s *set) path(root, print uint64) (ordinals []int) {
	for print != root {
		e := s.get(print)
		ordinals = append(ordinals, int(e.ordinal))
		print = e.parent
	}
	slices.Reverse(ordinals)
	return ordinals
}

// endless returns the state nearest to the start from which the calm steps lead neither
// to an end nor to a state that was not expanded, and the number of these steps.
func (s *set) endless() (nearest entry, loop int, found bool) {
	var path []*entry
	for i := range s.shards {
		for j := range s.shards[i].slots {
			e := &s.shards[i].slots[j]
			if e.print == 0 {
				continue
			}
			if s.markFrom(e, &path) == endless && (!found || e.depth < nearest.depth || e.depth == nearest.depth && e.print < nearest.print) {
				nearest, found = *e, true
			}
		}
	}
	if !found {
		return entry{}, 0, false
	}
	seen := map[uint64]bool{}
	for e := nearest; e.calm != 0 && !seen[e.print]; e = *s.get(e.calm) {
		seen[e.print] = true
	}
	return nearest, len(seen), true
}

// markFrom returns the mark of e. It follows the calm steps until they reach a marked
// state, run in a circle or stop, and gives all states on the way the same mark.
func (s *set) markFrom(e *entry, path *[]*entry) mark {
	passed := (*path)[:0]
	for e.mark == unmarked && e.calm != 0 {
		e.mark = onPath
		passed = append(passed, e)
		e = s.get(e.calm)
	}
	switch {
	case e.mark == onPath: // in a circle
		e.mark = endless
	case e.mark == unmarked && e.expanded: // at rest
		e.mark = endless
	case e.mark == unmarked:
		e.mark = ending
	}
	for _, p := range passed {
		p.mark = e.mark
	}
	*path = passed
	return e.mark
}
