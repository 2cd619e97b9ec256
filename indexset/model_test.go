package indexset_test

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

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
// far apart or at the far end.
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
	s := indexset.Of(m.sorted()...)
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

// check compares all queries of one set with its model.
func check(t tester, s indexset.Set, m model, at int) {
	t.Helper()
	same(t, "All", s, m)
	members := m.sorted()
	if s.Len() != len(m) || s.IsZero() != (len(m) == 0) {
		t.Fatalf("Len %d, IsZero %v, want %d members", s.Len(), s.IsZero(), len(m))
	}
	if got, want := slices.Collect(s.Ranges()), m.ranges(); !slices.Equal(got, want) {
		t.Fatalf("Ranges %v, want %v", got, want)
	}
	lowest, okMin := s.Min()
	highest, okMax := s.Max()
	if okMin != (len(m) > 0) || okMax != okMin || okMin && (lowest != members[0] || highest != members[len(m)-1]) {
		t.Fatalf("Min %d %v, Max %d %v of %v", lowest, okMin, highest, okMax, members)
	}
	for _, i := range []int{at, -1, -at, 0, indexset.MaxIndex, math.MaxInt, math.MinInt} {
		if s.Contains(i) != m[i] {
			t.Fatalf("Contains(%d) = %v", i, s.Contains(i))
		}
	}
	checkText(t, s, m.text())
}

// checkText compares all text methods with the canonical text.
func checkText(t tester, s indexset.Set, want string) {
	t.Helper()
	if got := s.String(); got != want {
		t.Fatalf("String %q, want %q", got, want)
	}
	if got, err := s.AppendText([]byte("<")); err != nil || string(got) != "<"+want {
		t.Fatalf("AppendText %q, %v", got, err)
	}
	marshalled, err := s.MarshalText()
	if err != nil || string(marshalled) != want {
		t.Fatalf("MarshalText %q, %v", marshalled, err)
	}
	parsed, err := indexset.Parse(want)
	if err != nil || !parsed.Equal(s) || parsed.String() != want || !indexset.MustParse(want).Equal(s) {
		t.Fatalf("Parse(%q) = %q, %v", want, parsed, err)
	}
	lenient, report := indexset.ParseLenient(want)
	if !lenient.Equal(s) || report != (indexset.Report{}) {
		t.Fatalf("ParseLenient(%q) = %q, %+v", want, lenient, report)
	}
	unmarshalled := indexset.Of(5)
	if err := unmarshalled.UnmarshalText(marshalled); err != nil || !unmarshalled.Equal(s) {
		t.Fatalf("UnmarshalText(%q) = %q, %v", want, unmarshalled, err)
	}
}

func TestSetAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawSet(t, "set")
		check(t, d.set, d.model, drawIndex(t, "at", d))
		same(t, "Of, shuffled and doubled", indexset.Of(slices.Concat(
			rapid.Permutation(d.model.sorted()).Draw(t, "order"), d.model.sorted())...), d.model)
	})
}

func TestOperationsAgreeWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkOperations(t, drawSet(t, "a"), drawSet(t, "b")) })
}

// checkOperations compares all methods of two sets with the model.
func checkOperations(t tester, a, b drawn) {
	t.Helper()
	s, u := a.set, b.set
	for _, c := range []struct {
		name string
		got  indexset.Set
		want model
	}{
		{"Union", s.Union(u), a.model.union(b.model)},
		{"Intersect", s.Intersect(u), a.model.intersect(b.model)},
		{"Minus", s.Minus(u), a.model.minus(b.model)},
		{"With", s.With(b.model.sorted()...), a.model.union(b.model)},
		{"Without", s.Without(append(b.model.sorted(), -1, math.MinInt, math.MaxInt/2+1<<20)...), a.model.minus(b.model)},
	} {
		same(t, c.name, c.got, c.want)
	}

	both := len(a.model.intersect(b.model))
	if s.IntersectLen(u) != both || s.Overlaps(u) != (both > 0) {
		t.Fatalf("IntersectLen %d, Overlaps %v; want %d in common", s.IntersectLen(u), s.Overlaps(u), both)
	}
	if s.Equal(u) != maps.Equal(a.model, b.model) || !s.Equal(indexset.Of(a.model.sorted()...)) {
		t.Fatalf("Equal %v of %v and %v", s.Equal(u), s, u)
	}

	same(t, "a afterwards", s, a.model)
	same(t, "b afterwards", u, b.model)
}

// Every pair of sets of various shapes, half of them stored as bitmaps.
func TestEveryPairOfShapesAgrees(t *testing.T) {
	var sets []indexset.Set
	for _, text := range []string{
		"", "0", "63", "64", "5-70", "0-63", "64-127", "0-200", "1,3,5,7,62-65,127,128,130", "0-9,20-29,100-199,1000",
		"0,2,4,6,8,10,12,14,16,18,20", "500-5000", "100000", "3,9-12,99990-100003",
	} {
		sets = append(sets, indexset.MustParse(text))
	}
	sets = append(sets, indexset.Fragmented(300), indexset.FromRange(0, 298).Minus(indexset.Fragmented(300)), indexset.Fragmented(3000).Minus(indexset.FromRange(100, 2900)))
	bitmaps := 0
	for _, s := range sets {
		if s.IsBitmap() {
			bitmaps++
		}
		for _, u := range sets {
			checkOperations(t, drawn{s, modelOf(s)}, drawn{u, modelOf(u)})
		}
		for _, limit := range []int{-1, 0, 1, 63, 64, 65, 128, 1001, 200000} {
			checkLimit(t, drawn{s, modelOf(s)}, limit, 70)
		}
		check(t, s, modelOf(s), 64)
	}
	if bitmaps < 5 || bitmaps > len(sets)-5 {
		t.Errorf("%d of %d sets are bitmaps", bitmaps, len(sets))
	}
}

func TestLimitsAgreeWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawSet(t, "set")
		checkLimit(t, d, drawIndex(t, "limit", d), rapid.IntRange(-1, 100).Draw(t, "n"))
	})
}

// checkLimit compares all methods with a limit with the model, and AppendAbsent for n.
func checkLimit(t tester, d drawn, limit, n int) {
	t.Helper()
	same(t, "Clip", d.set.Clip(limit), d.model.clip(limit))
	same(t, "Clip below 0", d.set.Clip(min(limit, 0)-1), model{})

	low := min(limit, 2000)
	absent := d.model.complement(low)
	want := append([]int{-7}, absent.sorted()[:min(max(n, 0), len(absent))]...)
	if got := d.set.AppendAbsent([]int{-7}, n, low); !slices.Equal(got, want) {
		t.Fatalf("AppendAbsent(%d, %d) = %v, want %v", n, low, got, want)
	}
	same(t, "afterwards", d.set, d.model)
}

func TestAlgebraLawsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawSet(t, "a").set, drawSet(t, "b").set, drawSet(t, "c").set
		all := indexset.FromRange(0, drawIndex(t, "last"))
		not := func(s indexset.Set) indexset.Set { return all.Minus(s) }
		equal := func(law string, x, y indexset.Set) {
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
		equal("double complement", not(not(a)), a.Intersect(all))
		if a.Len()+b.Len() != a.Union(b).Len()+a.IntersectLen(b) {
			t.Fatalf("|a|+|b| = |a or b| + |a and b|")
		}
	})
}

func TestIteratorsStop(t *testing.T) {
	for _, s := range []indexset.Set{indexset.MustParse("1,3-5,9-20,40"), indexset.MustParse("1,3-5,9-20,4000")} {
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
		if count != 5 {
			t.Errorf("%s: stopped after %d", s, count)
		}
	}
}
