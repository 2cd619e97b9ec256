// Package bitmap draws pictures as PNG, in the Go fonts.
package bitmap

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"

	"github.com/restartkit/restart/cmd/internal/picture"
	"golang.org/x/image/vector"
)

// PNG returns the picture on a light ground, with scale pixels per pixel of the picture
// in each direction.
func PNG(p *picture.Picture, scale float64) ([]byte, error) {
	const most = 1 << 28 // of pixels
	width, height := math.Ceil(p.Width*scale), math.Ceil(p.Height*scale)
	if !(width >= 1 && height >= 1 && width*height <= most) {
		return nil, errors.New("the picture is too large for a PNG")
	}
	c, err := newCanvas(int(width), int(height), scale)
	if err != nil {
		return nil, err
	}
	for i := range p.Shapes {
		c.shape(&p.Shapes[i])
	}
	var file bytes.Buffer
	err = png.Encode(&file, c.image)
	return file.Bytes(), err
}

// canvas is a picture being drawn.
type canvas struct {
	image *image.RGBA
	scale float64
	faces faces
	paths vector.Rasterizer
}

func newCanvas(width, height int, scale float64) (*canvas, error) {
	c := &canvas{image: image.NewRGBA(image.Rect(0, 0, width, height)), scale: scale}
	var err error
	c.faces, err = newFaces()
	return c, err
}

func (c *canvas) shape(s *picture.Shape) {
	switch s.Kind {
	case picture.Label:
		c.label(s)
		return
	case picture.Rectangle:
		a, b := s.Points[0], s.Points[1]
		corners := []picture.Point{a, {X: b.X, Y: a.Y}, b, {X: a.X, Y: b.Y}}
		c.fill(corners, s.Style)
		c.stroke(append(corners, a), s.Style)
	case picture.Area:
		c.fill(s.Points, s.Style)
		if len(s.Points) > 0 {
			c.stroke(append(s.Points[:len(s.Points):len(s.Points)], s.Points[0]), s.Style)
		}
	case picture.Line:
		c.stroke(s.Points, s.Style)
	}
}

// fill fills the area within points.
func (c *canvas) fill(points []picture.Point, s picture.Style) {
	if ground, ok := rgba(s.Fill); ok {
		c.polygons([][]picture.Point{points}, c.paint(s, ground))
	}
}

// stroke draws a line through points, each of its parts as a rectangle.
func (c *canvas) stroke(points []picture.Point, s picture.Style) {
	ink, ok := rgba(s.Stroke)
	if !ok || s.Width <= 0 {
		return
	}
	var parts [][]picture.Point
	phase := 0.0
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		length := math.Hypot(b.X-a.X, b.Y-a.Y)
		if length == 0 {
			continue
		}
		if s.Dash <= 0 {
			from, to := 0.0, length
			if i > 1 {
				from -= s.Width / 2 // so that corners have no gaps
			}
			if i < len(points)-1 {
				to += s.Width / 2
			}
			parts = append(parts, thick(a, b, from/length, to/length, s.Width))
			continue
		}
		for from := 0.0; from < length; {
			drawn := math.Mod(phase, 2*s.Dash) < s.Dash
			to := min(length, from+max(s.Dash-math.Mod(phase, s.Dash), 0.01))
			if drawn {
				parts = append(parts, thick(a, b, from/length, to/length, s.Width))
			}
			phase += to - from
			from = to
		}
	}
	c.polygons(parts, image.NewUniform(ink))
}

// thick returns the rectangle around a part of the line from a to b, which is 0 to 1.
func thick(a, b picture.Point, from, to, width float64) []picture.Point {
	dx, dy := b.X-a.X, b.Y-a.Y
	length := math.Hypot(dx, dy)
	nx, ny := -dy/length*width/2, dx/length*width/2
	p := picture.Point{X: a.X + dx*from, Y: a.Y + dy*from}
	q := picture.Point{X: a.X + dx*to, Y: a.Y + dy*to}
	return []picture.Point{{X: p.X + nx, Y: p.Y + ny}, {X: q.X + nx, Y: q.Y + ny}, {X: q.X - nx, Y: q.Y - ny}, {X: p.X - nx, Y: p.Y - ny}}
}

// polygons paints polygons.
func (c *canvas) polygons(all [][]picture.Point, paint image.Image) {
	area := image.Rectangle{}
	for _, points := range all {
		for _, p := range points {
			x, y := p.X*c.scale, p.Y*c.scale
			area = area.Union(image.Rect(int(math.Floor(x)), int(math.Floor(y)), int(math.Floor(x))+1, int(math.Floor(y))+1))
		}
	}
	area = area.Intersect(c.image.Bounds())
	if area.Empty() {
		return
	}
	c.paths.Reset(area.Dx(), area.Dy())
	c.paths.DrawOp = draw.Over
	at := func(p picture.Point) (x, y float32) {
		return float32(p.X*c.scale) - float32(area.Min.X), float32(p.Y*c.scale) - float32(area.Min.Y)
	}
	for _, points := range all {
		for i, p := range points {
			x, y := at(p)
			if i == 0 {
				c.paths.MoveTo(x, y)
			} else {
				c.paths.LineTo(x, y)
			}
		}
		c.paths.ClosePath()
	}
	c.paths.Draw(c.image, area, paint, area.Min)
}

// paint returns what fills an area: a colour, or a pattern on it.
func (c *canvas) paint(s picture.Style, ground color.RGBA) image.Image {
	ink, ok := rgba(s.Ink)
	if s.Pattern == picture.Plain || !ok {
		return image.NewUniform(ground)
	}
	return &pattern{kind: s.Pattern, ground: ground, ink: ink, scale: c.scale}
}

func rgba(c picture.Colour) (color.RGBA, bool) {
	r, g, b, ok := c.RGB(false)
	return color.RGBA{r, g, b, 0xff}, ok
}

// pattern is an endless image.
type pattern struct {
	kind        picture.Pattern
	ground, ink color.RGBA
	scale       float64
}

func (*pattern) ColorModel() color.Model { return color.RGBAModel }
func (*pattern) Bounds() image.Rectangle { return image.Rect(-1e9, -1e9, 1e9, 1e9) }

func (p *pattern) At(x, y int) color.Color {
	const tile, half = picture.Tile, 1.0 // half of a line's width, along the axes
	u, v := (float64(x)+0.5)/p.scale, (float64(y)+0.5)/p.scale
	near := func(d float64) bool {
		d = math.Mod(math.Mod(d, tile)+tile, tile)
		return min(d, tile-d) < half
	}
	inked := false
	switch p.kind {
	case picture.Rising:
		inked = near(u + v)
	case picture.Falling:
		inked = near(u - v)
	case picture.Crossed:
		inked = near(u+v) || near(u-v)
	case picture.Dotted:
		inked = near(u-2.5) && near(v-2.5)
	}
	if inked {
		return p.ink
	}
	return p.ground
}
