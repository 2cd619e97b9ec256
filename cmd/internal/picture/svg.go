package picture

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SVGOptions configure an SVG document.
type SVGOptions struct {
	// Prefix begins all names, so that a page can contain several pictures. It must
	// begin with a letter, followed by letters, digits and '-'. "" means "p".
	Prefix string
	// Fluid omits width and height, so that the page sets the size.
	Fluid bool
}

// SVG returns the picture as an SVG document, which HTML pages may embed, without
// scripts or external references. It has the dark colours for readers who prefer a dark
// ground.
func (p *Picture) SVG(o SVGOptions) []byte {
	if o.Prefix == "" {
		o.Prefix = "p"
	}
	w := &svgWriter{prefix: o.Prefix, classes: make(map[Style]string)}
	for i := range p.Shapes {
		w.shape(&p.Shapes[i])
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s"`, number(p.Width), number(p.Height))
	if !o.Fluid {
		fmt.Fprintf(&b, ` width="%s" height="%s"`, number(p.Width), number(p.Height))
	}
	fmt.Fprintf(&b, " role=\"img\" aria-labelledby=\"%[1]s-title %[1]s-desc\" class=\"%[1]s\" font-family='%[2]s'>\n", o.Prefix, Family)
	fmt.Fprintf(&b, "<title id=\"%[1]s-title\">%[2]s</title>\n<desc id=\"%[1]s-desc\">%[3]s</desc>\n", o.Prefix, escape(p.Title), escape(p.Desc))
	w.styles(&b)
	b.Write(w.body.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// svgWriter writes shapes. Every style becomes a class, which is shorter than
// attributes.
type svgWriter struct {
	prefix  string
	body    bytes.Buffer
	classes map[Style]string
	order   []Style
}

// class returns the class of a style.
func (w *svgWriter) class(s Style) string {
	name, ok := w.classes[s]
	if !ok {
		name = w.prefix + strconv.Itoa(len(w.order))
		w.classes[s], w.order = name, append(w.order, s)
	}
	return name
}

func (w *svgWriter) shape(s *Shape) {
	b := &w.body
	element := "path"
	switch s.Kind {
	case Rectangle:
		element = "rect"
		from, to := s.Points[0], s.Points[1]
		fmt.Fprintf(b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"`, w.class(s.Style),
			number(from.X), number(from.Y), number(to.X-from.X), number(to.Y-from.Y))
	case Label:
		fmt.Fprintf(b, `<text class="%s" x="%s" y="%s">%s</text>`+"\n", w.class(s.Style), number(s.Points[0].X), number(s.Points[0].Y), escape(s.Text))
		return
	default:
		fmt.Fprintf(b, `<path class="%s" d="`, w.class(s.Style))
		writePath(b, s.Points)
		if s.Kind == Area {
			b.WriteByte('z')
		}
		b.WriteByte('"')
	}
	if s.Hover == "" {
		b.WriteString("/>\n")
		return
	}
	fmt.Fprintf(b, "><title>%s</title></%s>\n", escape(s.Hover), element)
}

// writePath writes straight lines as path data, in the shortest form.
func writePath(b *bytes.Buffer, points []Point) {
	for i, p := range points {
		x, y := number(p.X), number(p.Y)
		switch {
		case i == 0:
			b.WriteString("M" + x + " " + y)
		case y == number(points[i-1].Y):
			b.WriteString("H" + x)
		case x == number(points[i-1].X):
			b.WriteString("V" + y)
		default:
			b.WriteString("L" + x + " " + y)
		}
	}
}

// styles writes the classes and their patterns.
func (w *svgWriter) styles(b *bytes.Buffer) {
	b.WriteString("<style>\n")
	w.rules(b, func(c Colour) uint32 { return c.light })
	b.WriteString("@media (prefers-color-scheme:dark){\n")
	w.rules(b, func(c Colour) uint32 { return c.dark })
	b.WriteString("}\n</style>\n")
	for i, s := range w.order {
		if s.Pattern == Plain {
			continue
		}
		fmt.Fprintf(b, `<pattern id="%[1]s-%[2]d" width="%[3]d" height="%[3]d" patternUnits="userSpaceOnUse"><path class="%[1]s-%[2]df" d="M0 0H%[3]dV%[3]dH0z"/><path class="%[1]s-%[2]di" d="%[4]s"/></pattern>`+"\n",
			w.prefix, i, tile, tiles[s.Pattern])
	}
}

// tiles are the paths of the patterns' tiles.
var tiles = [...]string{
	Rising:  "M-1 7L7-1M-1 1L1-1M5 7L7 5",
	Falling: "M-1-1L7 7M-1 5L1 7M5-1L7 1",
	Crossed: "M-1 7L7-1M-1-1L7 7",
	Dotted:  "M1.5 2.5H3.5",
}

func (w *svgWriter) rules(b *bytes.Buffer, of func(Colour) uint32) {
	for i, s := range w.order {
		fill, stroke := of(s.Fill), of(s.Stroke)
		fmt.Fprintf(b, ".%s{fill:", w.classes[s])
		if s.Pattern == Plain {
			b.WriteString(css(fill))
		} else {
			fmt.Fprintf(b, "url(#%s-%d)", w.prefix, i)
		}
		if stroke != 0 {
			fmt.Fprintf(b, ";stroke:%s;stroke-width:%s", css(stroke), number(s.Width))
		}
		if s.Dash > 0 {
			fmt.Fprintf(b, ";stroke-dasharray:%s", number(s.Dash))
		}
		if s.Size > 0 {
			fmt.Fprintf(b, ";font-size:%spx", number(s.Size))
		}
		if s.Bold {
			b.WriteString(";font-weight:bold")
		}
		if s.Anchor != Start {
			b.WriteString(";text-anchor:" + [...]string{Middle: "middle", End: "end"}[s.Anchor])
		}
		b.WriteString("}\n")
		if s.Pattern != Plain {
			width := 1.4
			if s.Pattern == Dotted {
				width = 2
			}
			fmt.Fprintf(b, ".%[1]s-%[2]df{fill:%[3]s}\n.%[1]s-%[2]di{fill:none;stroke:%[4]s;stroke-width:%[5]s}\n",
				w.prefix, i, css(fill), css(of(s.Ink)), number(width))
		}
	}
}

func css(c uint32) string {
	if c == 0 {
		return "none"
	}
	return fmt.Sprintf("#%06x", c&0xffffff)
}

// number returns a coordinate with at most two decimals.
func number(x float64) string {
	return strconv.FormatFloat(math.Round(x*100)/100+0, 'f', -1, 64)
}

// escape escapes text for an element or a quoted attribute. It replaces characters not
// allowed in XML by U+FFFD.
func escape(text string) string {
	plain := true
	for i := 0; i < len(text) && plain; i++ {
		plain = text[i] >= ' ' && text[i] < utf8.RuneSelf && !strings.ContainsRune(`&<>"'`, rune(text[i]))
	}
	if plain {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case strings.ContainsRune(`&<>"'`, r):
			fmt.Fprintf(&b, "&#%d;", r)
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < ' ' || r == 0xfffe || r == 0xffff:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
