//go:build long

package backoff_test

import (
	"math/rand/v2"
	"testing"
)

// TestCoreV1PoliciesDecideAsBefore with more exits, which are others in each run.
func TestCoreV1PoliciesDecideAsBeforeAtRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	decideAsBefore(t, rand.New(rand.NewPCG(seed, 2)), 5_000_000)
}
