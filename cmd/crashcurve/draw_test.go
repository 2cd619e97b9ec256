package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/cmd/internal/chart"
	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

// composed returns the picture of a program's flags.
func composed(t *testing.T, args string) *picture.Picture {
	t.Helper()
	o, err := parseOptions(strings.Fields(args), nil)
	if err != nil {
		t.Fatal(err)
	}
	return o.figure.draw()
}

// No two labels of a picture touch, and all lie within it, from a second to ten years.
func TestLabelsDoNotOverlap(t *testing.T) {
	all := "-compare kubelet,kubelet-reduced,job,imagepull,docker,systemd,flink -policy mine=100ms/100ms"
	for _, until := range []string{"1s", "70s", "30m", "7h", "100h", "8760h", "87600h"} {
		for _, log := range []string{"", " -log none", " -log x", " -log y", " -log xy"} {
			args := all + " -until " + until + log
			p := composed(t, args)
			var before []picture.Shape
			for _, s := range p.Shapes {
				if s.Kind != picture.Label {
					continue
				}
				left, right := extent(s)
				if left < 0 || right > p.Width || s.Points[0].Y > p.Height {
					t.Errorf("%s: %q reaches from %.0f to %.0f of %.0f", args, s.Text, left, right, p.Width)
				}
				for _, other := range before {
					l, r := extent(other)
					if math.Abs(s.Points[0].Y-other.Points[0].Y) < 11 && left < r && l < right {
						t.Errorf("%s: %q lies on %q", args, s.Text, other.Text)
					}
				}
				before = append(before, s)
			}
		}
	}
}

// extent returns where a label begins and ends.
func extent(s picture.Shape) (left, right float64) {
	width := picture.Width(s.Text, s.Style.Size)
	left = s.Points[0].X - map[picture.Anchor]float64{picture.Middle: width / 2, picture.End: width}[s.Style.Anchor]
	return left, left + width
}

// curves returns the lines of a picture by their names, panel by panel.
func curves(p *picture.Picture) map[string][]picture.Shape {
	all := make(map[string][]picture.Shape)
	for _, s := range p.Shapes {
		if s.Kind == picture.Line && s.Hover != "" {
			all[s.Hover] = append(all[s.Hover], s)
		}
	}
	return all
}

// A line begins at 0, on the lower edge of the panel, also if its axis is logarithmic.
func TestZeroIsTheLowerEdge(t *testing.T) {
	for _, log := range []string{"none", "y", "xy"} {
		lines := curves(composed(t, "-compare kubelet,docker,systemd -policy fast=10ms/10ms -log "+log))
		if len(lines) != 4 {
			t.Fatalf("%d lines", len(lines))
		}
		edge := lines["kubelet"][0].Points[0].Y
		for name, panels := range lines {
			if first := panels[0].Points[0]; first.Y != edge {
				t.Errorf("%s, %s: begins at %v, the lower edge is %v", log, name, first.Y, edge)
			}
		}
	}
}

// A system has one look, whichever others are beside it.
func TestSystemsKeepTheirLooks(t *testing.T) {
	looks := make(map[string]picture.Style)
	seen := 0
	for _, list := range []string{"kubelet,kubelet-reduced,job,imagepull,docker,systemd,flink", "flink,systemd,docker", "imagepull,job", "systemd,kubelet", "kubelet-reduced"} {
		p := composed(t, "-policy mine=1s/1m -compare "+list)
		for system := range strings.SplitSeq(list, ",") {
			for _, line := range curves(p)[system] {
				if before, ok := looks[system]; ok && before != line.Style {
					t.Errorf("%s is %+v, was %+v", system, line.Style, before)
				}
				looks[system] = line.Style
				seen++
			}
		}
	}
	if len(looks) != 7 || seen != 15 {
		t.Errorf("%d systems, %d lines", len(looks), seen)
	}
}

// systemd gives up after five starts in ten seconds, and then neither restarts anything
// nor did it ever ask the API server.
func TestSystemdGivesUp(t *testing.T) {
	for _, tt := range []struct {
		policy   string
		run      time.Duration
		restarts float64
	}{
		{"systemd", 0, 4},
		{"systemd", 1900 * time.Millisecond, 4},  // the fifth restart were at 10s
		{"systemd", 1901 * time.Millisecond, 59}, // just not
		{"systemd,StartLimitBurst=3", 0, 2},
		{"systemd,StartLimitIntervalSec=200ms,StartLimitBurst=3", 0, 1200},
		{"systemd,StartLimitIntervalSec=300ms,StartLimitBurst=3", 0, 2},
		{"systemd,StartLimitIntervalSec=0", 0, 1200},
		{"systemd,StartLimitBurst=0", 0, 1200},
		{"systemd,RestartSec=1s,RestartSteps=5,RestartMaxDelaySec=1m", 0, 6},
		{"docker", 0, 10},
	} {
		p, err := parsePolicy(tt.policy)
		if err != nil {
			t.Fatal(err)
		}
		c := p.Curve
		c.Groups = []chart.Group{{Pods: 1, Run: tt.run}}
		f := chart.Figure{End: 2 * minute}
		got, parts := c.Restarts(-1, f.End), 0.0
		for from := time.Duration(-1); from < f.End; from += second {
			parts += c.Restarts(from, min(from+second, f.End))
		}
		points := f.Counts(c)
		if got != tt.restarts || parts != got || points[len(points)-1].Y != got {
			t.Errorf("%s, runs of %v: %v restarts, %v in parts, %v drawn, want %v", tt.policy, tt.run, got, parts, points[len(points)-1].Y, tt.restarts)
		}
		if given := c.GivenUp(c.Groups[0]); given != (got < 5) || given != (c.SteadyRate() == 0) || c.Requests(5) != 0 {
			t.Errorf("%s: given up %v, %v per second, %v requests", tt.policy, given, c.SteadyRate(), c.Requests(5))
		}
	}
}

// A logarithmic axis says from where on it is.
func TestLogarithmicAxesSayFromWhere(t *testing.T) {
	said := 0
	for _, s := range composed(t, "-compare kubelet -policy fast=10ms/10ms -log xy").Shapes {
		if strings.Contains(s.Text, "(logarithmic above ") {
			said++
		}
	}
	if said != 2 {
		t.Errorf("%d axes say that they are logarithmic", said)
	}
}
