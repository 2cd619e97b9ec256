package bitmap

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"testing"

	"github.com/restartkit/restart/cmd/internal/picture"
)

// drawn returns what a picture looks like as PNG.
func drawn(t *testing.T, p *picture.Picture, scale float64) image.Image {
	t.Helper()
	file, err := PNG(p, scale)
	if err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// colours counts the pixels of each colour.
func colours(m image.Image) map[color.RGBA]int {
	n := make(map[color.RGBA]int)
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			n[color.RGBAModel.Convert(m.At(x, y)).(color.RGBA)]++
		}
	}
	return n
}

var (
	white = color.RGBA{255, 255, 255, 255}
	blue  = color.RGBA{0, 0x72, 0xb2, 255}
	black = color.RGBA{0, 0, 0, 255}
)

// Shapes lie where the picture has them, in its colours.
func TestShapesLieWhereTheyAre(t *testing.T) {
	p := &picture.Picture{Width: 100, Height: 50}
	p.Rect(0, 0, 100, 50, picture.Style{Fill: picture.RGB(0xffffff)}, "")
	p.Rect(10, 10, 20, 10, picture.Style{Fill: picture.Blue}, "")
	p.Area(picture.Style{Fill: picture.Blue}, "", picture.Point{X: 50, Y: 10}, picture.Point{X: 60, Y: 10}, picture.Point{X: 60, Y: 20}, picture.Point{X: 50, Y: 20})
	p.Line(picture.Style{Stroke: picture.RGB(0), Width: 2}, "", picture.Point{X: 10, Y: 40}, picture.Point{X: 60, Y: 40})
	m := drawn(t, p, 2)
	if m.Bounds() != image.Rect(0, 0, 200, 100) {
		t.Errorf("%v", m.Bounds())
	}
	for at, want := range map[image.Point]color.RGBA{{30, 30}: blue, {19, 30}: white, {110, 30}: blue, {122, 30}: white, {60, 80}: black, {60, 84}: white, {122, 80}: white} {
		if got := m.At(at.X, at.Y); got != want {
			t.Errorf("at %v is %v, want %v", at, got, want)
		}
	}
	if n := colours(m); n[blue] != 4*(200+100) || n[black] != 4*100 {
		t.Errorf("%v", n)
	}
}

// Patterns have the ink that SVG has; every pattern another picture.
func TestPatternsDiffer(t *testing.T) {
	seen := make(map[string]picture.Pattern)
	for _, pattern := range []picture.Pattern{picture.Plain, picture.Rising, picture.Falling, picture.Crossed, picture.Dotted} {
		p := &picture.Picture{Width: 60, Height: 60}
		p.Rect(0, 0, 60, 60, picture.Style{Fill: picture.Blue, Pattern: pattern, Ink: picture.RGB(0)}, "")
		file, err := PNG(p, 2)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[string(file)]; ok {
			t.Errorf("patterns %d and %d are one", pattern, other)
		}
		seen[string(file)] = pattern
		n := colours(drawn(t, p, 2))
		if n[blue]+n[black] != 120*120 || (n[black] > 0) != (pattern != picture.Plain) || n[blue] < 120*120/4 {
			t.Errorf("pattern %d: %v", pattern, n)
		}
	}
}

// Dashes and gaps are of one length.
func TestDashesHaveGaps(t *testing.T) {
	p := &picture.Picture{Width: 100, Height: 10}
	p.Line(picture.Style{Stroke: picture.RGB(0), Width: 2, Dash: 5}, "", picture.Point{X: 0, Y: 5}, picture.Point{X: 100, Y: 5})
	if n := colours(drawn(t, p, 1)); n[black] != 100 {
		t.Errorf("%d of 200 pixels are black", n[black])
	}
}

// A line has no gaps at its corners.
func TestCornersAreClosed(t *testing.T) {
	p := &picture.Picture{Width: 30, Height: 30}
	p.Line(picture.Style{Stroke: picture.RGB(0), Width: 4}, "", picture.Point{X: 0, Y: 10}, picture.Point{X: 10, Y: 10}, picture.Point{X: 10, Y: 20}, picture.Point{X: 30, Y: 20})
	if n := colours(drawn(t, p, 1)); n[black] != 12*4+10*4+18*4 {
		t.Errorf("%d pixels are black", n[black])
	}
}

// A label is as wide as it was laid out for, or narrower, wherever it is anchored.
func TestLabelsKeepToTheirWidth(t *testing.T) {
	for _, bold := range []bool{false, true} {
		for _, text := range []string{"iiiiiiiiiiii", "WWWWMMMM", "Job sample: Failed (FailedIndexes)", "12:34:56"} {
			for anchor, from := range map[picture.Anchor]float64{picture.Start: 200, picture.Middle: 200 - picture.Width(text, 20)/2, picture.End: 200 - picture.Width(text, 20)} {
				p := &picture.Picture{Width: 600, Height: 40}
				p.Text(200, 30, picture.Style{Fill: picture.RGB(0), Size: 20, Anchor: anchor, Bold: bold}, text)
				m, to := drawn(t, p, 1), from+picture.Width(text, 20)
				inked := 0
				for y := range 40 {
					for x := range 600 {
						if _, _, _, a := m.At(x, y).RGBA(); a > 0 {
							inked++
							if float64(x) < from-2 || float64(x) > to+2 {
								t.Fatalf("%q reaches to %d, %d, beyond %v..%v", text, x, y, from, to)
							}
						}
					}
				}
				if inked < 50 {
					t.Errorf("%q: %d pixels", text, inked)
				}
			}
		}
	}
}

func TestImpossibleSizesAreErrors(t *testing.T) {
	for _, size := range []float64{0, -1, math.NaN(), math.Inf(1), 1e6} {
		if _, err := PNG(&picture.Picture{Width: size, Height: size}, 2); err == nil {
			t.Errorf("%v: no error", size)
		}
	}
}
