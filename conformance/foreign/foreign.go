// Package foreign asks other systems about restart delays. Their code runs in bubbles
// of testing/synctest, in which time passes at once.
package foreign

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restartkit/restart/conformance/vectors/serve"
	"github.com/restartkit/restart/conformance/vectors/shape"
)

// System answers the cases of restart delays, by sleeping where time passes. Nil
// functions are unsupported kinds.
type System struct {
	CrashLoop func(shape.Delays) ([]time.Duration, error)
	Retry     func(shape.Delays) ([]time.Duration, error)
}

// Main answers all questions on stdin.
func Main(s System) {
	// Only a test can enter a bubble.
	answer := testing.InternalTest{Name: "Main", F: func(t *testing.T) {
		kinds := serve.Kinds{"restartdelay/crashloop": inBubble(t, s.CrashLoop), "restartdelay/retry": inBubble(t, s.Retry)}
		if err := serve.Run(os.Stdin, os.Stdout, kinds); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0) // before the test writes its result on stdout
	}}
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{answer}, nil, nil)
}

// inBubble calls delays for each question in a bubble of its own.
func inBubble(t *testing.T, delays func(shape.Delays) ([]time.Duration, error)) func(json.RawMessage) (any, error) {
	if delays == nil {
		return nil
	}
	return serve.Answer(func(in shape.Delays) (any, error) {
		var all []time.Duration
		var err error
		synctest.Test(t, func(*testing.T) { all, err = delays(in) })
		return shape.DelaysOutcome(all), err
	})
}
