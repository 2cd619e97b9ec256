package bench

import (
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/indexset"
)

// completions is the number of indexes of each measured Job.
const completions = 100_000

// everyThird returns every third index, so that each is a range of its own.
func everyThird() indexset.Set {
	var b indexset.Builder
	for index := 0; index < completions; index += 3 {
		b.Add(index)
	}
	return b.Set()
}

func randomIndexes(n int) []int {
	r := rand.New(rand.NewPCG(1, 0))
	indexes := make([]int, n)
	for i := range indexes {
		indexes[i] = r.IntN(completions)
	}
	return indexes
}

// BenchmarkSync measures what a controller does with a status field: it parses the text,
// adds the indexes that have completed since, and formats the result.
func BenchmarkSync(b *testing.B) {
	text, batch := everyThird().String(), randomIndexes(500)
	b.Run("added=500/impl=restart", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			must(must(indexset.Parse(text)).With(batch...).AppendText(nil))
		}
	})
	b.Run("added=500/impl=roaring", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			set := roaringParse(text)
			for _, index := range batch {
				set.Add(uint32(index))
			}
			roaringText(set, nil)
		}
	})
	b.Run("added=500/impl=upstream-shaped", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			upstreamParse(text).with(batch...).text()
		}
	})
}

// BenchmarkContains measures a thousand random look-ups in a dense set.
func BenchmarkContains(b *testing.B) {
	set, lookUps := everyThird(), randomIndexes(1000)
	bitmap := roaringOf(set)
	b.Run("lookups=1000/impl=restart", func(b *testing.B) {
		b.ReportAllocs()
		found := 0
		for b.Loop() {
			for _, index := range lookUps {
				if set.Contains(index) {
					found++
				}
			}
		}
		runtime.KeepAlive(found)
	})
	b.Run("lookups=1000/impl=roaring", func(b *testing.B) {
		b.ReportAllocs()
		found := 0
		for b.Loop() {
			for _, index := range lookUps {
				if bitmap.Contains(uint32(index)) {
					found++
				}
			}
		}
		runtime.KeepAlive(found)
	})
}

// BenchmarkSetMemory measures the heap of a dense set that was parsed.
func BenchmarkSetMemory(b *testing.B) {
	const copies = 100
	text := everyThird().String()
	b.Run("impl=restart", func(b *testing.B) {
		reportHeap(b, "set", func() (any, int) {
			var all [copies]indexset.Set
			for i := range all {
				all[i] = indexset.MustParse(text)
			}
			return &all, copies
		})
	})
	b.Run("impl=roaring", func(b *testing.B) {
		reportHeap(b, "set", func() (any, int) {
			var all [copies]*roaring.Bitmap
			for i := range all {
				all[i] = roaringParse(text)
			}
			return &all, copies
		})
	})
}

// sets is the same set in every shape.
type sets struct {
	ours indexset.Set
	roar *roaring.Bitmap
	list upstreamSet
	m    map[int]bool
}

func (s sets) members() []int { return slices.Sorted(maps.Keys(s.m)) }

// drawMembers draws indexes where the shapes of sets change: near 0, around
// roaring's and our own boundaries, and far apart.
func drawMembers(t *rapid.T, label string) []int {
	base := rapid.SampledFrom([]int{0, 0, 60, 65536 - 50, 1 << 20, indexset.MaxIndex - 2000})
	var out []int
	for range rapid.IntRange(0, 12).Draw(t, label+" runs") {
		first := base.Draw(t, label+" base") + rapid.IntRange(0, 700).Draw(t, label+" first")
		step := rapid.SampledFrom([]int{1, 1, 2, 3, 10}).Draw(t, label+" step")
		for k := range rapid.SampledFrom([]int{1, 2, 3, 90, 130}).Draw(t, label+" length") {
			if i := first + k*step; i <= indexset.MaxIndex {
				out = append(out, i)
			}
		}
	}
	return out
}

func drawSets(t *rapid.T, label string) sets {
	s := sets{roar: roaring.New(), m: map[int]bool{}}
	for _, i := range drawMembers(t, label) {
		s.roar.Add(uint32(i))
		s.m[i] = true
	}
	s.ours = indexset.Of(s.members()...)
	s.list = upstreamSet{}.with(s.members()...)
	return s
}

