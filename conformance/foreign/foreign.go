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
)

// System answers the cases of restart delays, by sleeping where time passes. Nil
// functions are unsupported kinds.
type System struct {
	CrashLoop func(Settings) ([]time.Duration, error)
	Retry     func(Settings) ([]time.Duration, error)
}

// Settings are the input of a case.
type Settings struct {
	Base, Max time.Duration
	Reset     time.Duration // of CrashLoop only
	Runs      []time.Duration
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

type question struct {
	BaseMS  int64   `json:"base_ms"`
	MaxMS   int64   `json:"max_ms"`
	ResetMS int64   `json:"reset_ms"`
	RunsMS  []int64 `json:"runs_ms"`
}

// inBubble calls delays for each question in a bubble of its own.
func inBubble(t *testing.T, delays func(Settings) ([]time.Duration, error)) func(json.RawMessage) (any, error) {
	if delays == nil {
		return nil
	}
	return serve.Answer(func(q question) (any, error) {
		in := Settings{Base: milliseconds(q.BaseMS), Max: milliseconds(q.MaxMS), Reset: milliseconds(q.ResetMS)}
		for _, ms := range q.RunsMS {
			in.Runs = append(in.Runs, milliseconds(ms))
		}
		var all []time.Duration
		var err error
		synctest.Test(t, func(*testing.T) { all, err = delays(in) })
		ms := []float64{} // a foreign delay need not be whole milliseconds
		for _, d := range all {
			ms = append(ms, float64(d)/float64(time.Millisecond))
		}
		return map[string]any{"delays_ms": ms}, err
	})
}

func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
