//go:build long

package main

import (
	"slices"
	"testing"
)

// Rapid's flags go to the packages that know them.
func TestPackagesThatDraw(t *testing.T) {
	t.Chdir("../..")
	got, err := drawing("pleg")
	if err != nil || !slices.Contains(got, "./pleg") || !slices.Contains(got, "./pleg/statuscache") || slices.Contains(got, "./pleg/plegtest") {
		t.Errorf("%q, %v", got, err)
	}
}