// sameSets fails unless every shape has the same members and the same text.
func sameSets(t *rapid.T, what string, s sets) {
	t.Helper()
	want := s.members()
	if got := slices.Collect(s.ours.All()); !slices.Equal(got, want) {
		t.Fatalf("%s: ours %v, map %v", what, got, want)
	}
	if got := s.roar.ToArray(); !slices.EqualFunc(got, want, func(a uint32, b int) bool { return int(a) == b }) {
		t.Fatalf("%s: roaring %v, map %v", what, got, want)
	}
	text := s.ours.String()
	if got := s.list.text(); got != text {
		t.Fatalf("%s: ours prints %q, upstream-shaped %q", what, text, got)
	}
	if got := string(roaringText(s.roar, nil)); got != text {
		t.Fatalf("%s: ours prints %q, roaring %q", what, text, got)
	}
	if text == "" {
		return
	}
	if !indexset.MustParse(text).Equal(s.ours) || !roaringParse(text).Equals(s.roar) || !slices.Equal(upstreamParse(text), s.list) {
		t.Fatalf("%s: %q is read in different ways", what, text)
	}
}

func (s sets) filter(keep func(i int) bool) map[int]bool {
	out := map[int]bool{}
	for i := range s.m {
		if keep(i) {
			out[i] = true
		}
	}
	return out
}

// TestIndexsetAgrees runs random operations on ours, on roaring, on the
// upstream-shaped lists and on a map.
func TestIndexsetAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSets(t, "start")
		t.Repeat(map[string]func(*rapid.T){
			"Union": func(t *rapid.T) {
				o := drawSets(t, "other")
				both := maps.Clone(s.m)
				maps.Copy(both, o.m)
				s = sets{s.ours.Union(o.ours), roaring.Or(s.roar, o.roar), s.list.union(o.list), both}
			},
			"Intersect": func(t *rapid.T) {
				o := drawSets(t, "other")
				if got, want := s.ours.IntersectLen(o.ours), s.roar.AndCardinality(o.roar); uint64(got) != want {
					t.Fatalf("IntersectLen %d, roaring %d", got, want)
				}
				if got, want := s.ours.Overlaps(o.ours), s.roar.Intersects(o.roar); got != want {
					t.Fatalf("Overlaps %v, roaring %v", got, want)
				}
				s = sets{s.ours.Intersect(o.ours), roaring.And(s.roar, o.roar), s.list.intersect(o.list), s.filter(func(i int) bool { return o.m[i] })}
			},
			"Minus": func(t *rapid.T) {
				o := drawSets(t, "other")
				s = sets{s.ours.Minus(o.ours), roaring.AndNot(s.roar, o.roar), s.list.minus(o.list), s.filter(func(i int) bool { return !o.m[i] })}
			},
			"With": func(t *rapid.T) {
				batch := drawMembers(t, "batch")
				s.ours, s.list, s.roar, s.m = s.ours.With(batch...), s.list.with(batch...), s.roar.Clone(), maps.Clone(s.m)
				for _, i := range batch {
					s.roar.Add(uint32(i))
					s.m[i] = true
				}
			},
			"Without": func(t *rapid.T) {
				batch := drawMembers(t, "batch")
				s.ours, s.list, s.roar, s.m = s.ours.Without(batch...), s.list.minus(upstreamSet{}.with(batch...)), s.roar.Clone(), maps.Clone(s.m)
				for _, i := range batch {
					s.roar.Remove(uint32(i))
					delete(s.m, i)
				}
			},
			"Clip": func(t *rapid.T) {
				limit := rapid.IntRange(1, 70000).Draw(t, "limit")
				s = sets{s.ours.Clip(limit), s.roar.Clone(), s.list.intersect(upstreamSet{{0, limit - 1}}), s.filter(func(i int) bool { return i < limit })}
				s.roar.RemoveRange(uint64(limit), 1<<32)
			},
			"questions": func(t *rapid.T) {
				i := rapid.SampledFrom(append(drawMembers(t, "question"), 0)).Draw(t, "i")
				if s.ours.Contains(i) != s.m[i] || s.roar.Contains(uint32(i)) != s.m[i] || s.list.contains(i) != s.m[i] {
					t.Fatalf("Contains(%d): ours %v, roaring %v, upstream-shaped %v", i, s.ours.Contains(i), s.roar.Contains(uint32(i)), s.list.contains(i))
				}
				limit := rapid.IntRange(0, 70000).Draw(t, "limit")
				if got, want := s.ours.AppendAbsent(nil, 50, limit), s.list.absent(50, limit); !slices.Equal(got, want) {
					t.Fatalf("AppendAbsent below %d: %v, upstream-shaped %v", limit, got, want)
				}
			},
			"": func(t *rapid.T) { sameSets(t, "after the operation", s) },
		})
	})
}
