package kubelet

import (
	"slices"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// crashing returns runs of the length, each started after the wait, in seconds.
func crashing(length time.Duration, waits ...float64) History {
	h := History{{t0, t0.Add(length)}}
	for _, wait := range waits {
		start := h[len(h)-1].Finished.Add(time.Duration(wait * float64(time.Second)))
		h = append(h, Run{start, start.Add(length)})
	}
	return h
}

func kubeletCurve(p backoff.Policy) backoff.Policy {
	p.FreeFailures = 1
	return p
}

func TestRestartsAreComparedByDelay(t *testing.T) {
	rows, err := Compare(kubeletCurve(backoff.CrashLoop()), time.Second, []History{
		crashing(time.Second, 0.5, 10.2, 19.9),
		crashing(time.Minute, 1, 11.6),
		crashing(0),
		nil,
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, r.String())
	}
	want := []string{
		"| 0 | 0 to 1 | 2 | 0.50 | 1.00 | 1.00 | 0 |",
		"| 10 | 10 to 11.5 | 2 | 10.20 | 11.60 | 11.60 | 1 |",
		"| 20 | 20 to 21.5 | 1 | 19.90 | 19.90 | 19.90 | 0 |",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows are\n%q, want\n%q", got, want)
	}
	if rows[2].TooEarly != 1 || rows[1].TooEarly != 0 {
		t.Errorf("restarts after 19.9 s and 10.2 s: %d and %d are too early, want 1 and 0", rows[2].TooEarly, rows[1].TooEarly)
	}
}

// A run of more than 10 minutes starts the curve over, with a restart at once.
func TestLongRunStartsTheCurveOver(t *testing.T) {
	rows, err := Compare(kubeletCurve(backoff.CrashLoop()), time.Second, []History{crashing(11*time.Minute, 0.5, 0.5)})
	if err != nil || len(rows) != 1 || rows[0].Delay != 0 || rows[0].Restarts != 2 {
		t.Errorf("rows are %v, %v, want one with two restarts without a delay", rows, err)
	}
}

func TestCountsCoverLateness(t *testing.T) {
	p := kubeletCurve(backoff.CrashLoop().WithMax(time.Second))
	h := crashing(0, 0, 1, 2, 1)
	for _, tt := range []struct {
		lateness     time.Duration
		end          float64
		fewest, most int
	}{
		{0, 0, 1, 1},
		{0, 4, 5, 5},
		{time.Second, 0, 0, 1},
		{time.Second, 3, 2, 4},
		{time.Second, 9, 5, 10},
	} {
		fewest, most := Counts(p, tt.lateness, h, t0.Add(time.Duration(tt.end*float64(time.Second))))
		if fewest != tt.fewest || most != tt.most {
			t.Errorf("Counts with lateness %v by %gs = %d, %d, want %d, %d", tt.lateness, tt.end, fewest, most, tt.fewest, tt.most)
		}
	}
}
