package indexset_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/restartkit/restart/indexset"
	"pgregory.net/rapid"
)

// check compares all queries of one set with its model.
func check(t tester, s indexset.Set, m model, at int) {
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
	for _, i := range []int{at, -1, -at, 0, indexset.MaxIndex, math.MaxInt, math.MinInt} {
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

// checkSteps iterates over the members with Next, and over the text range by range.
func checkSteps(t tester, s indexset.Set) {
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
func checkRangesText(t tester, s indexset.Set) {
	t.Helper()
	var items []string
	for r := range s.Ranges() {
		items = append(items, r.String())
		if one, err := indexset.Parse(r.String()); err != nil || !one.Equal(indexset.FromRange(r.First, r.Last)) {
			t.Fatalf("%+v prints %q, which reads %v, %v", [2]int{r.First, r.Last}, r, one, err)
		}
	}
	if got := strings.Join(items, ","); got != s.String() {
		t.Fatalf("the ranges print %q, the set %q", got, s)
	}
}

// checkText compares all text methods with the canonical text.
func checkText(t tester, s indexset.Set, want string) {
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
		same(t, "Collect", indexset.Collect(maps.Keys(d.model)), d.model)
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
		// An unchanged result may be the operand itself, in any representation.
		if err := c.got.Settled(); err != nil && !c.got.SharesList(s) && !c.got.SharesList(u) {
			t.Fatalf("%s: %v", c.name, err)
		}
	}

	both := len(a.model.intersect(b.model))
	if s.IntersectLen(u) != both || s.Overlaps(u) != (both > 0) || s.IsSubsetOf(u) != (both == len(a.model)) {
		t.Fatalf("IntersectLen %d, Overlaps %v, IsSubsetOf %v; want %d in common of %d",
			s.IntersectLen(u), s.Overlaps(u), s.IsSubsetOf(u), both, len(a.model))
	}
	if s.Equal(u) != maps.Equal(a.model, b.model) || !s.Equal(indexset.Of(a.model.sorted()...)) {
		t.Fatalf("Equal %v of %v and %v", s.Equal(u), s, u)
	}
	if !s.Intersect(u).IsSubsetOf(s) || !s.IsSubsetOf(s.Union(u)) {
		t.Fatalf("IsSubsetOf of a part, of the whole")
	}

	same(t, "a afterwards", s, a.model)
	same(t, "b afterwards", u, b.model)
}

// TestEveryPairOfRepresentationsAgrees runs every operation on sets of various shapes
// in every pair of representations.
func TestEveryPairOfRepresentationsAgrees(t *testing.T) {
	var sets []indexset.Set
	for _, text := range []string{
		"", "0", "63", "64", "5-70", "0-63", "64-127", "0-200", "1,3,5,7,62-65,127,128,130", "0-9,20-29,100-199,1000",
		"0,2,4,6,8,10,12,14,16,18,20", "500-5000", "100000", "3,9-12,99990-100003",
	} {
		sets = append(sets, indexset.MustParse(text))
	}
	sets = append(sets, indexset.Fragmented(300), indexset.Fragmented(300).Complement(299), indexset.Fragmented(3000).Minus(indexset.FromRange(100, 2900)))
	both := []indexset.Form{indexset.WordsForm, indexset.RunsForm}
	pairs := 0
	for _, s := range sets {
		for _, u := range sets {
			for _, f := range both {
				for _, g := range both {
					checkOperations(t, drawn{s.As(f), modelOf(s)}, drawn{u.As(g), modelOf(u)})
					pairs++
				}
			}
		}
		for _, f := range both {
			for _, limit := range []int{-1, 0, 1, 63, 64, 65, 128, 1001, 200000} {
				checkLimit(t, drawn{s.As(f), modelOf(s)}, limit, 70)
			}
			check(t, s.As(f), modelOf(s), 64)
		}
	}
	t.Logf("%d pairs", pairs)
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

func TestAlgebraLawsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawSet(t, "a").set, drawSet(t, "b").set, drawSet(t, "c").set
		limit := drawIndex(t, "limit")
		not := func(s indexset.Set) indexset.Set { return s.Complement(limit) }
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
		equal("double complement", not(not(a)), a.Clip(limit))
		if a.Len()+b.Len() != a.Union(b).Len()+a.IntersectLen(b) {
			t.Fatalf("|a|+|b| = |a or b| + |a and b|")
		}
	})
}

func TestIteratorsStop(t *testing.T) {
	for _, f := range []indexset.Form{indexset.WordsForm, indexset.RunsForm} {
		s := indexset.MustParse("1,3-5,9-20,40").As(f)
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
