package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/flags"
	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

// options are the checked settings of the flags.
type options struct {
	figure figure
	output string // picture file, or "" for none
}

// rawOptions are the flags as given.
type rawOptions struct {
	output, baseline, windows, log string
	policies                       []namedPolicy
	run, until                     time.Duration
	mix                            float64
	pods, requests                 int
	given                          map[string]bool // names of the flags given
}

func parseOptions(args []string, stdout io.Writer) (*options, error) {
	var raw rawOptions
	flags := flags.New("crashcurve", usage, fmt.Sprintf(moreUsage, presetHelp()))
	flags.StringVar(&raw.output, "o", "", "`file` for a picture, .svg")
	flags.IntVar(&raw.pods, "pods", 110, "`number` of pods on the node")
	flags.IntVar(&raw.requests, "requests", 5, "`number` of API requests per restart")
	flags.Func("policy", "`policy` to show, see above; repeatable", func(s string) error {
		p, err := parsePolicy(s)
		raw.policies = append(raw.policies, p)
		return err
	})
	flags.Func("compare", "`presets` to show, such as kubelet,docker,systemd; same as a -policy each", func(s string) error {
		for word := range strings.SplitSeq(s, ",") {
			p, err := parsePolicy(strings.TrimSpace(word))
			if err != nil {
				return err
			}
			raw.policies = append(raw.policies, p)
		}
		return nil
	})
	flags.StringVar(&raw.baseline, "baseline", "", "`name` of the policy to compare the others with (default: the first)")
	flags.DurationVar(&raw.run, "run", 0, "`time` that each run of a pod lasts")
	flags.Float64Var(&raw.mix, "mix", 0, "`share` of the pods, 0 to 1, that crash as soon as they start, while the\nothers end with success after -run; all are restarted, as under\nrestartPolicy Always (default: all pods alike)")
	flags.DurationVar(&raw.until, "until", 30*minute, "`time` to cover, from the first start on")
	flags.StringVar(&raw.windows, "windows", "", "`ends` of the windows, each a row of the tables, such as 10s,30s,5m\n(default: some up to -until)")
	flags.StringVar(&raw.log, "log", "", "`axes` with a logarithmic scale: x, y, xy or none\n(default: depends on the counts)")
	flags.Group("Flags")
	if err := flags.Parse(args, stdout); err != nil {
		return nil, err
	}
	raw.given = flags.Given()
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag", flags.Arg(0))
	}
	if raw.output != "" {
		if _, err := picture.Ending(raw.output, ".svg"); err != nil {
			return nil, fmt.Errorf("-o %s: %w", raw.output, err)
		}
	}
	f, err := raw.figure()
	return &options{f, raw.output}, err
}

const usage = `Usage: crashcurve [flags]

Calculates the restarts of a node's pods under a backoff, and the API requests
they make, before you roll the backoff out. Prints tables; -o draws the restarts
against time. Without -policy and -compare crashcurve shows the kubelet's
delays, the reduced ones of KEP-4603 (Tune CrashLoopBackOff), and the kubelet's
under a maximum of 1s.

A policy is [NAME=]CURVE[,OPTION=VALUE]... CURVE is INITIAL/MAX, such as 1s/60s,
or one of the presets below. Options:
  max=60s     an operator's maximum; also caps the initial delay
  factor=1.5  growth per failure, 1 or at least 1.01; 2 if not given
  free=1      restarts without delay before the curve begins
  reset=10m   a run longer than this resets the curve
  run=10s     time that each run lasts, instead of -run
`

const moreUsage = `
A window includes restarts at its end, but not at its start. The first window
includes both.

Restarts are counted at the end of their delays. A kubelet with the default
syncFrequency of 1m is late by up to half the delay, at most 30s, and a second.

Presets, with their sources:
%s
docker, systemd and flink do without a kubelet, so their restarts make no API
requests. To see a kubelet with such a curve, write the curve, such as
-policy docker=100ms/1m,reset=10s.

Exit codes:
  0  everything was printed and written
  2  a flag is wrong
  3  the tables or the picture cannot be written

Examples:
  crashcurve -until 15m -o curves.svg
        the curves that KEP-4603 compares
  crashcurve -compare kubelet,docker,systemd -o systems.svg
        three systems, for pods that crash at once
  crashcurve -policy kubelet -policy mine=1s/30s,free=1 -run 10s -o mine.svg
        two policies, for pods that run for 10s and end
  crashcurve -policy 0s=kubelet -policy 10m=kubelet,run=9m59s -windows 10m,30m
        pods that crash at once beside pods that nearly reset the curve
  crashcurve -policy systemd,RestartSec=1s,RestartSteps=5,RestartMaxDelaySec=1m
        one unit of systemd
  crashcurve -pods 110 -run 10s -mix 0.3
        a node where 30 %% of the pods crash at once

More: https://github.com/restartkit/restart/tree/main/cmd#crashcurve
`
