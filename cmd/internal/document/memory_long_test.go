//go:build long

package document

import (
	"runtime"
	"strings"
	"testing"
)

// TestHostileTextStaysSmall: the memory for a text is in proportion to its length,
// whatever it holds, but for what aliases may stand for.
func TestHostileTextStaysSmall(t *testing.T) {
	fill := func(text string) string { return strings.Repeat(text, largest/16/len(text)) }
	for name, text := range map[string]string{
		"aliases":  bomb(40),
		"one line": `a: "` + fill("x"),
		"texts":    "[" + fill("x,") + "]",
		"merges":   "a: &a {b: c}\nd:\n" + fill("- <<: *a\n"),
		"deep":     fill("{a: "),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ParseAll([]byte(text))
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(2000*len(text)+64<<20) {
			t.Errorf("%s: allocated %d MiB (%v)", name, used>>20, err)
		}
	}
}
