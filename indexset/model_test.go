package indexset

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

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

// check compares every question that one set answers with its model.
func check(t tester, s Set, m model, at int) {
	t.Helper()
	same(t, "All", s, m)
	members := m.sorted()
	if s.Len() != len(m) || s.IsZero() != (len(m) == 0) {
		t.Fatalf("Len %d, IsZero %v, want %d members", s.Len(), s.IsZero(), len(m))
	}
	if got, want := slices.Collect(s.Ranges()), m.ranges(); !slices.Equal(got, want) || s.NumRanges() != len(want) {
		t.Fatalf("Ranges %v (%d), want %v", got, s.NumRanges(), want)
	}
	lowest, okMin := s.Min()
	highest, okMax := s.Max()
	if okMin != (len(m) > 0) || okMax != okMin || okMin && (lowest != members[0] || highest != members[len(m)-1]) {
		t.Fatalf("Min %d %v, Max %d %v of %v", lowest, okMin, highest, okMax, members)
	}
	for _, i := range []int{at, -1, -at, 0, MaxIndex, math.MaxInt, math.MinInt} {
		if s.Contains(i) != m[i] {
			t.Fatalf("Contains(%d) = %v", i, s.Contains(i))
		}
		next, ok := s.Next(i)
		if want, wantOK := m.next(i); next != want || ok != wantOK {
			t.Fatalf("Next(%d) = %d, %v, want %d, %v", i, next, ok, want, wantOK)
		}
		if got, want := s.Rank(i), len(m.clip(i)); got != want {
			t.Fatalf("Rank(%d) = %d, want %d", i, got, want)
		}
	}
	for k, i := range members {
		if got, ok := s.Select(k); !ok || got != i || s.Rank(got) != k || !s.Contains(i) {
			t.Fatalf("Select(%d) = %d, %v, want %d; its rank is %d", k, got, ok, i, s.Rank(got))
		}
	}
	for _, k := range []int{-1, len(m), math.MaxInt/2 + 1, math.MinInt} {
		if got, ok := s.Select(k); ok {
			t.Fatalf("Select(%d) = %d", k, got)
		}
	}
	checkText(t, s, m.text())
	checkSteps(t, s)
}

// checkSteps walks the members by Next, and the text range by range.
func checkSteps(t tester, s Set) {
	t.Helper()
	var members []int
	for i, ok := s.Next(math.MinInt); ok; i, ok = s.Next(i + 1) {
		members = append(members, i)
		if i == math.MaxInt { // MaxIndex on 32-bit platforms
			break
		}
	}
	if want := slices.Collect(s.All()); !slices.Equal(members, want) {
		t.Fatalf("Next walks %v, All %v", members, want)
	}
	checkRangesText(t, s)
}

// checkRangesText checks that the ranges print as the set does, piece by piece,
// and that each can be read back.
func checkRangesText(t tester, s Set) {
	t.Helper()
	var items []string
	for r := range s.Ranges() {
		items = append(items, r.String())
		if one, err := Parse(r.String()); err != nil || !one.Equal(FromRange(r.First, r.Last)) {
			t.Fatalf("%+v prints %q, which reads %v, %v", [2]int{r.First, r.Last}, r, one, err)
		}
	}
	if got := strings.Join(items, ","); got != s.String() {
		t.Fatalf("the ranges print %q, the set %q", got, s)
	}
}

// checkText compares all text methods with the canonical text.
func checkText(t tester, s Set, want string) {
	t.Helper()
	if got := s.String(); got != want {
		t.Fatalf("String %q, want %q", got, want)
	}
	if got := s.EncodedLen(); got != len(want) {
		t.Fatalf("EncodedLen %d, want %d", got, len(want))
	}
	if got, err := s.AppendText([]byte("<")); err != nil || string(got) != "<"+want {
		t.Fatalf("AppendText %q, %v", got, err)
	}
	marshalled, err := s.MarshalText()
	if err != nil || string(marshalled) != want {
		t.Fatalf("MarshalText %q, %v", marshalled, err)
	}
	parsed, err := Parse(want)
	if err != nil || !parsed.Equal(s) || parsed.String() != want || !MustParse(want).Equal(s) {
		t.Fatalf("Parse(%q) = %q, %v", want, parsed, err)
	}
	lenient, report := ParseLenient(want)
	if !lenient.Equal(s) || report != (Report{}) {
		t.Fatalf("ParseLenient(%q) = %q, %+v", want, lenient, report)
	}
	unmarshalled := Of(5)
	if err := unmarshalled.UnmarshalText(marshalled); err != nil || !unmarshalled.Equal(s) {
		t.Fatalf("UnmarshalText(%q) = %q, %v", want, unmarshalled, err)
	}
}

func TestSetAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawSet(t, "set")
		check(t, d.set, d.model, drawIndex(t, "at", d))
		same(t, "Of, shuffled and doubled", Of(slices.Concat(
			rapid.Permutation(d.model.sorted()).Draw(t, "order"), d.model.sorted())...), d.model)
		same(t, "Collect", Collect(maps.Keys(d.model)), d.model)
	})
}

func TestOperationsAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkOperations(t, drawSet(t, "a"), drawSet(t, "b")) })
}

