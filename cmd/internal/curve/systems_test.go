package curve

import (
	"math"
	"testing"
	"time"
)

// dockers returns the delays of Docker's restart manager, step by step.
func dockers(runs []time.Duration) (delays []time.Duration) {
	timeout := time.Duration(0)
	for _, run := range runs {
		if run.Seconds() >= 10 {
			timeout = 0
		}
		switch {
		case timeout == 0:
			timeout = 100 * time.Millisecond
		case timeout < time.Minute:
			timeout *= 2
		}
		timeout = min(timeout, time.Minute)
		delays = append(delays, timeout)
	}
	return delays
}

// flinks returns the delays, in whole milliseconds, of Flink's exponential-delay strategy
// without jitter. The n-th one in a row is initial * 1.5^(n-1).
func flinks(runs []time.Duration) (delays []time.Duration) {
	n := 0
	for i, run := range runs {
		if i == 0 || run >= time.Hour {
			n = 0
		}
		n++
		delays = append(delays, time.Duration(min(1000*math.Pow(1.5, float64(n-1)), 60_000))*time.Millisecond)
	}
	return delays
}

// systemds returns the delays of a unit without RestartSteps.
func systemds(runs []time.Duration) (delays []time.Duration) {
	for range runs {
		delays = append(delays, 100*time.Millisecond)
	}
	return delays
}

// controllers returns the delays of the Job controller for failures in a row.
func controllers(runs []time.Duration) (delays []time.Duration) {
	for i := range runs {
		delays = append(delays, min(10*time.Second<<min(i, 10), 10*time.Minute))
	}
	return delays
}

// A system's curve has the delays of the system, also after runs that are just long
// enough to reset the curve, and just too short.
func TestCurvesHaveTheDelaysOfTheirSystems(t *testing.T) {
	for _, test := range []struct {
		system string
		unit   time.Duration // to which the system rounds down
		model  func(runs []time.Duration) []time.Duration
	}{
		{"docker", 0, dockers},
		{"flink", time.Millisecond, flinks},
		{"systemd", 0, systemds},
		{"job", 0, controllers},
	} {
		c, err := Parse(test.system)
		if err != nil {
			t.Fatal(err)
		}
		runs := make([]time.Duration, 40)
		for i, run := range []time.Duration{0, time.Second, 10*time.Second - 1, 10 * time.Second, 10*time.Second + 1, time.Hour - 1, time.Hour, 0, 30 * time.Hour} {
			runs[12+3*i] = run
		}
		want := test.model(runs)
		i, last := 0, time.Duration(0)
		for at := range c.Policy.Timeline(func(n int) time.Duration { return runs[n-1] }) {
			got := at - last - runs[i]
			if got < want[i] || got > want[i]+test.unit {
				t.Errorf("%s: delay %d after a run of %v is %v, want %v", test.system, i+1, runs[i], got, want[i])
			}
			last = at
			if i++; i == len(runs) {
				break
			}
		}
	}
}

// A system has a valid curve, or a reason why it has none.
func TestSystemsHaveACurveOrAReason(t *testing.T) {
	refused := 0
	for _, s := range Systems() {
		err := s.Curve.Policy.Validate()
		if (err == nil) == (s.Refused != "") || (s.Text == "") != (s.Refused != "") || s.Source == "" {
			t.Errorf("%+v: %v", s, err)
		}
		if s.Refused != "" {
			refused++
		}
	}
	if refused != 3 || len(Names()) != len(Systems())-refused {
		t.Errorf("%d systems are refused, %q are not", refused, Names())
	}
}
