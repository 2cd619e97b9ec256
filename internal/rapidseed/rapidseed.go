// Package rapidseed tells tests whether pgregory.net/rapid draws the same cases in every run.
package rapidseed

import (
	"flag"
	"strconv"
	"testing"
)

// Fixed reports whether rapid runs in full size from the seed that .ci/run sets.
//
// A test that checks whether its random cases reached everything they should, such as
// each kind of fault, may fail under other seeds without anything being wrong. It
// checks this only if Fixed.
func Fixed() bool {
	const seed, checks = 1, 100 // RAPID_SEED in .ci/run; rapid's default
	return !testing.Short() && number("rapid.seed") == seed && number("rapid.checks") >= checks
}

// number returns the value of a flag of rapid, or 0 if the test does not use rapid.
func number(name string) int {
	f := flag.Lookup(name)
	if f == nil {
		return 0
	}
	n, err := strconv.Atoi(f.Value.String())
	if err != nil {
		return 0
	}
	return n
}
