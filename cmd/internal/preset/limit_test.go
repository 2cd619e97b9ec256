package preset

import (
	"math"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"pgregory.net/rapid"
)

// limited starts something as systemd does, until that gives up or most starts were
// made: a window begins with a start that lies in none, and its starts are counted.
func limited(l StartLimit, p backoff.Policy, run time.Duration, most int) (restarts int) {
	begin, starts := time.Duration(0), 1
	for at := range p.Timeline(func(int) time.Duration { return run }) {
		if at-begin > l.Within {
			begin, starts = at, 0
		}
		if starts++; starts > l.Starts {
			return restarts
		}
		if restarts++; restarts == most {
			break
		}
	}
	return math.MaxInt
}

// A limit is reached at the beginning or never.
func TestLimitIsReachedAsInSystemd(t *testing.T) {
	given, kept := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ms := func(label string, most int64) time.Duration {
			return time.Duration(rapid.Int64Range(1, most).Draw(t, label)) * time.Millisecond
		}
		p := backoff.Policy{Initial: ms("initial", 2000), Factor: rapid.SampledFrom([]float64{1, 1.2, 2}).Draw(t, "factor"), ResetAfter: ms("reset", 4000), FreeFailures: rapid.IntRange(0, 3).Draw(t, "free")}
		p.Max = p.Initial + ms("more", 3000)
		l := StartLimit{rapid.IntRange(1, 8).Draw(t, "starts"), ms("within", 12_000)}
		run := ms("run", 3000) - time.Millisecond
		got := l.Restarts(p, run)
		if want := limited(l, p, run, 200); got != want {
			t.Fatalf("%+v of %+v, runs of %v: %d restarts, want %d", l, p, run, got, want)
		}
		if got == math.MaxInt {
			kept++
		} else {
			given++
		}
	})
	if given < 10 || kept < 10 {
		t.Errorf("given up %d times, and %d times not", given, kept)
	}
	if got := (StartLimit{}).Restarts(backoff.CrashLoop(), 0); got != math.MaxInt {
		t.Errorf("without a limit %d restarts", got)
	}
}
