// Package picture builds drawings of rectangles, lines, areas and texts, and writes
// them as SVG. It needs only the standard library.
package picture

import "math"

// Picture is a drawing. Coordinates are CSS pixels from the upper left corner. Later
// shapes cover earlier ones. A Picture is not safe for concurrent use.
type Picture struct {
	Width, Height float64
	Title, Desc   string // accessible name and description
	Shapes        []Shape
}

// Kind is the kind of a Shape.
type Kind uint8

// Kinds of shapes.
const (
	Rectangle Kind = iota // from Points[0] to Points[1]
	Line                  // through Points
	Area                  // within Points
	Label                 // Text at Points[0], on the baseline
)

// Shape is one part of a picture.
type Shape struct {
	Kind   Kind
	Points []Point
	Style  Style
	Hover  string // shown under a pointer; "" for none
	Text   string // of a Label
}

// Point is a point in a picture.
type Point struct{ X, Y float64 }

// Style is the style of a shape. Zero colours are not drawn.
type Style struct {
	Fill, Stroke Colour
	Width        float64 // of the stroke
	Dash         float64 // length of dashes and gaps; 0 means solid
	Pattern      Pattern // over the fill
	Ink          Colour  // of the pattern

	Size   float64 // of a Label, whose colour is Fill
	Anchor Anchor
	Bold   bool
}

// Anchor is the part of a label placed at its point.
type Anchor uint8

// Anchors.
const (
	Start Anchor = iota
	Middle
	End
)

// Pattern distinguishes areas without colour.
type Pattern uint8

// Patterns.
const (
	Plain   Pattern = iota
	Rising          // lines to the upper right
	Falling         // lines to the lower right
	Crossed         // both
	Dotted
)

// tile is the width and height of a pattern's tile in pixels.
const tile = 6

// Colour is a colour with variants for light and dark grounds. The zero value means no
// colour.
type Colour struct {
	light, dark uint32 // 0x1rrggbb; 0 for none
}

// RGB returns the colour 0xrrggbb for both grounds.
func RGB(c uint32) Colour { return Pair(c, c) }

// Pair returns a colour with variants for light and dark grounds.
func Pair(light, dark uint32) Colour { return Colour{1<<24 | light&0xffffff, 1<<24 | dark&0xffffff} }

// RGB returns the colour's components for a light or dark ground. ok is false for the
// zero Colour.
func (c Colour) RGB(dark bool) (r, g, b uint8, ok bool) {
	rgb := c.light
	if dark {
		rgb = c.dark
	}
	return uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), rgb != 0
}

// Rect draws a rectangle.
func (p *Picture) Rect(x, y, width, height float64, s Style, hover string) {
	p.Shapes = append(p.Shapes, Shape{Kind: Rectangle, Points: []Point{{x, y}, {x + width, y + height}}, Style: s, Hover: hover})
}

// Line draws a line through points.
func (p *Picture) Line(s Style, hover string, points ...Point) {
	if points = straight(points); len(points) > 1 {
		p.Shapes = append(p.Shapes, Shape{Kind: Line, Points: points, Style: s, Hover: hover})
	}
}

// Area fills the area within points.
func (p *Picture) Area(s Style, hover string, points ...Point) {
	p.Shapes = append(p.Shapes, Shape{Kind: Area, Points: straight(points), Style: s, Hover: hover})
}

// straight omits repeated points, and points within a horizontal or vertical part of a
// line.
func straight(points []Point) []Point {
	var kept []Point
	for _, at := range points {
		n := len(kept)
		if n > 0 && math.Abs(kept[n-1].X-at.X) < 0.005 && math.Abs(kept[n-1].Y-at.Y) < 0.005 {
			continue
		}
		if n > 1 && (kept[n-2].X == kept[n-1].X && kept[n-1].X == at.X && between(kept[n-2].Y, kept[n-1].Y, at.Y) ||
			kept[n-2].Y == kept[n-1].Y && kept[n-1].Y == at.Y && between(kept[n-2].X, kept[n-1].X, at.X)) {
			kept = kept[:n-1]
		}
		kept = append(kept, at)
	}
	return kept
}

// between reports whether b lies between a and c.
func between(a, b, c float64) bool { return min(a, c) <= b && b <= max(a, c) }

// Text writes a label. Its style needs a Fill and a Size.
func (p *Picture) Text(x, y float64, s Style, text string) {
	p.Shapes = append(p.Shapes, Shape{Kind: Label, Points: []Point{{x, y}}, Style: s, Text: text})
}

// Colours distinguishable by colour-blind people, from Masataka Okabe and Kei Ito,
// "Color Universal Design", 2008, https://jfly.uni-koeln.de/color/.
var (
	Orange      = RGB(0xe69f00)
	SkyBlue     = RGB(0x56b4e9)
	BluishGreen = RGB(0x009e73)
	Yellow      = RGB(0xf0e442)
	Blue        = RGB(0x0072b2)
	Vermillion  = RGB(0xd55e00)
)

// Colours of the ground, texts, axes and grid lines.
var (
	Ground = Pair(0xffffff, 0x14181d)
	Text   = Pair(0x1f2328, 0xe6e9ec)
	Faint  = Pair(0x59636e, 0x9aa4ae)
	Grid   = Pair(0xe1e4e8, 0x30363d)
)
