package lint

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestCodeSpans(t *testing.T) {
	values := rapid.SliceOfN(rapid.OneOf(rapid.Int32Range(-4, 6), rapid.SampledFrom([]int32{math.MinInt32, math.MinInt32 + 1, math.MaxInt32, math.MaxInt32 - 1})), 0, 6)
	probes := []int32{math.MinInt32, math.MinInt32 + 1, math.MinInt32 + 2, math.MaxInt32, math.MaxInt32 - 1, math.MaxInt32 - 2}
	for v := int32(-6); v <= 8; v++ {
		probes = append(probes, v)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := values.Draw(t, "a"), values.Draw(t, "b")
		in, notIn := codesIn(a), codesNotIn(b)
		both := in.and(notIn)
		for name, s := range map[string]codeSpans{"in": in, "not in": notIn, "both": both, "neither": codesNotIn(a).and(notIn)} {
			for i, r := range s {
				if r.first > r.last || i > 0 && int64(s[i-1].last)+1 >= int64(r.first) || r.first <= 0 && r.last >= 0 {
					t.Fatalf("%s: %v is not rising, or touches, or has 0", name, s)
				}
			}
		}
		for _, v := range probes {
			inA, inB := v != 0 && slices.Contains(a, v), v == 0 || slices.Contains(b, v)
			for name, got := range map[string][2]bool{
				"in":     {in.has(v), inA},
				"not in": {notIn.has(v), !inB},
				"both":   {both.has(v), inA && !inB},
			} {
				if got[0] != got[1] {
					t.Fatalf("%d %s: %v, want %v (a %v, b %v)", v, name, got[0], got[1], a, b)
				}
			}
		}
	})
	if got := fmt.Sprint(allCodes()); got != "[{-2147483648 -1} {1 2147483647}]" {
		t.Errorf("all codes are %s", got)
	}
}
