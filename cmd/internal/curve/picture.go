package curve

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Picture draws the restarts of curves over time, with the name of each curve at the end
// of its line.
type Picture struct {
	Title         string
	Curves        []Curve       // 1 to Most
	End           time.Duration // of the time axis
	Width, Height int           // in CSS pixels; a PNG has twice as many
	Dark          bool          // light colours on a dark ground
}

// SVG returns the picture as an SVG document.
func (p Picture) SVG() ([]byte, error) {
	canvas := vgsvg.NewWith(vgsvg.UseWH(p.size()))
	p.draw(draw.New(canvas))
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	// The letters are measured in Liberation Sans, which has the widths of Arial.
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Arial,'Liberation Sans',sans-serif;")), err
}

// PNG returns the picture as a PNG file.
func (p Picture) PNG() ([]byte, error) {
	width, height := p.size()
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(2*pixelsPerInch))}
	p.draw(draw.New(canvas))
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return b.Bytes(), err
}

const pixelsPerInch = 96

// px is the length of a CSS pixel.
const px = vg.Inch / pixelsPerInch

func (p Picture) size() (width, height vg.Length) {
	return vg.Length(p.Width) * px, vg.Length(p.Height) * px
}

// palette is a set of colours with enough contrast for text on its ground.
type palette struct {
	ground, text, faint, grid color.Color
	lines                     [Most]color.Color
}

func rgb(c uint32) color.Color { return color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 0xff} }

var (
	light = palette{
		ground: rgb(0xffffff), text: rgb(0x1f2328), faint: rgb(0x59636e), grid: rgb(0xe1e4e8),
		lines: [Most]color.Color{rgb(0x0067a3), rgb(0xb34a00), rgb(0x00765a), rgb(0xa03a78), rgb(0x806000), rgb(0x5b2fb5), rgb(0x1f2328), rgb(0x59636e)},
	}
	dark = palette{
		ground: rgb(0x14181d), text: rgb(0xe6e9ec), faint: rgb(0x9aa4ae), grid: rgb(0x30363d),
		lines: [Most]color.Color{rgb(0x56b4e9), rgb(0xff8f4a), rgb(0x2fc9a0), rgb(0xe79bc6), rgb(0xf0c040), rgb(0xbfa5ff), rgb(0xe6e9ec), rgb(0x9aa4ae)},
	}
)

// dashes tell neighbouring lines apart without colour.
var dashes = [][]vg.Length{nil, {7 * px, 4 * px}, {3 * px, 3 * px}, {12 * px, 4 * px}}

const (
	textSize  = 12 * px
	labelGap  = 6 * px // between the end of a line and its name
	nameSpace = 0.36   // largest part of the width for the names
	tickWidth = 60     // pixels, for a label of the time axis
)

func style(size vg.Length, c color.Color) text.Style {
	return text.Style{
		Color:   c,
		Font:    font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		YAlign:  text.YCenter,
		Handler: plot.DefaultTextHandler,
	}
}

// draw draws the plot, and then the names to its right.
func (p Picture) draw(c draw.Canvas) {
	colours := light
	if p.Dark {
		colours = dark
	}
	c.SetColor(colours.ground)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, 12*px, -12*px, 12*px, -12*px)

	log := p.Logarithmic()
	chart := p.chart(colours, log)
	var lines []*plotter.Line
	highest := 1.0
	names := make([]string, len(p.Curves))
	label := style(textSize, nil)
	room := vg.Length(0)
	for i, curve := range p.Curves {
		line := &plotter.Line{XYs: p.points(curve), LineStyle: draw.LineStyle{Color: colours.lines[i], Width: 2 * px, Dashes: dashes[i%len(dashes)]}}
		lines = append(lines, line)
		chart.Add(line)
		total := line.XYs[len(line.XYs)-1].Y
		highest = max(highest, total)
		names[i] = fmt.Sprintf("%s: %s", curve.Name, short(total))
		room = max(room, label.Width(names[i])+labelGap)
	}
	if most := nameSpace * c.Size().X; room > most {
		room = most
	}
	chart.Y.Max = 1.05 * highest
	area := draw.Crop(c, 0, -room, 0, 0)
	chart.Draw(area)

	data := chart.DataCanvas(area)
	_, placeY := chart.Transforms(&data)
	ends := make([]vg.Length, len(lines))
	for i, line := range lines {
		ends[i] = placeY(line.XYs[len(line.XYs)-1].Y)
	}
	for i, y := range spread(ends, 1.2*textSize, data.Min.Y, data.Max.Y) {
		label.Color = colours.lines[i]
		c.FillText(label, vg.Point{X: data.Max.X + labelGap, Y: y}, fit(label, names[i], room-labelGap))
	}
}

// chart returns the plot without its lines.
func (p Picture) chart(colours palette, log bool) *plot.Plot {
	chart := plot.New()
	chart.BackgroundColor = colours.ground
	chart.Title.Text = p.Title
	chart.Title.TextStyle = style(1.2*textSize, colours.text)
	chart.Title.TextStyle.XAlign = text.XCenter
	chart.Title.TextStyle.YAlign = text.YTop
	chart.Title.Padding = 8 * px
	chart.X.Label.Text = "time since the first start"
	chart.X.Tick.Marker, chart.Y.Tick.Marker = plot.ConstantTicks(timeTicks(p.End, p.Width/tickWidth)), wholeTicks{}
	if log {
		if p.Title != "" {
			chart.Title.Text += " (logarithmic scale)"
		}
		chart.Y.Scale, chart.Y.Tick.Marker = log1p{}, powerTicks{}
	}
	for _, axis := range []*plot.Axis{&chart.X, &chart.Y} {
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = colours.faint, colours.faint
		axis.Label.TextStyle = style(textSize, colours.faint)
		axis.Label.TextStyle.XAlign = text.XCenter
		axis.Tick.Label.Font = style(textSize, nil).Font
		axis.Tick.Label.Color = colours.faint
		axis.Padding = 0
	}
	chart.X.Label.TextStyle.YAlign = text.YBottom
	chart.X.Label.Padding = 6 * px
	chart.X.Min, chart.X.Max = 0, p.End.Seconds()
	chart.Y.Min, chart.Y.Max = 0, 1
	grid := plotter.NewGrid()
	grid.Vertical = draw.LineStyle{Color: colours.grid, Width: px}
	grid.Horizontal = grid.Vertical
	chart.Add(grid)
	return chart
}

