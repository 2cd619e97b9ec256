package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/curve"
	"github.com/restartkit/restart/internal/spelling"
)

// delayFlags are the flags of run and retry for their delays.
type delayFlags struct {
	preset       string
	initial, max time.Duration
	factor       float64
}

func (f *delayFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.preset, "preset", "", "`curve` of a system to begin with, such as kubelet (10s to 5m), kubelet-reduced (1s to 1m) or job (10s to 10m)")
	flags.DurationVar(&f.initial, "initial", 0, "first `delay`")
	flags.DurationVar(&f.max, "max", 0, "longest `delay`; lowers the first one, too")
	flags.Float64Var(&f.factor, "factor", 0, "`growth` of the delay with each failure in a row (default 2)")
	_ = c.RegisterFlagCompletionFunc("preset", cobra.FixedCompletions(presetNames(), cobra.ShellCompDirectiveNoFileComp))
}

// presets are the values of --preset: the systems of restart curve whose delays a policy
// expresses, without a limit of starts.
func presets() []curve.Curve {
	var all []curve.Curve
	for _, s := range curve.Systems() {
		if s.Refused == "" && s.Curve.Limit.Starts == 0 {
			all = append(all, s.Curve)
		}
	}
	return all
}

func presetNames() (names []string) {
	for _, p := range presets() {
		names = append(names, p.Name)
	}
	return names
}

// policy returns the curve of the flags, whose gaps are filled from otherwise.
func (f *delayFlags) policy(c *cobra.Command, otherwise backoff.Policy) (backoff.Policy, error) {
	p := otherwise
	if c.Flags().Changed("preset") {
		all := presets()
		i := slices.IndexFunc(all, func(c curve.Curve) bool { return c.Name == f.preset })
		if i < 0 {
			hint := ""
			if meant := spelling.Nearest(f.preset, presetNames()); meant != "" {
				hint = ": did you mean " + meant + "?"
			}
			return p, usageError("--preset %s: must be %s%s", quoted(f.preset), strings.Join(presetNames(), ", "), hint)
		}
		p = all[i].Policy
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
