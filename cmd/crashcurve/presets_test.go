package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/preset"
)

// dockers are the delays that Docker's restart manager has, step by step.
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

// flinks are the delays in whole milliseconds that Flink's exponential-delay strategy has
// without jitter: the n-th one in a row is initial * 1.5^(n-1).
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

// systemds are the delays in whole microseconds of a unit with RestartSec=1s,
// RestartSteps=5 and RestartMaxDelaySec=1m.
func systemds(runs []time.Duration) (delays []time.Duration) {
	for i := range runs {
		delay := 1e6 * math.Pow(60, float64(i)/5)
		if i >= 5 {
			delay = 60e6
		}
		delays = append(delays, time.Duration(delay)*time.Microsecond)
	}
	return delays
}

// controllers are the delays of the Job controller for failures in a row.
func controllers(runs []time.Duration) (delays []time.Duration) {
	for i := range runs {
		delays = append(delays, min(10*second<<min(i, 10), 10*minute))
	}
	return delays
}

// A preset has the delays of the system that it names, also over runs that end the
// curve, just long enough and just too short.
func TestPresetsHaveTheDelaysOfTheirSystems(t *testing.T) {
	for _, test := range []struct {
		policy string
		unit   time.Duration // to which the system rounds down
		model  func(runs []time.Duration) []time.Duration
	}{
		{"docker", 0, dockers},
		{"flink", time.Millisecond, flinks},
		{"systemd,RestartSec=1s,RestartSteps=5,RestartMaxDelaySec=1m", time.Microsecond, systemds},
		{"job", 0, controllers},
	} {
		p, err := parsePolicy(test.policy)
		if err != nil {
			t.Fatal(err)
		}
		runs := make([]time.Duration, 40)
		for i, run := range []time.Duration{0, time.Second, 10*second - 1, 10 * second, 10*second + 1, hour - 1, hour, 0, 30 * hour} {
			runs[12+3*i] = run
		}
		want := test.model(runs)
		i, last := 0, time.Duration(0)
		for at := range p.Policy.Timeline(func(n int) time.Duration { return runs[n-1] }) {
			got := at - last - runs[i]
			if got < want[i] || got > want[i]+test.unit {
				t.Errorf("%s: delay %d after a run of %v is %v, want %v", test.policy, i+1, runs[i], got, want[i])
			}
			last = at
			if i++; i == len(runs) {
				break
			}
		}
	}
	if p, err := parsePolicy("systemd"); err != nil || p.Policy.Delay(1000) != 100*time.Millisecond {
		t.Errorf("systemd: %+v, %v", p.Policy, err)
	}
	for name, want := range map[string]backoff.Policy{"kubelet": backoff.CrashLoop(), "kubelet-reduced": backoff.ReducedCrashLoop(), "imagepull": backoff.ImagePull()} {
		if p, err := parsePolicy(name); err != nil || p.Policy != want {
			t.Errorf("%s: %+v, %v", name, p.Policy, err)
		}
	}
}

// A preset that a Policy cannot express is refused with the reason, not approximated.
func TestInexactPresetsAreRefused(t *testing.T) {
	refused := 0
	for _, p := range preset.All() {
		var stdout, stderr bytes.Buffer
		code := crashcurve([]string{"-compare", "kubelet," + p.Name + "," + p.Name + "x"}, &stdout, &stderr)
		if code != exitUsage || stdout.Len() > 0 {
			t.Fatalf("%s: exit code %d, %s", p.Name, code, &stdout)
		}
		if p.Refused != "" {
			refused++
			if want := p.Name + " cannot be expressed exactly: " + strings.ReplaceAll(p.Refused, "\n", " "); !strings.Contains(stderr.String(), want) {
				t.Errorf("says %s, want %s", &stderr, want)
			}
		} else if err := p.Policy.Validate(); err != nil || p.Text == "" {
			t.Errorf("%s: %q, %v", p.Name, p.Text, err)
		}
		if p.Source == "" {
			t.Errorf("%s has no source", p.Name)
		}
	}
	if refused != 3 {
		t.Errorf("%d presets are refused", refused)
	}
}

// Settings of a unit that systemd would ignore are mistakes.
func TestSystemdIsSetAsAUnitIs(t *testing.T) {
	for text, want := range map[string]string{
		"systemd,RestartSec=1s":                                         "",
		"systemd,RestartSteps=3,RestartMaxDelaySec=10s":                 "",
		"systemd,RestartSteps=3":                                        "RestartSteps and RestartMaxDelaySec do nothing without each other",
		"systemd,RestartMaxDelaySec=3s":                                 "RestartSteps and RestartMaxDelaySec do nothing without each other",
		"systemd,RestartSec=3s,RestartSteps=1,RestartMaxDelaySec=3s":    "RestartMaxDelaySec 3s is not above RestartSec 3s",
		"systemd,RestartSec=3s,RestartSteps=1000,RestartMaxDelaySec=4s": "RestartSteps 1000: each step is less than 1.01 times the one before",
		"systemd,StartLimitBurst=-1":                                    `option StartLimitBurst: "-1" is not a whole number in 0..1000000`,
		"systemd,StartLimitIntervalSec=x":                               `option StartLimitIntervalSec: "x" is not a duration such as 10s or 1m30s`,
		"systemd,StartLimitBurst=3,StartLimitIntervalSec=1m":            "",
		"systemd,RestartSteps=0":                                        `option RestartSteps: "0" is not a whole number in 1..1000`,
		"docker,RestartSec=3s":                                          "option RestartSec: unknown; must be max, factor, free, reset or run",
	} {
		p, err := parsePolicy(text)
		if got := fmt.Sprint(err); err != nil && got != want || err == nil && want != "" {
			t.Errorf("%s: %+v, %v, want %s", text, p.Policy, err, want)
		}
	}
}

// A unit's settings keep the other options, in any order.
func TestOptionsOfSystemdHaveNoOrder(t *testing.T) {
	a, errA := parsePolicy("systemd,factor=3,max=10s,RestartSec=1s")
	b, errB := parsePolicy("systemd,RestartSec=1s,max=10s,factor=3")
	if errA != nil || errB != nil || a.Policy != b.Policy || a.Policy.Max != 10*time.Second || a.Policy.Factor != 3 {
		t.Errorf("%+v, %v; %+v, %v", a.Policy, errA, b.Policy, errB)
	}
}

// A reset of 0 would silently be the default of a policy.
func TestResetOfZeroIsRefused(t *testing.T) {
	if p, err := parsePolicy("1s/60s,reset=0s"); err == nil || !strings.Contains(err.Error(), "option reset: 0s is not above 0") {
		t.Errorf("%+v, %v", p.Policy, err)
	}
}
