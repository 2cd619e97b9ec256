package indexset_test

// The tests of this package:
//
//   - promises_test.go: what the comments promise about limits, panics and allocations
//   - model_test.go, builder_test.go: every operation beside a map of integers
//   - parse_test.go, rules_test.go: every kind of good and bad text, beside the rules
//   - forms_test.go, long_test.go: which form a set has, and what that costs
//   - deviations_test.go, vectors_test.go: differences from Kubernetes, recorded cases

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/restartkit/restart/indexset"
)

// all contains every index, 2^31 members.
var all = indexset.FromRange(0, indexset.MaxIndex)

func TestSetOfAllIndexes(t *testing.T) {
	if err := all.Valid(); err != nil {
		t.Fatal(err)
	}
	full := indexset.Saturate(1 << 31) // 2^31-1 on 32-bit platforms
	for what, got := range map[string]int{
		"Len": all.Len(), "IntersectLen": all.IntersectLen(all),
	} {
		if got != full {
			t.Errorf("%s = %d, want %d", what, got, full)
		}
	}
	if got := all.String(); got != "0-2147483647" {
		t.Errorf("String %q", got)
	}
	if got := all.Minus(indexset.Of(7)).String(); got != "0-6,8-2147483647" {
		t.Errorf("all but 7: %s", got)
	}
	if got := all.With(3, indexset.MaxIndex).Without(0, indexset.MaxIndex).String(); got != "1-2147483646" {
		t.Errorf("all but the ends: %s", got)
	}
	if got := all.Clip(math.MaxInt).Len(); got != full {
		t.Errorf("Clip(MaxInt) leaves %d", got)
	}
	if got := indexset.Of(indexset.MaxIndex).AppendAbsent(nil, 2, math.MaxInt); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("AppendAbsent = %v", got)
	}
}

// A limit is exclusive, MaxIndex included.
func TestLimitMaxIndexExcludesIt(t *testing.T) {
	last := indexset.Of(indexset.MaxIndex)
	for what, got := range map[string]indexset.Set{
		"Clip": all.Clip(indexset.MaxIndex), "Clip of runs": last.Clip(indexset.MaxIndex), "Minus": all.Minus(last),
	} {
		if got.Contains(indexset.MaxIndex) || got.Contains(indexset.MaxIndex-1) != (what != "Clip of runs") {
			t.Errorf("%s(MaxIndex) is %s", what, got)
		}
	}
	if got := indexset.FromRange(0, indexset.MaxIndex-1).AppendAbsent(nil, 1, indexset.MaxIndex); len(got) != 0 {
		t.Errorf("AppendAbsent below MaxIndex: %v", got)
	}
}

func TestFromRangeIncludesItsEnds(t *testing.T) {
	for _, c := range []struct {
		first, last int
		want        string
	}{
		{0, 0, "0"}, {3, 4, "3,4"}, {3, 5, "3-5"}, {0, -1, ""}, {5, 3, ""}, {-3, -4, ""}, {indexset.MaxIndex, indexset.MaxIndex, "2147483647"},
	} {
		if got := indexset.FromRange(c.first, c.last); got.String() != c.want || got.Valid() != nil {
			t.Errorf("FromRange(%d, %d) = %q, want %q", c.first, c.last, got, c.want)
		}
	}
}

// Bitmaps print numbers of every length.
func TestBitmapsPrintLongNumbers(t *testing.T) {
	for at := 1; at <= 1e9; at *= 10 {
		var runs []string
		var b indexset.Builder
		for i := at - 1; i < at+20; i += 3 {
			b.Add(i)
			runs = append(runs, strconv.Itoa(i))
		}
		b.AddRange(at+30, at+60)
		runs = append(runs, fmt.Sprintf("%d-%d", at+30, at+60))
		if got, want := b.Set().String(), strings.Join(runs, ","); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestIndexesOutOfRangePanicOrAreAbsent(t *testing.T) {
	outside := []int{-1, math.MinInt}
	if math.MaxInt > indexset.MaxIndex {
		outside = append(outside, indexset.Saturate(1<<31), math.MaxInt)
	}
	for _, i := range outside {
		var b indexset.Builder
		b.Add(4)
		for name, call := range map[string]func(){
			"Of":        func() { indexset.Of(1, i) },
			"With":      func() { indexset.Of(1).With(2, i) },
			"FromRange": func() { indexset.FromRange(min(i, 0), max(i, 0)) },
			"Add":       func() { b.Add(i) },
			"AddRange":  func() { b.AddRange(min(i, 0), max(i, 0)) },
			"MustParse": func() { indexset.MustParse("x") },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s(%d) did not panic", name, i)
					}
				}()
				call()
			}()
		}
		if got := b.Set().String(); got != "4" {
			t.Errorf("builder afterwards: %s", got)
		}
		s := indexset.Of(1, 5)
		if s.Contains(i) || !s.Without(i).Equal(s) {
			t.Errorf("%d is not absent", i)
		}
	}
}

