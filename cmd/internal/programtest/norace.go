//go:build !race

package programtest

// Race reports whether the tests run with the race detector.
const Race = false
