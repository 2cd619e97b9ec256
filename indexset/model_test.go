package indexset_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/restartkit/restart/indexset"
	"pgregory.net/rapid"
)

// A model is a simple set with which every operation is compared.
type model map[int]bool

func modelOf(s indexset.Set) model {
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

func (m model) ranges() []indexset.Range {
	var out []indexset.Range
	for _, i := range m.sorted() {
		if k := len(out) - 1; k >= 0 && out[k].Last == i-1 {
			out[k].Last = i
		} else {
			out = append(out, indexset.Range{i, i})
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
	set   indexset.Set
	model model
}

// drawSet draws a set of at most some hundred members, scattered, in runs, nearly full,
// far apart or at the far end, in any form.
func drawSet(t *rapid.T, label string) drawn {
	offset := rapid.SampledFrom([]int{0, 0, 0, 60, 1 << 16, indexset.MaxIndex - 400}).Draw(t, label+" offset")
	step := rapid.SampledFrom([]int{1, 1, 1, 2, 3, 64, 1000}).Draw(t, label+" step")
	m := model{}
	for range rapid.IntRange(0, 12).Draw(t, label+" runs") {
		first := offset + step*rapid.IntRange(0, 300).Draw(t, label+" first")
		length := rapid.SampledFrom([]int{1, 1, 2, 3, 7, 64, 100}).Draw(t, label+" length")
		for i := first; i < first+length && i <= indexset.MaxIndex && i >= 0; i++ {
			m[i] = true
		}
	}
	s := indexset.Of(m.sorted()...).As(rapid.SampledFrom([]indexset.Form{indexset.OwnForm, indexset.WordsForm, indexset.RunsForm}).Draw(t, label+" form"))
	if err := s.Valid(); err != nil {
		t.Fatal(err)
	}
	return drawn{s, m}
}

// drawIndex draws an index near the members of the given sets, or anywhere.
func drawIndex(t *rapid.T, label string, near ...drawn) int {
	candidates := []int{0, 1, 63, 64, indexset.MaxIndex}
	for _, d := range near {
		for r := range d.set.Ranges() {
			candidates = append(candidates, r.First, r.Last, max(r.First-1, 0), min(r.Last, indexset.MaxIndex-1)+1)
		}
	}
	return rapid.SampledFrom(candidates).Draw(t, label)
}

// A tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Fatalf(string, ...any)
}

// same fails unless s has the members of m and is a proper value.
func same(t tester, what string, s indexset.Set, m model) {
	t.Helper()
	if err := s.Valid(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if got, want := slices.Collect(s.All()), m.sorted(); !slices.Equal(got, want) {
		t.Fatalf("%s:\n got %v\nwant %v", what, got, want)
	}
}
