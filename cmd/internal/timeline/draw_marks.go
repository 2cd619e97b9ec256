package timeline

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/picture"
)

// markLane is one line of mark labels.
type markLane []markLabel

// markLabel is the label of one or more marks at nearly the same place.
type markLabel struct {
	x, from, to float64 // of the line, and of the text
	label       string
	detail      string
	anchor      picture.Anchor
}

// Settings of mark labels.
const (
	markLanes = 4
	markSize  = 10
	nearMarks = 8 // pixels
)

// layMarks places the labels of marks without overlaps. Labels near each other are
// joined, and lanes are added as needed, up to markLanes. A mark without a place for
// its label still has a line with a hover text.
func (d *drawing) layMarks() {
	marks := slices.Clone(d.chart.Marks)
	slices.SortStableFunc(marks, func(a, b Mark) int { return cmp.Compare(a.At, b.At) })
	var labels []markLabel
	n := 0 // number of marks in the last label
	for _, m := range marks {
		x := d.x(m.At)
		if last := len(labels) - 1; last >= 0 && x-labels[last].x < nearMarks {
			if n++; n <= 3 {
				labels[last].label += ", " + m.Label
			}
			if n <= 20 {
				labels[last].detail += "\n" + m.text()
			}
			continue
		}
		labels, n = append(labels, markLabel{x: x, label: m.Label, detail: m.text()}), 1
	}
	for _, l := range labels {
		l.label = picture.Fit(l.label, markSize, d.p.Width-2*margin)
		width := picture.Width(l.label, markSize)
		l.from, l.to = l.x+3, l.x+3+width
		if l.to > d.p.Width-margin {
			l.from, l.to, l.anchor = l.x-3-width, l.x-3, picture.End
		}
		if l.from < margin { // neither side has room
			l.from, l.to, l.anchor = d.p.Width-margin-width, d.p.Width-margin, picture.End
		}
		d.place(l)
	}
}

// place puts a label into the first lane with room. If all lanes are full, only its
// line remains.
func (d *drawing) place(l markLabel) {
	for i := range d.lanes {
		lane := d.lanes[i]
		if lane[len(lane)-1].to+6 <= l.from {
			d.lanes[i] = append(lane, l)
			return
		}
	}
	if len(d.lanes) == markLanes {
		last := &d.lanes[markLanes-1]
		l.label, l.to = "", (*last)[len(*last)-1].to
		*last = append(*last, l)
		return
	}
	d.lanes = append(d.lanes, markLane{l})
}

func (m *Mark) text() string { return fmt.Sprintf("%s: %s", human.Wait(m.At), m.Detail) }

// markTop returns the top of the marks' lines, below the legend.
func (d *drawing) markTop() float64 {
	return d.top - 18 - 8 - float64(max(len(d.lanes), 1)-1)*13
}

// marks draws the lines of all marks with their labels.
func (d *drawing) marks() {
	bottom := d.tops[len(d.tops)-1]
	for i, lane := range d.lanes {
		y := d.top - 18 - float64(len(d.lanes)-1-i)*13
		for _, l := range lane {
			if l.x > d.x(d.until())+0.01 {
				continue
			}
			d.p.Line(styleMark, l.detail, picture.Point{X: l.x, Y: y - 8}, picture.Point{X: l.x, Y: bottom})
			if l.label == "" {
				continue
			}
			style := picture.Style{Fill: picture.Text, Size: markSize, Anchor: l.anchor}
			x := l.from
			if l.anchor == picture.End {
				x = l.to
			}
			d.p.Text(x, y, style, l.label)
		}
	}
}
