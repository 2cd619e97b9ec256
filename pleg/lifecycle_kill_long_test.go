//go:build long

package pleg_test

import (
	"math/rand/v2"
	"testing"
)

// TestLifecycleSurvivesKills with other histories in each run.
func TestLifecycleSurvivesKillsInRandomHistories(t *testing.T) {
	first := rand.Uint64N(1 << 60)
	t.Logf("the first seed is %d", first)
	surviveKills(t, first, 10_000)
}
