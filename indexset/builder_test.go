package indexset_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/restartkit/restart/indexset"
	"pgregory.net/rapid"
)

func TestBuilderAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b indexset.Builder
		m := model{}
		var taken []drawn
		// Indexes near one base are dense enough for a bitmap; those of another
		// base are too far away to be in it.
		bases := rapid.SampledFrom([][]int{{0}, {0, 100000}, {1 << 20}, {0, indexset.MaxIndex - 500}}).Draw(t, "bases")
		near := rapid.Custom(func(t *rapid.T) int {
			return rapid.SampledFrom(bases).Draw(t, "base") + rapid.SampledFrom([]int{1, 2, 3}).Draw(t, "step")*rapid.IntRange(0, 160).Draw(t, "at")
		})
		t.Repeat(map[string]func(*rapid.T){
			"Add": func(t *rapid.T) {
				i := near.Draw(t, "i")
				if got := b.Add(i); got == m[i] {
					t.Fatalf("Add(%d) = %v", i, got)
				}
				m[i] = true
			},
			"AddRange": func(t *rapid.T) {
				first := near.Draw(t, "first")
				last := min(first+rapid.IntRange(-2, 200).Draw(t, "length"), indexset.MaxIndex)
				b.AddRange(first, last)
				for i := first; i <= last; i++ {
					m[i] = true
					if i == indexset.MaxIndex {
						break
					}
				}
			},
			"Remove": func(t *rapid.T) {
				i := near.Draw(t, "i")
				if got := b.Remove(i); got != m[i] {
					t.Fatalf("Remove(%d) = %v", i, got)
				}
				delete(m, i)
				if b.Remove(-i - 1) {
					t.Fatal("removed a negative number")
				}
			},
			"Contains": func(t *rapid.T) {
				for _, i := range []int{near.Draw(t, "i"), -near.Draw(t, "negative") - 1, 0, indexset.MaxIndex, math.MaxInt, math.MinInt} {
					if b.Contains(i) != m[i] {
						t.Fatalf("Contains(%d) = %v", i, b.Contains(i))
					}
				}
			},
			"AddSet": func(t *rapid.T) {
				d := drawSet(t, "set")
				b.AddSet(d.set)
				maps.Copy(m, d.model)
				taken = append(taken, d)
			},
			"Set": func(t *rapid.T) { taken = append(taken, drawn{b.Set(), maps.Clone(m)}) },
			"Reset": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "often") == 0 {
					b.Reset()
					m = model{}
				}
			},
			"": func(t *rapid.T) {
				if err := b.Valid(); err != nil {
					t.Fatal(err)
				}
				if b.Len() != len(m) {
					t.Fatalf("Len %d, want %d", b.Len(), len(m))
				}
				same(t, "Set", b.Set(), m)
			},
		})
		for _, s := range taken {
			same(t, "a set taken or added before", s.set, s.model)
		}
	})
}

// TestBuilderKeepsManyRuns fills many blocks in random order, pokes holes, and
// covers many blocks at once.
func TestBuilderKeepsManyRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var b indexset.Builder
	m := model{}
	steps := 0
	step := func(what string, call func()) {
		call()
		if steps++; steps%50 == 0 {
			if err := b.Valid(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		if b.Len() != len(m) {
			t.Fatalf("%s: Len %d, want %d", what, b.Len(), len(m))
		}
	}
	for range 6000 {
		i := r.IntN(1 << 24)
		step("Add", func() {
			if b.Add(i) == m[i] {
				t.Fatalf("Add(%d)", i)
			}
			m[i] = true
		})
	}
	if words, blocks := b.Held(); words != 0 || blocks < 20 {
		t.Fatalf("%d words, %d blocks", words, blocks)
	}
	same(t, "scattered", b.Set(), m)
	for range 20 {
		first := r.IntN(1 << 24)
		last := first + r.IntN(3000)
		step("AddRange", func() {
			b.AddRange(first, last)
			for i := first; i <= last; i++ {
				m[i] = true
			}
		})
	}
	for i := range m {
		if r.IntN(3) == 0 {
			step("Remove", func() {
				if !b.Remove(i) {
					t.Fatalf("Remove(%d)", i)
				}
				delete(m, i)
			})
		}
	}
	same(t, "with holes", b.Set(), m)
	step("AddRange over many blocks", func() {
		b.AddRange(5_000_000, 5_900_000)
		for i := 5_000_000; i <= 5_900_000; i++ {
			m[i] = true
		}
	})
	same(t, "with a large run", b.Set(), m)
	for i := range m {
		if i < 5_000_000 || i > 5_900_000 {
			step("Remove", func() { b.Remove(i); delete(m, i) })
		}
	}
	if b.Set().String() != "5000000-5900000" {
		t.Fatalf("all but the large run removed: %s", b.Set())
	}
	for i := range m {
		step("Remove", func() { b.Remove(i); delete(m, i) })
		if len(m) < 900_000 {
			break
		}
	}
	step("AddRange over all", func() {
		b.AddRange(0, indexset.MaxIndex-1)
		if b.Len() != indexset.MaxIndex || b.Set().String() != "0-2147483646" {
			t.Fatalf("Len %d, %s", b.Len(), b.Set())
		}
		b.Reset()
		m = model{}
	})
}

// TestBuilderDoesNotSwitchBackAndForth checks that a builder changes its representation
// without switching back and forth.
func TestBuilderDoesNotSwitchBackAndForth(t *testing.T) {
	var b indexset.Builder
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(20000) {
		b.Add(3 * i)
	}
	if words, _ := b.Held(); !b.IsBitmap() || words > 2*indexset.WordsBelow(60000) {
		t.Fatalf("%d words for 20000 indexes below 60000", words)
	}
	changes, isBitmap := 0, true
	for k := range 1000 {
		for _, change := range []func(){
			func() { b.Add(indexset.MaxIndex) },
			func() { b.Remove(indexset.MaxIndex) },
			func() { b.Add(60000 + 2*k) },
		} {
			change()
			if isBitmap != b.IsBitmap() {
				isBitmap = !isBitmap
				changes++
			}
		}
		if err := b.Valid(); err != nil {
			t.Fatal(err)
		}
	}
	if changes > 2 {
		t.Errorf("changed form %d times", changes)
	}
	b.AddRange(0, indexset.MaxIndex)
	if words, blocks := b.Held(); words > 2*indexset.WordsBelow(60000) || blocks > 1 || b.Set().String() != "0-2147483647" {
		t.Errorf("AddRange of all: %d words, %d blocks, %s", words, blocks, b.Set())
	}
}
