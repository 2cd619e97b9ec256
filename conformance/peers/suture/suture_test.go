// Package suture runs the tests of github.com/thejerf/suture/v4 with supervise in place of
// suture, and one program with either of them.
package suture

import (
	"testing"

	"github.com/restartkit/restart/conformance/peers/owntests"
)

// Each of suture's tests passes over the adapter in testdata, unless expected.txt says why it
// does not.
func TestSuturesOwnTests(t *testing.T) {
	suite := owntests.Suite{
		Module:   "github.com/thejerf/suture/v4",
		Adapter:  "testdata",
		Expected: "expected.txt",
		Covers:   "github.com/restartkit/restart/supervise",
	}
	if passed, reached := suite.Run(t); passed < 25 || reached < 20 {
		t.Errorf("only %d pass and %d reach supervise", passed, reached)
	}
}
