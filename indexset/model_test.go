package indexset

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// A model is a set written for reading: what every operation is compared with.
type model map[int]bool

func modelOf(s Set) model {
	m := model{}
	for i := range s.All() {
		m[i] = true
	}
	return m
}

func (m model) sorted() []int { return slices.Sorted(maps.Keys(m)) }

func (m model) filter(keep func(i int) bool) model {
	out := model{}
	for i := range m {
		if keep(i) {
			out[i] = true
		}
	}
	return out
}

func (m model) union(o model) model {
	out := maps.Clone(m)
	maps.Copy(out, o)
	return out
}

func (m model) intersect(o model) model { return m.filter(func(i int) bool { return o[i] }) }
func (m model) minus(o model) model     { return m.filter(func(i int) bool { return !o[i] }) }
func (m model) clip(limit int) model    { return m.filter(func(i int) bool { return i < limit }) }

// next returns the smallest member that is i or larger.
func (m model) next(i int) (next int, ok bool) {
	for _, member := range m.sorted() {
		if member >= i {
			return member, true
		}
	}
	return 0, false
}

func (m model) complement(limit int) model {
	out := model{}
	for i := range limit {
		if !m[i] {
			out[i] = true
		}
	}
	return out
}

func (m model) ranges() []Range {
	var out []Range
	for _, i := range m.sorted() {
		if k := len(out) - 1; k >= 0 && out[k].Last == i-1 {
			out[k].Last = i
		} else {
			out = append(out, Range{i, i})
		}
	}
	return out
}

func (m model) text() string {
	var items []string
	for _, r := range m.ranges() {
		switch first, last := strconv.Itoa(r.First), strconv.Itoa(r.Last); r.Last - r.First {
		case 0:
			items = append(items, first)
		case 1:
			items = append(items, first, last)
		default:
			items = append(items, first+"-"+last)
		}
	}
	return strings.Join(items, ",")
}

// drawn is a set together with its model.
type drawn struct {
	set   Set
	model model
}

// A form is a way to keep a set; ownForm is the one that it takes itself.
type form int

const (
	ownForm form = iota
	wordsForm
	runsForm
)

// as returns s in the form, whether it is worth it or not. A set that ends too
// far away for a bitmap stays as it is.
func (s Set) as(f form) Set {
	var runs []run
	s.eachRun(func(r run) bool {
		runs = append(runs, r)
		return true
	})
	switch {
	case s.list == nil || f == wordsForm && s.max() > 1<<24:
		return s
	case f == wordsForm:
		words := make([]uint64, wordsFor(s.max()))
		return Set{words, &runList{n: fillRuns(words, runs)}}
	case f == runsForm:
		return Set{list: newRunList(runs)}
	}
	return s
}

// drawSet draws a set of some hundred members at most, in one of the shapes
// that sets have: scattered, in runs, nearly full, far apart, at the far end;
// and in any form.
func drawSet(t *rapid.T, label string) drawn {
	offset := rapid.SampledFrom([]int{0, 0, 0, 60, 1 << 16, MaxIndex - 400}).Draw(t, label+" offset")
	step := rapid.SampledFrom([]int{1, 1, 1, 2, 3, 64, 1000}).Draw(t, label+" step")
	m := model{}
	for range rapid.IntRange(0, 12).Draw(t, label+" runs") {
		first := offset + step*rapid.IntRange(0, 300).Draw(t, label+" first")
		length := rapid.SampledFrom([]int{1, 1, 2, 3, 7, 64, 100}).Draw(t, label+" length")
		for i := first; i < first+length && i <= MaxIndex && i >= 0; i++ {
			m[i] = true
		}
	}
	s := Of(m.sorted()...).as(rapid.SampledFrom([]form{ownForm, wordsForm, runsForm}).Draw(t, label+" form"))
	if err := s.valid(); err != nil {
		t.Fatal(err)
	}
	return drawn{s, m}
}

// drawIndex draws an index near the members of the given sets, or anywhere.
func drawIndex(t *rapid.T, label string, near ...drawn) int {
	candidates := []int{0, 1, 63, 64, MaxIndex}
	for _, d := range near {
		for r := range d.set.Ranges() {
			candidates = append(candidates, r.First, r.Last, max(r.First-1, 0), min(r.Last, MaxIndex-1)+1)
		}
	}
	return rapid.SampledFrom(candidates).Draw(t, label)
}

// settled says if s, which came out of an operation, is in a form that costs too
// much: a bitmap of far more words than runs, or runs where a bitmap is due.
func (s Set) settled() error {
	switch k := len(s.words); {
	case k > keepWords*(s.NumRanges()+1):
		return fmt.Errorf("%d words for %d runs", k, s.NumRanges())
	case s.runs() != nil && wordsFor(s.max()) <= makeWords*len(s.runs()) && wordsFor(s.max()) > keepWords:
		return fmt.Errorf("%d runs and no bitmap below %d", len(s.runs()), s.max())
	}
	return nil
}

// A tester is what both *testing.T and *rapid.T are.
type tester interface {
	Helper()
	Fatalf(string, ...any)
}

// same fails unless s has the members of m and is a proper value.
func same(t tester, what string, s Set, m model) {
	t.Helper()
	if err := s.valid(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if got, want := slices.Collect(s.All()), m.sorted(); !slices.Equal(got, want) {
		t.Fatalf("%s:\n got %v\nwant %v", what, got, want)
	}
}
