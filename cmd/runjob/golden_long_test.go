//go:build long

package main

import (
	"strings"
	"testing"
)

// TestGoldenStatusOfAThousandPods runs the large manifests of testdata.
func TestGoldenStatusOfAThousandPods(t *testing.T) {
	runManifests(t, func(name string) bool { return strings.HasSuffix(name, "-1000") })
}
