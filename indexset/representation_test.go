package indexset

import (
	"slices"
	"testing"
)

// An operation that changes nothing returns its operand, not a copy.
func TestUnchangedSetsAreShared(t *testing.T) {
	for name, s := range map[string]Set{"bitmap": Fragmented(1000), "runs": FarApart()} {
		few := Of(2000, 4000000).Intersect(s)
		for operation, got := range map[string]Set{
			"Union with nothing":        s.Union(Set{}),
			"Union of nothing":          Set{}.Union(s),
			"With members":              s.With(0, 0),
			"With nothing":              s.With(),
			"Without strangers":         s.Without(999001, -1, MaxIndex),
			"Minus nothing":             s.Minus(Set{}),
			"Clip above":                s.Clip(MaxIndex),
			"Clip right above the last": s.Clip(int(s.max()) + 1),
		} {
			if got.list != s.list {
				t.Errorf("%s: %s is a copy", name, operation)
			}
		}
		if s.words == nil {
			continue
		}
		for operation, got := range map[string]Set{
			"Union with a part":       s.Union(few),
			"Union with a bitmap":     s.Union(s.Clip(500)),
			"Intersect with all":      s.Intersect(FromRange(0, MaxIndex)),
			"Intersect with a bitmap": s.Intersect(s.With(999)),
			"Minus strangers":         s.Minus(Of(1, 3, 5000)),
			"Minus a bitmap":          s.Minus(s.Complement(900)),
		} {
			if got.list != s.list {
				t.Errorf("%s: %s is a copy", name, operation)
			}
		}
	}
}

// An index far behind a bitmap does not stretch it.
func TestFarIndexesDoNotStretchBitmaps(t *testing.T) {
	for operation, do := range withFarIndex() {
		if got := do(); got.HeldBytes() > 1<<18 || got.valid() != nil || got.Settled() != nil {
			t.Errorf("%s: %d bytes for %d ranges: %v, %v", operation, got.HeldBytes(), got.NumRanges(), got.valid(), got.Settled())
		}
	}
}

// withFarIndex returns operations whose result has a dense part and an index far behind it.
func withFarIndex() map[string]func() Set {
	s, far := Fragmented(10000), Of(MaxIndex)
	return map[string]func() Set{
		"With":              func() Set { return s.With(MaxIndex) },
		"Union":             func() Set { return s.Union(far) },
		"Union of the rest": func() Set { return far.Union(s) },
		"Complement":        func() Set { return s.Complement(MaxIndex) },
		"of all":            func() Set { return FromRange(0, MaxIndex).Minus(s) },
		"Builder": func() Set {
			var b Builder
			b.AddSet(s)
			b.Add(MaxIndex)
			return b.Set()
		},
	}
}

// Results keep little spare memory.
func TestResultsHoldLittleSpareMemory(t *testing.T) {
	s, far := Fragmented(100000), FarApart()
	for operation, got := range map[string]Set{
		"Clip":                 s.Clip(1000),
		"Intersect":            s.Intersect(FromRange(0, 1000)),
		"Minus":                s.Minus(FromRange(1000, MaxIndex)),
		"Without the last":     far.Minus(FromRange(6000000, MaxIndex)),
		"Union of the same":    far.Union(far),
		"Parse of pairs":       MustParse("1000000,1000001,3000000,3000001,5000000,5000001,7000000,7000001,9000000,9000001"),
		"Parse of single ones": MustParse("1000000,1000001,1000002,1000003,1000004,1000005,1000006,1000007,1000008,1000009"),
	} {
		if n, room := len(got.words)+len(got.runs()), cap(got.words)+cap(got.runs()); room > n+n/4+1 {
			t.Errorf("%s: room for %d words or runs, there are %d", operation, room, n)
		}
	}
}

// A set becomes a bitmap if that takes at most twice the memory of its runs, however it
// is created.
func TestBitmapIsMadeUpToTwiceTheMemory(t *testing.T) {
	const runs = 20
	for k, want := range map[int]bool{2*runs - 1: true, 2 * runs: true, 2*runs + 1: false, 8 * runs: false} {
		indexes := singles(runs-1, 64*k-1)
		var b Builder
		for _, i := range slices.Backward(indexes) { // the last one first: no bitmap is worth it then
			b.Add(i)
		}
		s := ofRuns(runsAt(indexes))
		for how, words := range map[string][]uint64{
			"of runs": s.words, "parsed": MustParse(s.String()).words, "collected": b.words, "taken": b.Set().words,
		} {
			if (words != nil) != want {
				t.Errorf("%d runs up to word %d, %s: a bitmap is %v, want %v", runs, k, how, words != nil, want)
			}
		}
	}
}

// A bitmap remains one up to eight times the memory of its runs.
func TestBitmapIsKeptUpToEightTimesTheMemory(t *testing.T) {
	const runs = 20
	few := Of(singles(runs)...) // a bitmap of one word
	for k, want := range map[int]bool{2 * runs: true, 8 * runs: true, 8*runs + 7: true, 8*runs + 8: false} {
		last := 64*k - 1
		var b Builder
		b.AddSet(few)
		b.Add(last)
		words := make([]uint64, k)
		n := fillRuns(words, runsAt(singles(runs-1, last)))
		for how, words := range map[string][]uint64{
			"With": few.With(last).words, "Union": few.Union(Of(last)).words, "collected": b.words, "of words": ofWords(words, n).words,
		} {
			if (words != nil) != want {
				t.Errorf("%d runs and word %d, %s: a bitmap is %v, want %v", runs, k, how, words != nil, want)
			}
		}
	}
}

// singles returns n indexes that do not touch, and more.
func singles(n int, more ...int) (indexes []int) {
	for i := range n {
		indexes = append(indexes, 2*i)
	}
	return append(indexes, more...)
}

// runsAt returns a run for each index.
func runsAt(indexes []int) (runs []run) {
	for _, i := range indexes {
		runs = append(runs, run{uint32(i), uint32(i)})
	}
	return runs
}

// A builder that gave up its bitmap for a far index can return to a bitmap.
func TestBuilderBecomesABitmapAgain(t *testing.T) {
	var b Builder
	for i := range 1000 {
		b.Add(2 * i)
	}
	b.Add(1 << 20)
	if b.words != nil {
		t.Fatalf("a bitmap of %d words for 1001 runs", len(b.words))
	}
	b.Remove(1 << 20)
	for i := range 1000 {
		b.Add(2000 + 2*i)
	}
	if b.words == nil || b.valid() != nil {
		t.Errorf("no bitmap for %d runs below 4000: %v", b.runs, b.valid())
	}
}

// An empty builder takes over a set's bitmap.
func TestBuilderTakesOverABitmap(t *testing.T) {
	s := Fragmented(64 * 160).Minus(FromRange(0, 64*160-41)) // 20 runs in 160 words
	var b Builder
	b.AddSet(s)
	if s.words == nil || b.words == nil || !b.Set().Equal(s) {
		t.Errorf("a bitmap of %d words became one of %d", len(s.words), len(b.words))
	}
}

// A builder adds a range within its bitmap to the bitmap, however few runs remain.
func TestBuilderKeepsABitmapThatReaches(t *testing.T) {
	var b Builder
	for i := range 6400 {
		b.Add(2 * i)
	}
	words := len(b.words)
	for i := range 6399 {
		b.Remove(2 * i)
	}
	b.AddRange(64*words-3, 64*words-1)
	if len(b.words) != words || b.valid() != nil {
		t.Errorf("a bitmap of %d words became one of %d: %v", words, len(b.words), b.valid())
	}
}
