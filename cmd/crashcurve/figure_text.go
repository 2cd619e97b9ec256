package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/chart"
	"github.com/restartkit/restart/cmd/internal/picture"
)

// subtitle says what the first panel shows: of which pods, how long they run, and how
// many there are.
func (f *figure) subtitle() string {
	if f.mixed {
		crashing, others := f.curves[0].groups[0], f.curves[0].groups[1]
		run, same := f.run(1)
		end := "end after " + picture.Duration(run)
		if !same {
			end = "end when the legend says"
		}
		return fmt.Sprintf("Restarts of all %d pods: %d crash at once, %d %s", f.pods, crashing.pods, others.pods, end)
	}
	switch run, same := f.run(0); {
	case !same:
		return "Restarts of one pod; the legend says how long its runs last"
	case run > 0:
		return "Restarts of one pod that runs for " + picture.Duration(run) + " each time"
	}
	return "Restarts of one pod that crashes as soon as it starts"
}

// run returns how long the runs of a group last, and whether that is the same for all
// curves.
func (f *figure) run(group int) (run time.Duration, same bool) {
	run = f.curves[0].groups[group].run
	for _, c := range f.curves {
		if c.groups[group].run != run {
			return 0, false
		}
	}
	return run, true
}

// requestsTitle says what the second panel shows.
func (f *figure) requestsTitle() string {
	text := fmt.Sprintf("API requests per second of all %d pods, %d per restart, %s", f.pods, f.requests, f.binText())
	var outside []string
	for _, c := range f.curves {
		if c.outside {
			outside = append(outside, c.name)
		}
	}
	if len(outside) > 0 {
		text += "; none of " + strings.Join(outside, ", ")
	}
	return text
}

// describe is the figure in words, for those who cannot see it.
func (f *figure) describe() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s. %s, up to %s.", f.title, f.subtitle(), picture.Duration(f.end))
	for _, c := range f.curves {
		fmt.Fprintf(&text, " %s (%s): %s restarts.", c.name, c.describe(), picture.Number(f.shown(c).restarts(-1, f.end)))
	}
	return text.String()
}

// legend names a curve, and its policy if the name does not say that.
func (f *figure) legend(c curve) string {
	label := c.name
	if d := c.describe(); d != c.name {
		label += " (" + d + ")"
	}
	last := len(c.groups) - 1
	if _, same := f.run(last); !same {
		label += ", runs of " + picture.Duration(c.groups[last].run)
	}
	return label
}

// scale says of an axis that it is logarithmic, and from where on.
func scale(a chart.Axis) string {
	if !a.Log() {
		return ""
	}
	return " (logarithmic above " + chart.ValueLabel(a.Low) + ")"
}
