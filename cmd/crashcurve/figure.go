package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/chart"
	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

const (
	second = time.Second
	minute = time.Minute
	hour   = time.Hour
)

// figure is a set of curves to compare.
type figure struct {
	curves         []chart.Curve
	baseline       int             // index of the curve to compare the others with
	windows        []time.Duration // ends of the tables' rows
	end            time.Duration   // of the time axis
	logTime        bool
	scale          chart.Scale // of the restarts
	mixed          bool        // count the restarts of all pods, not of one
	pods, requests int         // pods of the node; API requests per restart
}

const title = "Restarts under a backoff"

// shown returns the counted part of a curve, either one pod or all of them.
func (f *figure) shown(c chart.Curve) chart.Curve {
	if f.mixed {
		return c
	}
	return c.PerPod()
}

// draw draws the restarts.
func (f *figure) draw() *picture.Picture {
	d := chart.Figure{Title: title, Desc: f.describe(), Width: 640, Curves: f.curves, End: f.end, LogTime: f.logTime}
	counts := chart.Panel{Title: f.subtitle(), Height: 240, Whole: true, Scale: f.scale}
	for _, c := range f.curves {
		counts.Lines = append(counts.Lines, d.Counts(f.shown(c)))
		d.Legend = append(d.Legend, f.legend(c))
	}
	d.Panels = []chart.Panel{counts}
	return d.Draw()
}

// subtitle returns the title of the restarts panel, with the number of pods and the
// length of their runs.
func (f *figure) subtitle() string {
	if f.mixed {
		crashing, others := f.curves[0].Groups[0], f.curves[0].Groups[1]
		run, same := f.run(1)
		end := "end after " + picture.Duration(run)
		if !same {
			end = "end after the times in the legend"
		}
		return fmt.Sprintf("Restarts of all %d pods: %d crash at once, %d %s", f.pods, crashing.Pods, others.Pods, end)
	}
	switch run, same := f.run(0); {
	case !same:
		return "Restarts of one pod; the legend has the length of its runs"
	case run > 0:
		return "Restarts of one pod that runs for " + picture.Duration(run) + " each time"
	}
	return "Restarts of one pod that crashes as soon as it starts"
}

// run returns the length of a group's runs, and whether it is the same for all curves.
func (f *figure) run(group int) (run time.Duration, same bool) {
	run = f.curves[0].Groups[group].Run
	for _, c := range f.curves {
		if c.Groups[group].Run != run {
			return 0, false
		}
	}
	return run, true
}

// describe returns the figure as text, for readers who cannot see it.
func (f *figure) describe() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s. %s, up to %s.", title, f.subtitle(), picture.Duration(f.end))
	for _, c := range f.curves {
		fmt.Fprintf(&text, " %s (%s): %s restarts.", c.Name, describe(c), picture.Number(f.shown(c).Restarts(-1, f.end)))
	}
	return text.String()
}

// legend returns the name of a curve, with its policy unless the name already states
// it.
func (f *figure) legend(c chart.Curve) string {
	label := c.Name
	if d := describe(c); d != c.Name {
		label += " (" + d + ")"
	}
	last := len(c.Groups) - 1
	if _, same := f.run(last); !same {
		label += ", runs of " + picture.Duration(c.Groups[last].Run)
	}
	return label
}
