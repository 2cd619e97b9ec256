package peers

import (
	"math/rand/v2"

	"github.com/restartkit/restart/indexset"
)

// everyNth returns each n-th index below completions.
func everyNth(n int) indexset.Set {
	var b indexset.Builder
	for i := 0; i < completions; i += n {
		b.Add(i)
	}
	return b.Set()
}

func runsOf90() indexset.Set {
	var b indexset.Builder
	for i := 0; i < completions; i += 100 {
		b.AddRange(i, i+89)
	}
	return b.Set()
}

// randomRanges returns about n ranges below limit, each of at most longest indexes.
func randomRanges(seed uint64, n, limit, longest int) indexset.Set {
	r := rand.New(rand.NewPCG(seed, 0))
	var b indexset.Builder
	for k := range n {
		first := limit/n*k + r.IntN(limit/n)
		b.AddRange(first, min(first+r.IntN(longest), limit-1))
	}
	return b.Set()
}

// nearRanges returns 10^4 ranges below 10^6, farRanges 10^4 ranges below 10^9.
func nearRanges(seed uint64) indexset.Set { return randomRanges(seed, 10_000, 1_000_000, 50) }
func farRanges(seed uint64) indexset.Set  { return randomRanges(seed, 10_000, 1_000_000_000, 1000) }

// randomIndexes returns n random indexes below completions.
func randomIndexes(n int) []int {
	r := rand.New(rand.NewPCG(7, 0))
	indexes := make([]int, n)
	for k := range indexes {
		indexes[k] = r.IntN(completions)
	}
	return indexes
}