// checkOperations compares everything that takes two sets with the model.
func checkOperations(t tester, a, b drawn) {
	t.Helper()
	s, u := a.set, b.set
	for _, c := range []struct {
		name string
		got  Set
		want model
	}{
		{"Union", s.Union(u), a.model.union(b.model)},
		{"Intersect", s.Intersect(u), a.model.intersect(b.model)},
		{"Minus", s.Minus(u), a.model.minus(b.model)},
		{"With", s.With(b.model.sorted()...), a.model.union(b.model)},
		{"Without", s.Without(append(b.model.sorted(), -1, math.MinInt, math.MaxInt/2+1<<20)...), a.model.minus(b.model)},
	} {
		same(t, c.name, c.got, c.want)
		// What has not changed may be the operand itself, in any form.
		if err := c.got.settled(); err != nil && c.got.list != s.list && c.got.list != u.list {
			t.Fatalf("%s: %v", c.name, err)
		}
	}

	both := len(a.model.intersect(b.model))
	if s.IntersectLen(u) != both || s.Overlaps(u) != (both > 0) || s.IsSubsetOf(u) != (both == len(a.model)) {
		t.Fatalf("IntersectLen %d, Overlaps %v, IsSubsetOf %v; want %d in common of %d",
			s.IntersectLen(u), s.Overlaps(u), s.IsSubsetOf(u), both, len(a.model))
	}
	if s.Equal(u) != maps.Equal(a.model, b.model) || !s.Equal(Of(a.model.sorted()...)) {
		t.Fatalf("Equal %v of %v and %v", s.Equal(u), s, u)
	}
	if !s.Intersect(u).IsSubsetOf(s) || !s.IsSubsetOf(s.Union(u)) {
		t.Fatalf("IsSubsetOf of a part, of the whole")
	}

	same(t, "a afterwards", s, a.model)
	same(t, "b afterwards", u, b.model)
}

// TestEveryPairOfForms runs every operation on sets of telling shapes in every
// pair of forms.
func TestEveryPairOfForms(t *testing.T) {
	var sets []Set
	for _, text := range []string{
		"", "0", "63", "64", "5-70", "0-63", "64-127", "0-200", "1,3,5,7,62-65,127,128,130", "0-9,20-29,100-199,1000",
		"0,2,4,6,8,10,12,14,16,18,20", "500-5000", "100000", "3,9-12,99990-100003",
	} {
		sets = append(sets, MustParse(text))
	}
	sets = append(sets, fragmented(300), fragmented(300).Complement(299), fragmented(3000).Minus(FromRange(100, 2900)))
	both := []form{wordsForm, runsForm}
	pairs := 0
	for _, s := range sets {
		for _, u := range sets {
			for _, f := range both {
				for _, g := range both {
					checkOperations(t, drawn{s.as(f), modelOf(s)}, drawn{u.as(g), modelOf(u)})
					pairs++
				}
			}
		}
		for _, f := range both {
			for _, limit := range []int{-1, 0, 1, 63, 64, 65, 128, 1001, 200000} {
				checkLimit(t, drawn{s.as(f), modelOf(s)}, limit, 70)
			}
			check(t, s.as(f), modelOf(s), 64)
		}
	}
	t.Logf("%d pairs", pairs)
}

func TestLimitsAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawSet(t, "set")
		checkLimit(t, d, drawIndex(t, "limit", d), rapid.IntRange(-1, 100).Draw(t, "n"))
	})
}

// checkLimit compares everything that takes a limit with the model, and
// AppendAbsent of n.
func checkLimit(t tester, d drawn, limit, n int) {
	t.Helper()
	same(t, "Clip", d.set.Clip(limit), d.model.clip(limit))
	same(t, "Clip below 0", d.set.Clip(min(limit, 0)-1), model{})

	// The complement of a high limit is too large to list: look at [0, low).
	low := min(limit, 2000)
	absent := d.model.complement(low)
	same(t, "Complement", d.set.Complement(limit).Clip(low), absent)
	if got := slices.Collect(d.set.Gaps(low)); !slices.Equal(got, absent.ranges()) {
		t.Fatalf("Gaps(%d) = %v, want %v", low, got, absent.ranges())
	}
	want := append([]int{-7}, absent.sorted()[:min(max(n, 0), len(absent))]...)
	if got := d.set.AppendAbsent([]int{-7}, n, low); !slices.Equal(got, want) {
		t.Fatalf("AppendAbsent(%d, %d) = %v, want %v", n, low, got, want)
	}
	same(t, "afterwards", d.set, d.model)
}

func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawSet(t, "a").set, drawSet(t, "b").set, drawSet(t, "c").set
		limit := drawIndex(t, "limit")
		not := func(s Set) Set { return s.Complement(limit) }
		equal := func(law string, x, y Set) {
			t.Helper()
			if !x.Equal(y) || x.String() != y.String() {
				t.Fatalf("%s: %v and %v", law, x, y)
			}
		}
		equal("De Morgan", not(a.Union(b)), not(a).Intersect(not(b)))
		equal("De Morgan", not(a.Intersect(b)), not(a).Union(not(b)))
		equal("absorption", a.Union(a.Intersect(b)), a)
		equal("absorption", a.Intersect(a.Union(b)), a)
		equal("commutative", a.Union(b), b.Union(a))
		equal("commutative", a.Intersect(b), b.Intersect(a))
		equal("distributive", a.Intersect(b.Union(c)), a.Intersect(b).Union(a.Intersect(c)))
		equal("minus", a.Minus(b).Union(a.Intersect(b)), a)
		equal("double complement", not(not(a)), a.Clip(limit))
		if a.Len()+b.Len() != a.Union(b).Len()+a.IntersectLen(b) {
			t.Fatalf("|a|+|b| = |a or b| + |a and b|")
		}
	})
}

func TestIteratorsStop(t *testing.T) {
	for _, f := range []form{wordsForm, runsForm} {
		s := MustParse("1,3-5,9-20,40").as(f)
		count := 0
		for range s.All() {
			if count++; count == 3 {
				break
			}
		}
		for range s.Ranges() {
			if count++; count == 5 {
				break
			}
		}
		for range s.Gaps(100) {
			if count++; count == 7 {
				break
			}
		}
		if count != 7 {
			t.Errorf("form %d: stopped after %d", f, count)
		}
	}
}
