package main

import (
	"bytes"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The size of one figure, and of the space around it.
const (
	figureWidth  = 17 * vg.Centimeter
	figureHeight = 10.5 * vg.Centimeter
	margin       = 0.5 * vg.Centimeter
	pixels       = 150 // per inch, of a PNG
)

// render draws the figures side by side, as a file of that format, svg or png.
func render(figures []figure, format string) ([]byte, error) {
	columns := int(math.Ceil(math.Sqrt(float64(len(figures)))))
	rows := (len(figures) + columns - 1) / columns
	width, height := vg.Length(columns)*figureWidth, vg.Length(rows)*figureHeight
	var canvas vg.CanvasWriterTo
	if format == "png" {
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pixels))}
	} else {
		canvas = vgsvg.New(width, height)
	}
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	for i := range figures {
		left := vg.Length(i%columns) * figureWidth
		top := height - vg.Length(i/columns)*figureHeight
		drawFigure(&figures[i], draw.Canvas{Canvas: canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: left + margin, Y: top - figureHeight + margin},
			Max: vg.Point{X: left + figureWidth - margin, Y: top - margin},
		}})
	}
	var file bytes.Buffer
	_, err := canvas.WriteTo(&file)
	return file.Bytes(), err
}

// drawFigure draws one figure, from top to bottom: the title, what is counted, the
// curves, the time, and the legend, which covers no curve.
func drawFigure(f *figure, area draw.Canvas) {
	legend := plot.NewLegend()
	legend.Top, legend.Left = true, true
	legend.Padding = 3
	legend.TextStyle.Font = sans(10)
	legend.ThumbnailWidth = 16

	p := plot.New()
	setAxes(f, p)
	p.Add(grid())
	for _, l := range f.lines() {
		p.Add(l.drawn)
		legend.Add(l.label, l.drawn)
	}

	const textLine = 18
	inner := draw.Crop(area, 0, 0, legend.Rectangle(area).Size().Y+2*textLine, -2.2*textLine)
	p.Draw(inner)
	left := p.DataCanvas(inner).Min.X
	write := func(text string, size, y vg.Length) {
		style := p.Title.TextStyle
		style.Font, style.XAlign = sans(size), draw.XLeft
		area.FillText(style, vg.Point{X: left, Y: y}, text)
	}
	write(f.title, 13, area.Max.Y)
	write(f.counted(), 10, inner.Max.Y+textLine)
	write("Time since the first start", 10, inner.Min.Y)
	area.Min.X, area.Max.Y = left, inner.Min.Y-1.5*textLine
	legend.Draw(area)
}

// line is a curve as it is drawn.
type line struct {
	label string
	drawn *plotter.Line
}

// lines makes the lines of a figure.
func (f *figure) lines() []line {
	var lines []line
	least := f.leastTime()
	for i, c := range f.curves {
		points, steps := f.shown(c).points(f.end, f.logTime)
		l := &plotter.Line{XYs: f.xys(points, least), LineStyle: draw.LineStyle{Color: colour(i), Width: 1.6, Dashes: dashes(i)}}
		if steps {
			l.StepStyle = plotter.PostStep
		}
		label := c.name
		if d := describe(c.policy); d != c.name {
			label += " (" + d + ")"
		}
		lines = append(lines, line{label, l})
	}
	return lines
}

// xys returns the drawn points, from the beginning of the time axis to its end. A
// logarithmic axis of counts has no 0: there a line begins with the first restart.
func (f *figure) xys(points []point, least float64) plotter.XYs {
	var xys plotter.XYs
	if !f.logCount {
		xys = append(xys, plotter.XY{X: least})
	}
	for _, p := range points {
		xys = append(xys, plotter.XY{X: max(p.at.Seconds(), least), Y: p.count})
	}
	if len(xys) > 0 {
		xys = append(xys, plotter.XY{X: f.end.Seconds(), Y: xys[len(xys)-1].Y})
	}
	return xys
}

// colour returns the i-th of eight colours that colour-blind people can distinguish too
// (Okabe and Ito).
func colour(i int) color.Color {
	all := [...]color.RGBA{
		{0x00, 0x00, 0x00, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x72, 0xb2, 0xff}, {0x00, 0x9e, 0x73, 0xff},
		{0xcc, 0x79, 0xa7, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x80, 0x80, 0x80, 0xff},
	}
	return all[i%len(all)]
}

// dashes distinguishes every other line without colour.
func dashes(i int) []vg.Length {
	if i%2 == 1 {
		return []vg.Length{6, 2.5}
	}
	return nil
}

func sans(points vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: points}
}

func grid() *plotter.Grid {
	g := plotter.NewGrid()
	light := draw.LineStyle{Color: color.Gray{0xe0}, Width: 0.5}
	g.Vertical, g.Horizontal = light, light
	return g
}
