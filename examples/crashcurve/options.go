package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/examples/internal/flags"
)

// options are the flags, checked.
type options struct {
	figures []figure
	claims  bool   // print what the KEP's text says, too
	output  string // file of the picture, or ""
	format  string // of the picture: svg or png
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
var ownFlags = []string{"policy", "baseline", "run", "mix", "until", "windows", "log"}

func parseOptions(args []string, stdout io.Writer) (*options, error) {
	var raw rawOptions
	flags := flags.New("crashcurve", fmt.Sprintf(usage, presetNames()))
	flags.StringVar(&raw.output, "o", "", "`file` for a picture, .svg or .png")
	flags.StringVar(&raw.figure, "figure", "", "`name` of one of KEP-4603's figures, instead of all:\n"+strings.Replace(figureNames(), ", initial", ",\ninitial", 1))
	flags.Func("policy", "`policy` to show, see above; can be given again", func(s string) error {
		p, err := parsePolicy(s)
		raw.policies = append(raw.policies, p)
		return err
	})
	flags.StringVar(&raw.baseline, "baseline", "", "`name` of the policy that the others are compared with\n(default: the first)")
	flags.DurationVar(&raw.run, "run", 0, "`time` that each run of a pod lasts")
	flags.Float64Var(&raw.mix, "mix", 0, "`share` of the pods, 0 to 1, that crash as soon as they start, while the\nothers end with success after -run; all are restarted, as under\nrestartPolicy Always (default: all pods alike)")
	flags.IntVar(&raw.pods, "pods", 110, "`number` of pods on the node")
	flags.IntVar(&raw.requests, "requests", 5, "`number` of API requests per restart")
	flags.DurationVar(&raw.until, "until", 30*minute, "`time` to look at, from the first start on")
	flags.StringVar(&raw.windows, "windows", "", "`ends` of the windows that are rows of the tables, such as 10s,30s,5m\n(default: some up to -until)")
	flags.StringVar(&raw.log, "log", "", "`axes` with a logarithmic scale: x, y, xy or none\n(default: as the counts need)")
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
		o.format = strings.ToLower(strings.TrimPrefix(filepath.Ext(raw.output), "."))
		if o.format != "svg" && o.format != "png" {
			return nil, fmt.Errorf("-o %s: must end in .svg or .png", raw.output)
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

// ownFigure is the figure that the flags describe.
func (raw *rawOptions) ownFigure() (figure, error) {
	f := figure{title: "Restarts under a backoff", pods: raw.pods, requests: raw.requests, end: raw.until, api: true}
	switch {
	case raw.run < 0 || raw.run > longest:
		return f, fmt.Errorf("-run %v: must be in 0s..%s", raw.run, short(longest))
	case !(raw.mix >= 0 && raw.mix <= 1): // NaN too
		return f, fmt.Errorf("-mix %v: must be in 0..1", raw.mix)
	case raw.until < second || raw.until > longest:
		return f, fmt.Errorf("-until %v: must be in 1s..%s", raw.until, short(longest))
	case !slices.Contains([]string{"", "x", "y", "xy", "none"}, raw.log):
		return f, fmt.Errorf("-log %s: must be x, y, xy or none", raw.log)
	}
	policies := raw.policies
	if len(policies) == 0 {
		policies = []namedPolicy{
			{name: "today", policy: backoff.CrashLoop()},
			{name: "reduced", policy: backoff.ReducedCrashLoop()},
			{name: "1s maximum", policy: backoff.CrashLoop().WithMax(time.Second)},
		}
	}
	const most = 8 // what the palette can tell apart
	if len(policies) > most {
		return f, fmt.Errorf("%d policies: at most %d can be told apart", len(policies), most)
	}
	for i, p := range policies {
		if slices.ContainsFunc(policies[:i], func(q namedPolicy) bool { return q.name == p.name }) {
			return f, fmt.Errorf("-policy %s: there is another one of that name, write NAME=%s", p.name, p.text)
		}
		run := raw.run
		if p.run != nil {
			run = *p.run
		}
		f.curves = append(f.curves, curve{name: p.name, policy: p.policy, groups: raw.groups(run)})
		if p.name == raw.baseline {
			f.baseline = i
		}
	}
	if raw.baseline != "" && policies[f.baseline].name != raw.baseline {
		return f, fmt.Errorf("-baseline %s: no policy has that name", raw.baseline)
	}
	f.mixed = raw.given["mix"]
	windows, err := parseWindows(raw.windows, raw.until)
	f.windows = windows
	f.logTime = strings.Contains(raw.log, "x")
	f.logCount = strings.Contains(raw.log, "y") || raw.log == "" && f.spread() > autoLog
	return f, err
}

// groups divides the node's pods.
func (raw *rawOptions) groups(run time.Duration) []group {
	if !raw.given["mix"] {
		return []group{{pods: raw.pods, run: run}}
	}
	crashing := int(math.Round(raw.mix * float64(raw.pods)))
	return []group{{pods: crashing}, {pods: raw.pods - crashing, run: run}}
}

// parseWindows reads the ends of windows. Without any it chooses those of the
// KEP's text, and coarser ones up to until.
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
