package curve

import (
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Curve{
		"kubelet":                             {Name: "kubelet", Policy: backoff.CrashLoop()},
		"slow=kubelet":                        {Name: "slow", Policy: backoff.CrashLoop()},
		"1s maximum=kubelet,max=1s":           {Name: "1s maximum", Policy: backoff.CrashLoop().WithMax(time.Second)},
		"1s/60s,run=10s":                      {Name: "1s/60s,run=10s", Run: 10 * time.Second, Policy: backoff.Policy{Initial: time.Second, Max: time.Minute, ResetAfter: 10 * time.Minute}},
		"x=1s/60s,factor=1.5,free=2,reset=1h": {Name: "x", Policy: backoff.Policy{Initial: time.Second, Max: time.Minute, Factor: 1.5, FreeFailures: 2, ResetAfter: time.Hour}},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestParseNamesTheMistake(t *testing.T) {
	long := strings.Repeat("n", LongestName+1)
	for text, want := range map[string]string{
		"x":                    `"x" is neither a preset (kubelet, kubelet-reduced, job, imagepull, docker, systemd, flink) nor INITIAL/MAX such as 1s/60s`,
		"kubletreduced":        `nor INITIAL/MAX such as 1s/60s: did you mean kubelet-reduced?`,
		"nomad":                `nomad cannot be expressed exactly: its restart block`,
		"1x/60s":               `"1x" is not a duration such as 10s or 1m30s`,
		"1s/":                  `"" is not a duration such as 10s or 1m30s`,
		"0s/1s":                `0s is not in 1ms..87600h`,
		"1s/999999h":           `999999h is not in 1ms..87600h`,
		"10s/1s":               `MAX 1s is below INITIAL 10s`,
		"=kubelet":             `the name is empty`,
		"a\x1b[2J=kubelet":     `the name has characters that cannot be printed`,
		"a\xff=kubelet":        `the name has characters that cannot be printed`,
		long + "=kubelet":      `the name is longer than 40 letters`,
		"kubelet,free":         `option "free" is not NAME=VALUE`,
		"kubelet,free=-1":      `option free: "-1" is not a whole number in 0..1000`,
		"kubelet,factor=1.001": `option factor: "1.001" is not 1 or a number from 1.01 on`,
		"kubelet,factor=NaN":   `option factor: "NaN" is not 1 or a number from 1.01 on`,
		"kubelet,factor=Inf":   `option factor: "Inf" is not 1 or a number from 1.01 on`,
		"kubelet,reset=0s":     `option reset: 0s is not in 1ns..87600h`,
		"kubelet,run=-1s":      `option run: -1s is not in 0s..87600h`,
		"kubelet,max=0s":       `option max: 0s is not in 1ms..87600h`,
		"kubelet,jitter=1":     `option jitter: unknown; must be max, factor, free, reset or run`,
	} {
		if c, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %s", text, c, err, want)
		}
	}
}
