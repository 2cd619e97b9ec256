package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/restartkit/restart/cmd/internal/curve"
	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/picture"
)

func curveCommand() *cobra.Command {
	o := curveOptions{until: 30 * time.Minute}
	c := &cobra.Command{
		Use:   "curve [flags] [[NAME=]CURVE[,OPTION=VALUE]…]…",
		Short: "Show the delays of a curve, as a table or a picture",
		Long: `curve lists the delays of delay curves, and counts the restarts of a pod under
them by window of time. Without arguments it compares the three curves of
KEP-4603 (Tune CrashLoopBackOff).

A CURVE is a preset or INITIAL/MAX, such as 1s/60s. NAME= may stand before it,
and options behind it:
  max=60s     an operator's maximum; also caps the first delay
  factor=1.5  growth per failure, 1 or at least 1.01 (default 2)
  free=1      restarts without a delay before the curve begins
  reset=10m   a run longer than this starts the curve over
  run=10s     length of each run of the pod (default: that of --run)

Presets:
` + presetHelp() + `
A window includes restarts at its end. Restarts are counted at the end of their
delays; a kubelet with the default syncFrequency of 1m is late by up to half the
delay, at most 30s, and a second.`,
		SuggestFor: []string{"delays", "backoff", "crashcurve"},
		Annotations: map[string]string{exitCodes: `  0  fine
  2  an argument or a flag is wrong
  3  the table or the picture could not be written`},
		Example: `  restart curve
  restart curve kubelet docker systemd -o systems.svg
  restart curve kubelet mine=1s/30s,free=1 --run 10s --until 15m
  restart curve short=kubelet,run=1m long=kubelet,run=9m59s`,
		ValidArgsFunction: cobra.FixedCompletions(curve.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(c *cobra.Command, args []string) error {
			return o.show(args, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) && slices.Contains([]string{"preset", "initial", "max", "factor"}, unknown.GetSpecifiedName()) {
			return fmt.Errorf("%w: a curve is an argument, as in restart curve kubelet 1s/60s,factor=3", err)
		}
		return flagError(c, err)
	})
	flags := c.Flags()
	flags.StringVarP(&o.file, "output", "o", "", "also draw a picture, a `FILE` that ends in .svg")
	flags.DurationVar(&o.run, "run", 0, "`time` that each run of the pod lasts")
	flags.DurationVar(&o.until, "until", o.until, "`time` to cover, from the first start on")
	return c
}

// presetHelp describes the presets.
func presetHelp() string {
	var b strings.Builder
	var refused []string
	for _, s := range curve.Systems() {
		if s.Refused != "" {
			refused = append(refused, s.Curve.Name)
			continue
		}
		fmt.Fprintf(&b, "  %-15s  %s\n%19s(%s)\n", s.Curve.Name, s.Text, "", s.Source)
	}
	fmt.Fprintf(&b, "%s cannot be expressed exactly; name one to read why.\n", strings.Join(refused, ", "))
	return b.String()
}

// curveOptions holds the flags.
type curveOptions struct {
	file       string
	run, until time.Duration
}

// show prints the table and writes the picture.
func (o *curveOptions) show(args []string, stdout, stderr io.Writer) error {
	if o.file != "" {
		if err := checkPicture("output", o.file, ".svg"); err != nil {
			return err
		}
	}
	switch {
	case o.run < 0 || o.run > curve.Longest:
		return usageError("--run %v: must be in 0s..%s", o.run, human.Duration(curve.Longest))
	case o.until < time.Second || o.until > curve.Longest:
		return usageError("--until %v: must be in 1s..%s", o.until, human.Duration(curve.Longest))
	}
	curves, err := o.curves(args)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(stdout, o.table(curves)); err != nil || o.file == "" {
		return nil // the program's output keeps the error
	}
	p := curve.Picture{Title: curvesTitle(curves), Curves: curves, End: o.until, Width: 720, Height: 400}
	path, err := picture.Write(o.file, p.SVG())
	if err != nil {
		return &exitError{code: exitUnwritten, err: err}
	}
	fmt.Fprintf(stderr, "restart curve: wrote %s\n", human.Escape(path))
	return nil
}

// curves returns the curves of the arguments.
func (o *curveOptions) curves(args []string) ([]curve.Curve, error) {
	if len(args) == 0 {
		args = []string{"kubelet", "kubelet-reduced", "1s maximum=kubelet,max=1s"}
	}
	if len(args) > curve.Most {
		return nil, usageError("%d curves: at most %d can be told apart", len(args), curve.Most)
	}
	var curves []curve.Curve
	for _, arg := range args {
		c, err := curve.Parse(arg)
		if err != nil {
			return nil, usageError("%s: %w", arg, err)
		}
		if slices.ContainsFunc(curves, func(other curve.Curve) bool { return other.Name == c.Name }) {
			return nil, usageError("%s: another curve has this name; write NAME=%s", arg, arg)
		}
		if c.Run == 0 {
			c.Run = o.run
		}
		curves = append(curves, c)
	}
	return curves, nil
}

// curvesTitle names the pod of a picture.
func curvesTitle(curves []curve.Curve) string {
	run := curves[0].Run
	switch {
	case slices.ContainsFunc(curves, func(c curve.Curve) bool { return c.Run != run }):
		return "Restarts of one pod"
	case run > 0:
		return "Restarts of one pod that runs for " + human.Duration(run) + " each time"
	}
	return "Restarts of one pod that crashes as soon as it starts"
}

// table returns the delays of each curve, and its restarts by window.
func (o *curveOptions) table(curves []curve.Curve) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	row := func(name string, cell func(curve.Curve) string) {
		fmt.Fprint(t, "  ", name)
		for _, c := range curves {
			fmt.Fprint(t, "\t", cell(c))
		}
		fmt.Fprintln(t)
	}
	counts := func(name string, count func(curve.Curve) int) {
		row(name, func(c curve.Curve) string {
			if c.Name == curves[0].Name {
				return fmt.Sprint(count(c))
			}
			return fmt.Sprintf("%d (%+d)", count(c), count(c)-count(curves[0]))
		})
	}
	excess := ""
	if len(curves) > 1 {
		excess = fmt.Sprintf("; in brackets the difference from %q", curves[0].Name)
	}

	fmt.Fprintln(&b, "Delays")
	for _, c := range curves {
		fmt.Fprintf(t, "  %s\t%s\n", c.Name, c.DescribeDelays())
	}
	t.Flush()

	fmt.Fprintln(&b)
	row("", func(c curve.Curve) string { return c.Name })
	row("curve", curve.Curve.Describe)
	if slices.ContainsFunc(curves, func(c curve.Curve) bool { return c.Run > 0 }) {
		row("runs of", func(c curve.Curve) string { return human.Duration(c.Run) })
	}
	t.Flush()

	fmt.Fprintf(&b, "\nRestarts of one pod%s\n", excess)
	window := func(from, to time.Duration) {
		counts(human.Duration(max(from, 0))+" to "+human.Duration(to), func(c curve.Curve) int { return c.Restarts(from, to) })
	}
	from := time.Duration(-1) // the first window includes its start
	for _, to := range curveWindows(o.until) {
		window(from, to)
		from = to
	}
	if from > 10*time.Second {
		window(-1, o.until)
	}
	row("in the long run", func(c curve.Curve) string {
		if c.GivenUp() {
			return "never: it has given up"
		}
		return "every " + human.Duration(c.Steady())
	})
	t.Flush()
	return trimLines(b.String())
}

// curveWindows returns the ends of the windows of KEP-4603, and later coarser ones, up to
// until.
func curveWindows(until time.Duration) []time.Duration {
	var ends []time.Duration
	for _, end := range []time.Duration{
		10 * time.Second, 30 * time.Second, 70 * time.Second, 150 * time.Second,
		5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 25 * time.Minute, 30 * time.Minute,
		time.Hour, 6 * time.Hour, 24 * time.Hour,
	} {
		if end < until {
			ends = append(ends, end)
		}
	}
	return append(ends, until)
}

// trimLines removes spaces at the ends of lines.
func trimLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}
