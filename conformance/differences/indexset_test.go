package differences

import (
	"testing"

	"k8s.io/utils/cpuset"
	"pgregory.net/rapid"

	"github.com/restartkit/restart/indexset"
)

// TestIndexsetReadsCPUSets exchanges texts with k8s.io/utils/cpuset, which writes a run of
// two indexes as a range, where indexset lists them.
func TestIndexsetReadsCPUSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var indexes []int
		for range rapid.IntRange(0, 12).Draw(t, "runs") {
			base := rapid.SampledFrom([]int{0, 0, 60, 1 << 20, indexset.MaxIndex - 2000}).Draw(t, "base")
			first := base + rapid.IntRange(0, 700).Draw(t, "first")
			step := rapid.SampledFrom([]int{1, 1, 2, 3, 10}).Draw(t, "step")
			for k := range rapid.SampledFrom([]int{1, 2, 3, 90, 130}).Draw(t, "length") {
				indexes = append(indexes, first+k*step)
			}
		}
		theirs := cpuset.New(indexes...)
		ours, err := indexset.Parse(theirs.String())
		if err != nil || !ours.Equal(indexset.Of(indexes...)) {
			t.Fatalf("indexset reads %q as %v, %v", theirs, ours, err)
		}
		back, err := cpuset.Parse(ours.String())
		if err != nil || !back.Equals(theirs) {
			t.Fatalf("cpuset reads %q as %v, %v", ours, back, err)
		}
	})
}
