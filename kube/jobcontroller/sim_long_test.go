//go:build long

package jobcontroller

import "testing"

// The simulations of TestFaultsLoseNoEndAndCountNoneTwice in their full number, which
// reaches each kind of fault and check.
func TestManyFaultsLoseNoEndAndCountNoneTwice(t *testing.T) { simulate(t, max(*simSeeds, 40)) }
