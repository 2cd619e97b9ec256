//go:build long

package cmd

import "testing"

// The slow commands print what stands below them too.
func TestSlowDocumentedCommandsPrintWhatStandsBelow(t *testing.T) {
	runBlocks(t, documented(t), true)
}
