package curve

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/restartkit/restart/backoff"
)

func parsed(t *testing.T, texts ...string) []Curve {
	t.Helper()
	var curves []Curve
	for _, text := range texts {
		c, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		curves = append(curves, c)
	}
	return curves
}

// A picture has the name and the restarts of every curve, and no number that is none.
func TestPictureNamesItsLines(t *testing.T) {
	for _, test := range []struct {
		curves []string
		end    time.Duration
		want   []string
	}{
		{[]string{"kubelet", "docker"}, 30 * time.Minute, []string{"kubelet: 9", "docker: 38", "time since the first start", "25m", ">A title<"}},
		{[]string{"kubelet", "fast=1s/1s"}, 30 * time.Minute, []string{"kubelet: 9", "fast: 1.8k", "A title (logarithmic scale)", ">100<"}},
		{[]string{"&lt;=1ms/1ms"}, Longest, []string{"&amp;lt;: 315G", "10y"}},
		{[]string{"5m/5m", "a=5m/5m", "b=5m/5m"}, time.Second, []string{"5m/5m: 0", "a: 0", "b: 0", "500ms"}},
		{[]string{strings.Repeat("W", LongestName) + "=kubelet"}, time.Hour, []string{"WWW…"}},
	} {
		p := Picture{Title: "A title", Curves: parsed(t, test.curves...), End: test.end, Width: 320, Height: 240}
		if len(test.curves[0]) < LongestName {
			p.Width = 720
		}
		svg, err := p.SVG()
		if err != nil {
			t.Fatal(err)
		}
		wellFormed(t, svg)
		for _, text := range test.want {
			if !bytes.Contains(svg, []byte(text)) {
				t.Errorf("%q: the picture lacks %q", test.curves, text)
			}
		}
		if again, _ := p.SVG(); !bytes.Equal(svg, again) {
			t.Errorf("%q: the same picture comes out differently", test.curves)
		}
		if p.Dark = true; bytes.Equal(svg, must(p.SVG())) {
			t.Errorf("%q: the picture does not become dark", test.curves)
		}
	}
}

func must(picture []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return picture
}

func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	for decoder := xml.NewDecoder(bytes.NewReader(svg)); ; {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("no XML: %v", err)
		}
	}
	for _, wrong := range []string{"NaN", "Inf"} {
		if bytes.Contains(svg, []byte(wrong)) {
			t.Errorf("the picture has %s", wrong)
		}
	}
}

func TestPNGHasTwiceAsManyPixels(t *testing.T) {
	picture, err := Picture{Curves: parsed(t, "kubelet"), End: time.Hour, Width: 400, Height: 300}.PNG()
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := png.Decode(bytes.NewReader(picture))
	if err != nil || decoded.Bounds().Dx() != 800 || decoded.Bounds().Dy() != 600 {
		t.Errorf("%v, %v", decoded.Bounds(), err)
	}
}

// A line steps at the restarts, and a line of very many restarts has points of the curve.
func TestLinesFollowTheRestarts(t *testing.T) {
	got := Picture{End: 100 * time.Second}.points(Curve{Policy: backoff.CrashLoop()})
	want := plotter.XYs{{}, {X: 10}, {X: 10, Y: 1}, {X: 30, Y: 1}, {X: 30, Y: 2}, {X: 70, Y: 2}, {X: 70, Y: 3}, {X: 100, Y: 3}}
	if !slices.Equal(got, want) {
		t.Errorf("points %v, want %v", got, want)
	}
	limited := parsed(t, "systemd")[0]
	if got := (Picture{End: time.Hour}).points(limited); got[len(got)-1] != (plotter.XY{X: 3600, Y: 4}) {
		t.Errorf("systemd ends at %v", got[len(got)-1])
	}
	many := Curve{Policy: backoff.Policy{Initial: time.Millisecond, Max: time.Second}}
	got = Picture{End: time.Hour}.points(many)
	if len(got) != mostSteps+2 {
		t.Fatalf("%d points", len(got))
	}
	for i, p := range got {
		at := time.Duration(math.Round(p.X * 1e9))
		if p.Y != float64(many.Restarts(-1, at)) || i > 0 && p.X < got[i-1].X {
			t.Fatalf("point %d is %v, on the curve are %v", i, p, many.Restarts(-1, at))
		}
	}
}

// Times on the axis are round, at least two, and no more than have room.
func TestTimesHaveRoom(t *testing.T) {
	for end := time.Second; end <= Longest; end = end*5/4 + 1 {
		for _, most := range []int{0, 2, 5, 12} {
			ticks := timeTicks(end, most)
			if n := len(ticks) - 1; n < 1 || n > max(most, 2) {
				t.Errorf("%v with room for %d has %d: %v", end, most, n, ticks)
			}
		}
	}
}

// Names keep their distance, their order and the bounds.
func TestNamesKeepTheirDistance(t *testing.T) {
	for _, test := range []struct{ places, want []vg.Length }{
		{[]vg.Length{50, 10}, []vg.Length{50, 10}},
		{[]vg.Length{50, 50, 50}, []vg.Length{50, 60, 70}},
		{[]vg.Length{100, 98, 0}, []vg.Length{100, 90, 0}},
		{[]vg.Length{0, 0, 1}, []vg.Length{0, 10, 20}},
	} {
		if got := spread(test.places, 10, 0, 100); !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.places, got, test.want)
		}
	}
}