// Logarithmic reports whether the scale is logarithmic, because a linear one would flatten
// the lowest line.
func (p Picture) Logarithmic() bool {
	lowest, highest := math.MaxInt, 0
	for _, c := range p.Curves {
		n := c.Restarts(-1, p.End)
		highest = max(highest, n)
		if n > 0 {
			lowest = min(lowest, n)
		}
	}
	return highest/20 > lowest
}

// log1p is a scale that is logarithmic for large values and has a place for 0.
type log1p struct{}

// Normalize returns the place of x between low, at 0, and high, at 1.
func (log1p) Normalize(low, high, x float64) float64 {
	return (math.Log1p(x) - math.Log1p(low)) / (math.Log1p(high) - math.Log1p(low))
}

// powerTicks are 0 and the powers of ten.
type powerTicks struct{}

// Ticks returns the ticks of an axis.
func (powerTicks) Ticks(_, high float64) []plot.Tick {
	ticks := []plot.Tick{{Value: 0, Label: "0"}}
	for at := 1.0; at <= high; at *= 10 {
		ticks = append(ticks, plot.Tick{Value: at, Label: short(at)})
	}
	return ticks
}

// wholeTicks are about six multiples of a round whole number.
type wholeTicks struct{}

// Ticks returns the ticks of an axis.
func (wholeTicks) Ticks(_, high float64) []plot.Tick {
	step := 1.0
	for i := 0; high/step > 6; i++ {
		step *= [...]float64{2, 2.5, 2}[i%3] // 1, 2, 5, 10, 20, …
	}
	var ticks []plot.Tick
	for at := 0.0; at <= high; at += step {
		ticks = append(ticks, plot.Tick{Value: at, Label: short(at)})
	}
	return ticks
}

// round are the steps of a time axis.
var round = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	day, 2 * day, 5 * day, 10 * day, 20 * day, 50 * day, 100 * day, 200 * day, year, 2 * year, 5 * year,
}

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// timeTicks returns at most a number of ticks, besides 0, at round times.
func timeTicks(end time.Duration, most int) []plot.Tick {
	i := slices.IndexFunc(round, func(step time.Duration) bool { return end/step <= time.Duration(max(most, 2)) })
	step := round[max(i, 0)]
	var ticks []plot.Tick
	for at := time.Duration(0); at <= end; at += step {
		name := Duration(at)
		switch {
		case at > 0 && at%year == 0:
			name = strconv.Itoa(int(at/year)) + "y"
		case at > 0 && at%day == 0:
			name = strconv.Itoa(int(at/day)) + "d"
		}
		ticks = append(ticks, plot.Tick{Value: at.Seconds(), Label: name})
	}
	return ticks
}

// mostSteps is the largest number of restarts that a line shows as steps. Lines with more
// restarts show the counts at mostSteps instants.
const mostSteps = 500

// points returns the restarts of a curve as points of its line.
func (p Picture) points(c Curve) plotter.XYs {
	line := plotter.XYs{{}}
	total := c.Restarts(-1, p.End)
	if total > mostSteps {
		for i := range mostSteps {
			at := p.End / mostSteps * time.Duration(i+1)
			line = append(line, plotter.XY{X: at.Seconds(), Y: float64(c.Restarts(-1, at))})
		}
		return append(line, plotter.XY{X: p.End.Seconds(), Y: float64(total)})
	}
	count := 0.0
	for at := range c.Policy.Timeline(func(int) time.Duration { return c.Run }) {
		if at > p.End || int(count) == total {
			break
		}
		line = append(line, plotter.XY{X: at.Seconds(), Y: count}, plotter.XY{X: at.Seconds(), Y: count + 1})
		count++
	}
	return append(line, plotter.XY{X: p.End.Seconds(), Y: count})
}

// spread moves places apart until neighbours have a distance, within low and high if there
// is enough room.
func spread(places []vg.Length, apart, low, high vg.Length) []vg.Length {
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(places[a], places[b]) })
	moved := slices.Clone(places)
	least := low
	for _, i := range order {
		moved[i] = max(moved[i], least)
		least = moved[i] + apart
	}
	most := high
	for _, i := range slices.Backward(order) {
		moved[i] = min(moved[i], most)
		most = moved[i] - apart
	}
	return moved
}

// fit shortens a name until it is at most that wide.
func fit(s text.Style, name string, width vg.Length) string {
	if s.Width(name) <= width {
		return name
	}
	letters := []rune(name)
	for len(letters) > 0 && s.Width(string(letters)+"…") > width {
		letters = letters[:len(letters)-1]
	}
	return string(letters) + "…"
}

// short returns a count such as 250, 2.5k or 10M.
func short(n float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= unit.size {
			return strconv.FormatFloat(n/unit.size, 'g', 3, 64) + unit.name
		}
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}
