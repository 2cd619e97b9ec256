package indexset

import (
	"math/bits"
	"sync/atomic"
)

// A run is a Range in 8 bytes.
type run struct{ first, last uint32 }

func (r run) len() uint32  { return r.last - r.first + 1 }
func (r run) Range() Range { return Range{int(r.first), int(r.last)} }

// A runList holds the runs of a set, or only the number of members if the set is a
// bitmap.
type runList struct {
	n    uint32 // members
	runs []run
	dir  atomic.Pointer[directory] // created by the first search, nil before
}

// newRunList returns the list of one or more runs.
func newRunList(runs []run) *runList {
	n := uint32(0)
	for _, r := range runs {
		n += r.len()
	}
	return &runList{n: n, runs: runs}
}

// A directory speeds up searching a list of many runs. It divides the indexes into
// parts of 1<<shift, and starts[k] is the position of the first run that ends in part k
// or later. With a few runs in each part, the directory adds a fifth to the memory and
// saves most steps of a search.
type directory struct {
	shift  uint8
	starts []uint32
}

// shortList is the largest number of runs that a search handles as fast without a
// directory.
const shortList = 32

func newDirectory(runs []run) *directory {
	highest := runs[len(runs)-1].last
	shift := max(bits.Len32(highest)-bits.Len(uint(len(runs)))+2, 0) & 31
	starts := make([]uint32, highest>>shift+2)
	for k, r := range runs {
		starts[r.last>>shift+1] = uint32(k + 1) // up to run k, none ends in the next part
	}
	sofar := uint32(0)
	for part, k := range starts {
		sofar = max(sofar, k)
		starts[part] = sofar
	}
	return &directory{uint8(shift), starts}
}

// search returns the position of the first run that ends at i or later.
func (l *runList) search(i uint32) int {
	lo, hi := 0, len(l.runs)
	if hi > shortList {
		dir := l.dir.Load()
		if dir == nil {
			dir = newDirectory(l.runs)
			l.dir.Store(dir)
		}
		part := int(i >> (dir.shift & 31))
		if part+1 >= len(dir.starts) {
			return hi
		}
		lo, hi = int(dir.starts[part]), int(dir.starts[part+1])
	}
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if l.runs[mid].last < i {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// contains reports whether i is in a run. A nil list contains no index.
func (l *runList) contains(i int) bool {
	if l == nil || l.runs == nil || i < 0 || i > MaxIndex {
		return false
	}
	k := l.search(uint32(i))
	return k < len(l.runs) && l.runs[k].first <= uint32(i)
}

// appendRun appends r, which starts no earlier than the runs before it, and merges it
// with the last one if they touch.
func appendRun(runs []run, r run) []run {
	if k := len(runs) - 1; k >= 0 && r.first <= runs[k].last+1 {
		runs[k].last = max(runs[k].last, r.last)
		return runs
	}
	return append(runs, r)
}

// unionRuns returns the runs of the union of a and b, which must not be empty.
// Processors cannot predict which of the two comes next, and whether it touches the run
// before, so masks replace branches, which halves the time.
func unionRuns(a, b []run) []run {
	out := make([]run, len(a)+len(b))
	k, i, j := 0, 0, 0
	first := uint64(min(a[0].first, b[0].first)) // start of the run being joined
	last := first
	for i < len(a) && j < len(b) {
		x, y := a[i], b[j]
		fromB := less(uint64(y.first), uint64(x.first))
		i += int(fromB + 1)
		j -= int(fromB)
		next := pick(fromB, uint64(y.first), uint64(x.first))
		until := pick(fromB, uint64(y.last), uint64(x.last))

		out[k] = run{uint32(first), uint32(last)}
		apart := less(last+1, next)
		k -= int(apart)
		first = pick(apart, next, first)
		last = pick(less(last, until), until, last)
	}
	out[k] = run{uint32(first), uint32(last)}
	out = out[:k+1]
	for _, r := range a[i:] {
		out = appendRun(out, r)
	}
	for _, r := range b[j:] {
		out = appendRun(out, r)
	}
	return out
}

// less returns all ones if a < b, else zero. Both must be below 2^63.
func less(a, b uint64) (mask uint64) { return uint64(int64(a-b) >> 63) }

// pick returns the bits of yes where mask has ones, and the bits of no elsewhere.
func pick(mask, yes, no uint64) uint64 { return no ^ (no^yes)&mask }

// commonRun returns the first run common to a[*i:] and b[*j:] and moves *i and *j
// behind it; ok is false if they have no common run.
func commonRun(a, b []run, i, j *int) (r run, ok bool) {
	k, l := *i, *j
	for k < len(a) && l < len(b) && !ok {
		x, y := a[k], b[l]
		endsInA := less(uint64(x.last), uint64(y.last))
		k -= int(endsInA)
		l += int(endsInA + 1)
		r = run{max(x.first, y.first), min(x.last, y.last)}
		ok = r.first <= r.last
	}
	*i, *j = k, l
	return r, ok
}

// intersectRuns returns the runs of the intersection of a and b.
func intersectRuns(a, b []run) (out []run) {
	i, j := 0, 0
	for r, ok := commonRun(a, b, &i, &j); ok; r, ok = commonRun(a, b, &i, &j) {
		out = append(out, r)
	}
	return out
}

// countCommon returns the number of indexes in both a and b.
func countCommon(a, b []run) (n uint64) {
	i, j := 0, 0
	for r, ok := commonRun(a, b, &i, &j); ok; r, ok = commonRun(a, b, &i, &j) {
		n += uint64(r.len())
	}
	return n
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
