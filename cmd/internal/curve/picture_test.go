package curve

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/picture"
	"github.com/restartkit/restart/cmd/internal/picture/vision"
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
		{[]string{"kubelet", "docker"}, 30 * time.Minute, []string{"kubelet: 9<", "docker: 38<", "kubelet: 9 restarts. docker: 38 restarts.", "time since the first start", ">25m<", ">A title<"}},
		{[]string{"kubelet", "fast=1s/1s"}, 30 * time.Minute, []string{"kubelet: 9<", "fast: 1.8k<", "A title (logarithmic scale)", ">100<"}},
		{[]string{"&lt;=1ms/1ms"}, Longest, []string{"&#38;lt;: 315G", ">10y<"}},
		{[]string{"5m/5m", "a=5m/5m", "b=5m/5m"}, time.Second, []string{"5m/5m: 0", "a: 0", "b: 0", ">200ms<"}},
		{[]string{strings.Repeat("W", LongestName) + "=kubelet"}, time.Hour, []string{">WWW", "…"}},
	} {
		p := Picture{Title: "A title", Curves: parsed(t, test.curves...), End: test.end, Width: 720, Height: 240}
		svg := p.SVG()
		wellFormed(t, svg)
		for _, text := range test.want {
			if !bytes.Contains(svg, []byte(text)) {
				t.Errorf("%q: the picture lacks %q", test.curves, text)
			}
		}
		if again := p.SVG(); !bytes.Equal(svg, again) {
			t.Errorf("%q: the same picture comes out differently", test.curves)
		}
	}
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

// A line steps at the restarts, and a line of very many restarts has points of the curve.
func TestLinesFollowTheRestarts(t *testing.T) {
	got := Picture{End: 100 * time.Second}.points(Curve{Policy: backoff.CrashLoop()})
	want := []picture.Point{{}, {X: 10}, {X: 10, Y: 1}, {X: 30, Y: 1}, {X: 30, Y: 2}, {X: 70, Y: 2}, {X: 70, Y: 3}, {X: 100, Y: 3}}
	if !slices.Equal(got, want) {
		t.Errorf("points %v, want %v", got, want)
	}
	limited := parsed(t, "systemd")[0]
	if got := (Picture{End: time.Hour}).points(limited); got[len(got)-1] != (picture.Point{X: 3600, Y: 4}) {
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

// Ticks are round, begin with 0 and are neither few nor many.
func TestCountTicks(t *testing.T) {
	for high := 1.05; high < 1e12; high *= 1.1 {
		linear, log := countTicks(high, false), countTicks(high, true)
		if n := len(linear); n < 2 || n > 7 || linear[0] != 0 || linear[n-1] > high {
			t.Errorf("%v: %v", high, linear)
		}
		if n := len(log); log[0] != 0 || log[n-1] > high || 10*log[n-1] < high {
			t.Errorf("%v: %v", high, log)
		}
	}
}

// Names can be read on both grounds: WCAG 2 asks for a contrast of 4.5.
func TestNamesHaveContrast(t *testing.T) {
	for i, c := range colours {
		for _, dark := range []bool{false, true} {
			if got := vision.Contrast(c, picture.Ground, dark); got < 4.5 {
				t.Errorf("colour %d, dark %v: %.1f", i, dark, got)
			}
		}
	}
}

// Names keep their distance, their order and the bounds.
func TestNamesKeepTheirDistance(t *testing.T) {
	for _, test := range []struct{ places, want []float64 }{
		{[]float64{50, 10}, []float64{50, 10}},
		{[]float64{50, 50, 50}, []float64{50, 60, 70}},
		{[]float64{100, 98, 0}, []float64{100, 90, 0}},
		{[]float64{0, 0, 1}, []float64{0, 10, 20}},
	} {
		if got := spread(test.places, 10, 0, 100); !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.places, got, test.want)
		}
	}
}
