package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/flags"
	"github.com/restartkit/restart/cmd/internal/picture"
)

// options are the flags, checked.
type options struct {
	figures []figure
	claims  bool   // print what the KEP's text says, too
	output  string // file of the picture, or ""
}

// rawOptions are the flags as given.
type rawOptions struct {
	output, figure, baseline, windows, log string
	policies                               []namedPolicy
	run, until                             time.Duration
	mix                                    float64
	pods, requests                         int
	given                                  map[string]bool // names of the flags that were given
}

// ownFlags are those that ask for a figure of one's own.
var ownFlags = []string{"policy", "compare", "baseline", "run", "mix", "until", "windows", "log"}

func parseOptions(args []string, stdout io.Writer) (*options, error) {
	var raw rawOptions
	flags := flags.New("crashcurve", usage, fmt.Sprintf(moreUsage, presetHelp()))
	flags.StringVar(&raw.output, "o", "", "`file` of a picture, .svg")
	flags.StringVar(&raw.figure, "figure", "", "`name` of one of KEP-4603's figures, instead of all:\n"+strings.Replace(figureNames(), ", initial", ",\ninitial", 1))
	flags.IntVar(&raw.pods, "pods", 110, "`number` of pods on the node")
	flags.IntVar(&raw.requests, "requests", 5, "`number` of API requests per restart")
	flags.Group("Every figure")
	flags.Func("policy", "`policy` to show, see above; repeatable", func(s string) error {
		p, err := parsePolicy(s)
		raw.policies = append(raw.policies, p)
		return err
	})
	flags.Func("compare", "`presets` to show, such as kubelet,docker,systemd; as one -policy each", func(s string) error {
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
	flags.DurationVar(&raw.until, "until", 30*minute, "`time` to look at, from the first start on")
	flags.StringVar(&raw.windows, "windows", "", "`ends` of the windows that are rows of the tables, such as 10s,30s,5m\n(default: some up to -until)")
	flags.StringVar(&raw.log, "log", "", "`axes` with a logarithmic scale: x, y, xy or none\n(default: as the counts need)")
	flags.Group("A figure of your own")
	if err := flags.Parse(args, stdout); err != nil {
		return nil, err
	}
	raw.given = flags.Given()
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag", flags.Arg(0))
	}
	return raw.check()
}

// check turns the flags into what to do, or names the first that is wrong.
func (raw *rawOptions) check() (*options, error) {
	o := &options{output: raw.output}
	if raw.output != "" {
		if _, err := picture.Ending(raw.output, ".svg"); err != nil {
			return nil, fmt.Errorf("-o %s: %w", raw.output, err)
		}
	}
	switch {
	case raw.pods < 1 || raw.pods > 1_000_000:
		return nil, fmt.Errorf("-pods %d: must be in 1..1000000", raw.pods)
	case raw.requests < 0 || raw.requests > 1_000_000:
		return nil, fmt.Errorf("-requests %d: must be in 0..1000000", raw.requests)
	}
	var own []string
	for _, name := range ownFlags {
		if raw.given[name] {
			own = append(own, "-"+name)
		}
	}
	if len(own) > 0 {
		if raw.given["figure"] {
			return nil, fmt.Errorf("-figure shows the KEP's policies, it cannot go with %s", strings.Join(own, ", "))
		}
		f, err := raw.ownFigure()
		if err != nil {
			return nil, err
		}
		o.figures = []figure{f}
		return o, nil
	}
	for _, f := range kepFigures(raw.pods, raw.requests) {
		if raw.figure == "" || raw.figure == f.name {
			o.figures = append(o.figures, f)
		}
	}
	if len(o.figures) == 0 {
		return nil, fmt.Errorf("-figure %s: must be one of %s", raw.figure, figureNames())
	}
	o.claims = raw.figure == ""
	return o, nil
}

const usage = `Usage: crashcurve [flags]

Calculates how often a node's pods are restarted under a backoff, and how many
API requests that makes, before you roll the backoff out. Prints tables; -o
draws restarts against time. Without flags it reproduces the figures of KEP-4603
(Tune CrashLoopBackOff).

Any of -policy, -compare, -baseline, -run, -mix, -until, -windows and -log asks
for a figure of your own. Without -policy and -compare it shows the kubelet's
delays, the reduced ones of KEP-4603, and the kubelet's under a maximum of 1s.

A policy is [NAME=]CURVE[,OPTION=VALUE]... CURVE is INITIAL/MAX, such as 1s/60s,
or a preset, see below. The options:
  max=60s     an operator's maximum; it caps the initial delay too
  factor=1.5  growth per failure, 1 or at least 1.01; 2 if not given
  free=1      restarts without delay before the curve begins
  reset=10m   a run longer than this resets the curve
  run=10s     how long each run lasts, instead of -run
`

const moreUsage = `
A window includes a restart at its end, not one at its start; the first window
includes both.

Presets, with their sources:
%s
No kubelet restarts what docker, systemd and flink run, so the restarts of these
three make no API requests. To see a kubelet with such a curve, write the curve:
-policy docker=100ms/1m,reset=10s.

Exit codes:
  0  everything was printed and written
  2  a flag is wrong
  3  the tables or the picture cannot be written

Examples:
  crashcurve -o curves.svg
        the figures of KEP-4603
  crashcurve -figure maximum -o maximum.svg
        one of them
  crashcurve -compare kubelet,docker,systemd -o systems.svg
        what three systems do to pods that crash at once
  crashcurve -policy kubelet -policy mine=1s/30s,free=1 -run 10s -o mine.svg
        two policies, for pods that run for 10s and end
  crashcurve -policy systemd,RestartSec=1s,RestartSteps=5,RestartMaxDelaySec=1m
        one unit of systemd
  crashcurve -pods 110 -run 10s -mix 0.3
        a node where 30 %% of the pods crash at once

More: https://github.com/restartkit/restart/tree/main/cmd#crashcurve
`
