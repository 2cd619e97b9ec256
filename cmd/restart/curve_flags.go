package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/internal/spelling"
)

// curveFlags are the flags for the curve of run and retry.
type curveFlags struct {
	preset       string
	initial, max time.Duration
	factor       float64
}

// curvePresets are the values of --preset.
var curvePresets = []struct {
	name   string
	policy backoff.Policy
}{
	{"kubelet", backoff.CrashLoop()},
	{"kubelet-reduced", backoff.ReducedCrashLoop()},
	{"job", backoff.JobPod()},
}

func (f *curveFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.preset, "preset", "", "`curve` to begin with: kubelet (10s to 5m), kubelet-reduced (1s to 1m) or job (10s to 10m)")
	flags.DurationVar(&f.initial, "initial", 0, "first `delay`")
	flags.DurationVar(&f.max, "max", 0, "longest `delay`; lowers the first one, too")
	flags.Float64Var(&f.factor, "factor", 0, "`growth` of the delay with each failure in a row (default 2)")
	_ = c.RegisterFlagCompletionFunc("preset", cobra.FixedCompletions(presetNames(), cobra.ShellCompDirectiveNoFileComp))
}

func presetNames() (names []string) {
	for _, p := range curvePresets {
		names = append(names, p.name)
	}
	return names
}

// policy returns the curve of the flags, whose gaps are filled from otherwise.
func (f *curveFlags) policy(c *cobra.Command, otherwise backoff.Policy) (backoff.Policy, error) {
	p := otherwise
	if c.Flags().Changed("preset") {
		found := false
		for _, one := range curvePresets {
			if one.name == f.preset {
				p, found = one.policy, true
			}
		}
		if !found {
			hint := ""
			if meant := spelling.Nearest(f.preset, presetNames()); meant != "" {
				hint = ": did you mean " + meant + "?"
			}
			return p, usageError("--preset %s: must be kubelet, kubelet-reduced or job%s", quoted(f.preset), hint)
		}
	}
	if c.Flags().Changed("initial") {
		if f.initial <= 0 {
			return p, usageError("--initial %v: must be above 0", f.initial)
		}
		p.Initial = f.initial
		p.Max = max(p.Max, p.Initial)
	}
	if c.Flags().Changed("max") {
		switch {
		case f.max <= 0:
			return p, usageError("--max %v: must be above 0", f.max)
		case c.Flags().Changed("initial") && f.max < f.initial:
			return p, usageError("--max %v: must not be below --initial %v", f.max, f.initial)
		}
		p = p.WithMax(f.max)
	}
	if c.Flags().Changed("factor") {
		if !(f.factor >= 1 && f.factor <= 1e6) {
			return p, usageError("--factor %v: must be at least 1", f.factor)
		}
		p.Factor = f.factor
	}
	return p, nil
}
