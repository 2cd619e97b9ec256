package indexset

import (
	"strings"
	"testing"
)

// A set is stored in the form that takes less memory, however it is made.
func TestSetHasTheShorterForm(t *testing.T) {
	const runs = 20
	for words, want := range map[int]bool{runs - 1: true, runs: true, runs + 1: false, 8 * runs: false} {
		var indexes []int
		for i := range runs - 1 {
			indexes = append(indexes, 2*i)
		}
		last := 64*words - 1
		few := Of(indexes...)
		s := few.With(last)
		for how, got := range map[string]Set{
			"With": s, "Of": Of(append(indexes, last)...), "Parse": MustParse(s.String()), "Union": few.Union(Of(last)),
			"Minus": few.With(last, 1<<20).Minus(Of(1 << 20)), "Intersect": s.Intersect(FromRange(0, last)), "Clip": few.With(last, 1<<20).Clip(last + 1),
		} {
			if err := got.valid(); (got.words != nil) != want || err != nil || !got.Equal(s) {
				t.Errorf("%d runs up to word %d, %s: a bitmap is %v, want %v: %v", runs, words, how, got.words != nil, want, err)
			}
		}
	}
}

// An operation that cannot change a set returns it, not a copy.
func TestUnchangedSetsAreShared(t *testing.T) {
	for name, s := range map[string]Set{"bitmap": Fragmented(1000), "runs": FarApart()} {
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
	}
}

// An index far behind a dense part does not stretch it to a long bitmap.
func TestFarIndexesDoNotStretchBitmaps(t *testing.T) {
	for operation, do := range withFarIndex() {
		if got := do(); got.HeldBytes() > 1<<18 || got.valid() != nil {
			t.Errorf("%s: %d bytes: %v", operation, got.HeldBytes(), got.valid())
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
		"Minus":             func() Set { return FromRange(0, MaxIndex).Minus(s) },
		"Minus a dense set": func() Set { return far.Minus(s) },
		"Parse":             func() Set { return MustParse(s.String() + ",2147483647") },
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

// The tests rely on valid. So each invariant is broken once, and valid must name it.
func TestValidNamesTheBrokenInvariant(t *testing.T) {
	listed := func(runs ...run) *runList {
		n := uint32(0)
		for _, r := range runs {
			n += r.len()
		}
		return &runList{n, runs}
	}
	for _, c := range []struct {
		what, want string
		set        Set
	}{
		{"nothing", "", Set{}},
		{"a bitmap", "", Set{words: []uint64{5}, list: &runList{n: 2}}},
		{"runs", "", Set{list: listed(run{0, 1}, run{300, MaxIndex})}},
		{"a bitmap without a count", "invariant 1", Set{words: []uint64{1}}},
		{"an empty list", "invariant 1", Set{list: &runList{}}},
		{"a bitmap of no words", "invariant 1", Set{words: []uint64{}}},
		{"a bitmap and runs", "invariant 1", Set{words: []uint64{1}, list: listed(run{0, 0})}},
		{"a bitmap where runs are shorter", "invariant 1", Set{words: []uint64{1, 0, 1}, list: &runList{n: 2}}},
		{"runs where a bitmap is shorter", "invariant 1", Set{list: listed(run{0, 1}, run{3, 4})}},
		{"a zero at the end of a bitmap", "invariant 2", Set{words: []uint64{1, 0}, list: &runList{n: 1}}},
		{"an empty bitmap", "invariant 2", Set{words: []uint64{0}, list: &runList{}}},
		{"runs that touch", "invariant 3", Set{list: listed(run{0, 1}, run{2, 300})}},
		{"runs in disorder", "invariant", Set{list: listed(run{500, 600}, run{2, 300})}},
		{"a run that ends before it starts", "invariant 4", Set{list: listed(run{500, 300})}},
		{"a run above MaxIndex", "invariant 4", Set{list: listed(run{5, MaxIndex + 1})}},
		{"a bitmap with a wrong count", "invariant 5", Set{words: []uint64{3}, list: &runList{n: 1}}},
		{"runs with a wrong count", "invariant 5", Set{list: &runList{n: 1, runs: []run{{300, 301}}}}},
	} {
		err := c.set.valid()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}
