package bitmap

import (
	"image"

	"github.com/restartkit/restart/cmd/internal/picture"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// faces are the fonts in the sizes that were used.
type faces struct {
	regular, bold *opentype.Font
	made          map[faceKey]font.Face
}

type faceKey struct {
	bold bool
	size float64
}

func newFaces() (faces, error) {
	regular, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return faces{}, err
	}
	bold, err := opentype.Parse(gobold.TTF)
	return faces{regular, bold, make(map[faceKey]font.Face)}, err
}

// face returns a font, nil if there is none of that size.
func (f *faces) face(bold bool, size float64) font.Face {
	key := faceKey{bold, size}
	if face, ok := f.made[key]; ok {
		return face
	}
	from := f.regular
	if bold {
		from = f.bold
	}
	face, err := opentype.NewFace(from, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		return nil
	}
	f.made[key] = face
	return face
}

// label writes a label. Its letters are made narrower if it were wider than it was
// laid out for.
func (c *canvas) label(s *picture.Shape) {
	ink, ok := rgba(s.Style.Fill)
	size := s.Style.Size * c.scale
	face := c.faces.face(s.Style.Bold, size)
	if !ok || face == nil {
		return
	}
	width := font.MeasureString(face, s.Text)
	if room := picture.Width(s.Text, size); float64(width)/64 > room && room > 0 {
		if face = c.faces.face(s.Style.Bold, size*room/(float64(width)/64)); face == nil {
			return
		}
		width = font.MeasureString(face, s.Text)
	}
	x := fixed.Int26_6(s.Points[0].X * c.scale * 64)
	switch s.Style.Anchor {
	case picture.Middle:
		x -= width / 2
	case picture.End:
		x -= width
	}
	d := font.Drawer{Dst: c.image, Src: image.NewUniform(ink), Face: face, Dot: fixed.Point26_6{X: x, Y: fixed.Int26_6(s.Points[0].Y * c.scale * 64)}}
	d.DrawString(s.Text)
}
