package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/chart"
	"github.com/restartkit/restart/cmd/internal/preset"
	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

// figure returns the figure described by the flags.
func (raw *rawOptions) figure() (figure, error) {
	f := figure{pods: raw.pods, requests: raw.requests, end: raw.until, mixed: raw.given["mix"]}
	switch {
	case raw.pods < 1 || raw.pods > 1_000_000:
		return f, fmt.Errorf("-pods %d: must be in 1..1000000", raw.pods)
	case raw.requests < 0 || raw.requests > 1_000_000:
		return f, fmt.Errorf("-requests %d: must be in 0..1000000", raw.requests)
	case raw.run < 0 || raw.run > preset.Longest:
		return f, fmt.Errorf("-run %v: must be in 0s..%s", raw.run, picture.Duration(preset.Longest))
	case !(raw.mix >= 0 && raw.mix <= 1): // also refuses NaN
		return f, fmt.Errorf("-mix %v: must be in 0..1", raw.mix)
	case raw.until < second || raw.until > preset.Longest:
		return f, fmt.Errorf("-until %v: must be in 1s..%s", raw.until, picture.Duration(preset.Longest))
	case !slices.Contains([]string{"", "x", "y", "xy", "none"}, raw.log):
		return f, fmt.Errorf("-log %s: must be x, y, xy or none", raw.log)
	}
	policies := raw.policies
	if len(policies) == 0 {
		for _, text := range []string{"kubelet", "kubelet-reduced", "1s maximum=kubelet,max=1s"} {
			p, err := parsePolicy(text)
			if err != nil {
				return f, err
			}
			policies = append(policies, p)
		}
	}
	if len(policies) > chart.MostLines {
		return f, fmt.Errorf("%d policies: at most %d can be distinguished", len(policies), chart.MostLines)
	}
	for i, p := range policies {
		if slices.ContainsFunc(policies[:i], func(q namedPolicy) bool { return q.Name == p.Name }) {
			return f, fmt.Errorf("-policy %s: another policy has this name; write NAME=%s", p.Name, p.text)
		}
		run := raw.run
		if p.run != nil {
			run = *p.run
		}
		p.Groups = raw.groups(run)
		f.curves = append(f.curves, p.Curve)
		if p.Name == raw.baseline {
			f.baseline = i
		}
	}
	if raw.baseline != "" && policies[f.baseline].Name != raw.baseline {
		return f, fmt.Errorf("-baseline %s: no policy has that name", raw.baseline)
	}
	windows, err := parseWindows(raw.windows, raw.until)
	f.windows = windows
	f.logTime = strings.Contains(raw.log, "x")
	switch {
	case strings.Contains(raw.log, "y"):
		f.scale = chart.Logarithmic
	case raw.log != "":
		f.scale = chart.Linear
	}
	return f, err
}

// groups divides the node's pods into groups.
func (raw *rawOptions) groups(run time.Duration) []chart.Group {
	if !raw.given["mix"] {
		return []chart.Group{{Pods: raw.pods, Run: run}}
	}
	crashing := int(math.Round(raw.mix * float64(raw.pods)))
	return []chart.Group{{Pods: crashing}, {Pods: raw.pods - crashing, Run: run}}
}

// parseWindows parses the ends of the windows. If text is empty, it returns the ends
// used in KEP-4603, then coarser ones up to until.
func parseWindows(text string, until time.Duration) ([]time.Duration, error) {
	var ends []time.Duration
	if text == "" {
		for _, end := range []time.Duration{10 * second, 30 * second, 70 * second, 150 * second, 5 * minute, 10 * minute, 15 * minute, 20 * minute, 25 * minute, 30 * minute, hour, 6 * hour, 24 * hour} {
			if end < until {
				ends = append(ends, end)
			}
		}
		return append(ends, until), nil
	}
	for word := range strings.SplitSeq(text, ",") {
		end, err := time.ParseDuration(strings.TrimSpace(word))
		switch {
		case err != nil:
			return nil, fmt.Errorf("-windows %s: %q is not a duration such as 10s", text, word)
		case end <= 0 || len(ends) > 0 && end <= ends[len(ends)-1]:
			return nil, fmt.Errorf("-windows %s: each end must be later than the one before, and above 0", text)
		}
		ends = append(ends, end)
	}
	return ends, nil
}
