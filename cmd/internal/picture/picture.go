// Package picture holds drawings made of rectangles, lines, areas and texts, and writes
// them as SVG. It knows nothing of what they show, and needs only the standard library.
package picture

import "math"

// Picture is a drawing. Coordinates are CSS pixels from the upper left corner; what is
// drawn later covers what was drawn before. A Picture is not safe for concurrent use.
type Picture struct {
	Width, Height float64
	Title, Desc   string // for those who cannot see it, and as its name
	Shapes        []Shape
}

// Kind is what a Shape is.
type Kind uint8

// The kinds of shapes.
const (
	Rectangle Kind = iota // from Points[0] to Points[1]
	Line                  // through Points
	Area                  // within Points
	Label                 // Text at Points[0], on its base line
)

// Shape is one part of a picture.
type Shape struct {
	Kind   Kind
	Points []Point
	Style  Style
	Hover  string // what a pointer on it shows; "" for nothing
	Text   string // of a Label
}

// Point is a place in a picture.
type Point struct{ X, Y float64 }

// Style is how a shape looks. The zero value of a colour is none.
type Style struct {
	Fill, Stroke Colour
	Width        float64 // of the stroke
	Dash         float64 // length of dashes and of the gaps between them; 0: none
	Pattern      Pattern // over the fill
	Ink          Colour  // of the pattern

	Size   float64 // of a Label, whose colour is Fill
	Anchor Anchor
	Bold   bool
}

// Anchor says which part of a label is at its place.
type Anchor uint8

// The anchors.
const (
	Start Anchor = iota
	Middle
	End
)

// Pattern distinguishes areas without colour.
type Pattern uint8

// The patterns.
const (
	Plain   Pattern = iota
	Rising          // lines to the upper right
	Falling         // lines to the lower right
	Crossed         // both
	Dotted
)

// tile is the width and the height of one repetition of a pattern.
const tile = 6

// Colour is a colour on a light ground and the one in its place on a dark ground.
type Colour struct {
	light, dark uint32 // 0x1rrggbb; 0: none
}

// RGB returns the colour 0xrrggbb, for both grounds.
func RGB(c uint32) Colour { return Pair(c, c) }

// Pair returns a colour on a light and one on a dark ground.
func Pair(light, dark uint32) Colour { return Colour{1<<24 | light&0xffffff, 1<<24 | dark&0xffffff} }

// RGB returns red, green and blue on a light ground or on a dark one, and whether there
// is a colour.
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

// straight leaves out points at the place of the one before, and those within a level or
// upright part of a line.
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

// The colours that colour-blind people can distinguish, too: Masataka Okabe and Kei
// Ito, "Color Universal Design", 2008, https://jfly.uni-koeln.de/color/.
var (
	Orange        = RGB(0xe69f00)
	SkyBlue       = RGB(0x56b4e9)
	BluishGreen   = RGB(0x009e73)
	Yellow        = RGB(0xf0e442)
	Blue          = RGB(0x0072b2)
	Vermillion    = RGB(0xd55e00)
	ReddishPurple = RGB(0xcc79a7)
)

// The colours of the ground, of texts and axes, and of the lines of a grid.
var (
	Ground = Pair(0xffffff, 0x14181d)
	Text   = Pair(0x1f2328, 0xe6e9ec)
	Faint  = Pair(0x59636e, 0x9aa4ae)
	Grid   = Pair(0xe1e4e8, 0x30363d)
)
