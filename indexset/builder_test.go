package indexset_test

import (
	"maps"
	"testing"

	"github.com/restartkit/restart/indexset"
	"pgregory.net/rapid"
)

func TestBuilderAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b indexset.Builder
		m := model{}
		var taken []drawn
		bases := rapid.SampledFrom([][]int{{0}, {0, 100000}, {1 << 20}, {0, indexset.MaxIndex - 500}}).Draw(t, "bases")
		near := rapid.Custom(func(t *rapid.T) int {
			return rapid.SampledFrom(bases).Draw(t, "base") + rapid.SampledFrom([]int{1, 2, 3}).Draw(t, "step")*rapid.IntRange(0, 160).Draw(t, "at")
		})
		t.Repeat(map[string]func(*rapid.T){
			"Add": func(t *rapid.T) {
				i := near.Draw(t, "i")
				b.Add(i)
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
			"": func(t *rapid.T) {
				same(t, "Set", b.Set(), m)
				taken = append(taken, drawn{b.Set(), maps.Clone(m)})
			},
		})
		for _, s := range taken {
			same(t, "a set taken before", s.set, s.model)
		}
	})
}

// A Builder that is given the same indexes again and again, or a large range in the end,
// holds no more than its runs.
func TestBuilderJoinsWhatItCollects(t *testing.T) {
	var b indexset.Builder
	for round := range 50 {
		for i := range 5000 {
			b.Add((i*7919 + round) % 5000 * 3)
		}
	}
	if got := b.Set(); got.Len() != 5000 || got.Valid() != nil || b.Held() > 20_000 {
		t.Errorf("%d members, %d runs held: %v", got.Len(), b.Held(), got.Valid())
	}
	b.AddRange(0, indexset.MaxIndex)
	if got := b.Set().String(); got != "0-2147483647" || b.Held() != 1 {
		t.Errorf("%s, %d runs held", got, b.Held())
	}
}