func TestSetMarshalsAsText(t *testing.T) {
	type status struct {
		Completed indexset.Set `json:"completedIndexes,omitzero"`
	}
	for text, want := range map[string]string{
		"":        `{}`,
		"1,3-5,7": `{"completedIndexes":"1,3-5,7"}`,
	} {
		got, err := json.Marshal(status{indexset.MustParse(text)})
		if err != nil || string(got) != want {
			t.Errorf("Marshal(%q) = %s, %v", text, got, err)
		}
		var back status
		if err := json.Unmarshal(got, &back); err != nil || back.Completed.String() != text {
			t.Errorf("Unmarshal(%s) = %q, %v", got, back.Completed, err)
		}
	}
	back := status{indexset.Of(1)}
	if err := json.Unmarshal([]byte(`{"completedIndexes":"3,1"}`), &back); err == nil || back.Completed.String() != "1" {
		t.Errorf("bad text: %q, %v", back.Completed, err)
	}
}

func TestQueriesDoNotAllocate(t *testing.T) {
	dense, sparse := indexset.Fragmented(10000), indexset.FarApart()
	text := make([]byte, 0, 1<<17)
	absent := make([]int, 0, 1000)
	sink := 0
	for _, c := range []struct {
		name string
		want float64
		call func(s indexset.Set)
	}{
		{"Contains", 0, func(s indexset.Set) { s.Contains(5001) }},
		{"Len", 0, func(s indexset.Set) { sink += s.Len() }},
		{"AppendText", 0, func(s indexset.Set) { s.AppendText(text) }},
		{"IntersectLen with many", 0, func(s indexset.Set) { sink += s.IntersectLen(dense) }},
		{"IntersectLen with few", 0, func(s indexset.Set) { sink += s.IntersectLen(sparse) }},
		{"Overlaps", 0, func(s indexset.Set) { s.Overlaps(sparse) }},
		{"AppendAbsent", 0, func(s indexset.Set) { s.AppendAbsent(absent, 1000, 1e6) }},
		{"String", 2, func(s indexset.Set) { sink += len(s.String()) }},
	} {
		for form, s := range map[string]indexset.Set{"dense": dense, "sparse": sparse} {
			if got := testing.AllocsPerRun(20, func() { c.call(s) }); got != c.want {
				t.Errorf("%s of a %s set: %v allocations, want %v", c.name, form, got, c.want)
			}
		}
	}
}

// Parse chooses the form of the set before it reads, and allocates only the result.
func TestParseAllocatesWhatItReturns(t *testing.T) {
	for _, s := range []indexset.Set{indexset.Fragmented(10000), indexset.FarApart()} {
		text := s.String()
		if got := testing.AllocsPerRun(20, func() { indexset.Parse(text) }); got != 2 {
			t.Errorf("%.20s…: %v allocations, want the words or runs and the list", text, got)
		}
	}
}

// TestGoroutinesShareSets queries the same sets from several goroutines, under the race
// detector.
func TestGoroutinesShareSets(t *testing.T) {
	sparse, dense := indexset.FarApart(), indexset.Fragmented(1000)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 1000 {
				if !sparse.Contains(i*1000000) || sparse.Contains(i*1000000+6001+g) || dense.Contains(2*i+1) {
					t.Errorf("wrong about %d", i)
				}
			}
			sparse.Union(dense).Minus(sparse.With(g)).AppendText(nil)
		})
	}
	all.Wait()
}
