package chart

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/restartkit/restart/cmd/internal/timeline/picture"
	"github.com/restartkit/restart/cmd/internal/timeline/picture/vision"
	"pgregory.net/rapid"
)

// anyAxis draws an axis of values, as panels have it.
func anyAxis(t *rapid.T) Axis {
	a := Axis{High: math.Pow(10, rapid.Float64Range(-6, 17).Draw(t, "high")), From: rapid.Float64Range(0, 500).Draw(t, "from"), Band: 16}
	a.To = a.From + rapid.SampledFrom([]float64{-1, 1}).Draw(t, "direction")*rapid.Float64Range(60, 3000).Draw(t, "length")
	if rapid.Bool().Draw(t, "log") {
		a.Low = decade(a.High) * math.Pow(10, -rapid.Float64Range(0.3, 9).Draw(t, "decades"))
	}
	return a
}

// 0 is at the beginning, the highest value at the end, and a larger value never before a
// smaller one, on every axis.
func TestAxisKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyAxis(t)
		length := math.Abs(a.To - a.From)
		along := func(v float64) float64 { return (a.Place(v) - a.From) / (a.To - a.From) * length }
		if along(0) != 0 || math.Abs(along(a.High)-length) > 1e-6 || along(-1) != 0 || math.Abs(along(2*a.High)-length) > 1e-6 {
			t.Fatalf("%+v: 0 lies at %v, the highest at %v of %v", a, along(0), along(a.High), length)
		}
		x, y := rapid.Float64Range(0, 1).Draw(t, "x")*a.High, rapid.Float64Range(0, 1).Draw(t, "y")*a.High
		if x < y && along(x) > along(y)+1e-9 {
			t.Fatalf("%+v: %v lies at %v, %v at %v", a, x, along(x), y, along(y))
		}
		if a.Log() && math.Abs(along(a.Low)-a.Band) > 1e-6 {
			t.Fatalf("%+v: %v lies at %v", a, a.Low, along(a.Low))
		}
		if !a.Log() && math.Abs(along(x)-length*x/a.High) > 1e-6 {
			t.Fatalf("%+v: %v lies at %v", a, x, along(x))
		}
	})
}

// Every axis has several ticks, whose labels do not touch.
func TestLabelsOfTicksDoNotTouch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyAxis(t)
		values := valueTicks(a, rapid.Bool().Draw(t, "whole"))
		last, labels := math.Inf(-1), 0
		for _, tick := range values {
			at := math.Abs(a.Place(tick.Value) - a.From)
			if tick.Label != "" {
				if at-last < 12 {
					t.Fatalf("%+v: %v lies %.1f from the one before", a, tick, at-last)
				}
				last = at
				labels++
			}
			if tick.Value < 0 || tick.Value > a.High*(1+1e-9) {
				t.Fatalf("%+v: %v", a, tick)
			}
		}
		if values[0].Value != 0 || labels > 200 || !a.Log() && a.High >= 2 && labels < 2 {
			t.Fatalf("%+v: %v", a, values)
		}

		end := time.Duration(math.Pow(10, rapid.Float64Range(3, 18.96).Draw(t, "end")))
		x := Axis{High: end.Seconds(), From: 0, To: rapid.Float64Range(200, 4000).Draw(t, "width"), Band: tickWidth / 2}
		if end >= time.Second && rapid.Bool().Draw(t, "log time") {
			x.Low = decade(x.High) * 1e-3
		}
		right, labels := math.Inf(-1), 0
		for _, tick := range timeTicks(x) {
			if tick.Label == "" {
				continue
			}
			labels++
			half := picture.Width(tick.Label, 11) / 2
			if x.Place(tick.Value)-half < right+3 {
				t.Fatalf("up to %v on %v pixels: %v lies on the one before", end, x.To, tick)
			}
			right = x.Place(tick.Value) + half
		}
		if labels < 2 {
			t.Fatalf("up to %v on %v pixels: %v", end, x.To, timeTicks(x))
		}
	})
}

func TestTimesHaveShortLabels(t *testing.T) {
	const hour = time.Hour
	for at, want := range map[time.Duration]string{0: "0s", 1500 * time.Millisecond: "1.5s", 90 * time.Second: "1m30s", 23 * hour: "23h", 24 * hour: "1d", 36 * hour: "36h", 50 * 24 * hour: "50d", 8760 * hour: "1y", 87600 * hour: "10y"} {
		if got := TimeLabel(at); got != want {
			t.Errorf("%v: %s, want %s", at, got, want)
		}
	}
	var years []string
	for _, at := range Times(87600*hour, 452) {
		years = append(years, TimeLabel(at))
	}
	if want := []string{"0s", "2y", "4y", "6y", "8y", "10y"}; !slices.Equal(years, want) {
		t.Errorf("ten years have %v, want %v", years, want)
	}
}

func TestStepIsTheShortestRoundOne(t *testing.T) {
	for _, tt := range []struct {
		length time.Duration
		most   int
		want   time.Duration
	}{
		{0, 8, 1}, {10, 8, 2}, {1600 * time.Millisecond, 13, 200 * time.Millisecond}, {55 * time.Second, 13, 5 * time.Second},
		{70 * time.Minute, 8, 10 * time.Minute}, {7 * 24 * time.Hour, 9, 24 * time.Hour}, {316 * 24 * time.Hour, 3, 200 * 24 * time.Hour}, {math.MaxInt64, 6, 50 * year}, {math.MaxInt64, 3, 100 * year},
	} {
		got := Step(tt.length, tt.most)
		if got != tt.want {
			t.Errorf("%v in %d steps: %v, want %v", tt.length, tt.most, got, tt.want)
		}
	}
}

// Lines have contrast enough to be read as text, and those with the same dashes are told
// apart by colour-blind people, too.
func TestLooksOfLinesDiffer(t *testing.T) {
	for i, a := range styles {
		for _, dark := range []bool{false, true} {
			if c := vision.Contrast(a.Stroke, picture.Ground, dark); c < 4.5 {
				t.Errorf("look %d, dark %v: a contrast of %.2f", i, dark, c)
			}
			for name, seen := range vision.Visions {
				for j, b := range styles[:i] {
					if d := vision.Distance(a.Stroke, b.Stroke, dark, seen); a.Dash == b.Dash && d < 10 && name != "achromatopsia" {
						t.Errorf("%s, dark %v: looks %d and %d are %.1f apart", name, dark, i, j, d)
					}
				}
			}
		}
	}
}

// Every line of a picture has a look of its own, and a known system always the same.
func TestKnownSystemsLookTheSame(t *testing.T) {
	names := []string{"kubelet", "kubelet-reduced", "job", "imagepull", "docker", "systemd", "flink", "1s maximum", "mine", "yours", ""}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, MostLines, rapid.ID[string]).Draw(t, "systems")
		all := stylesOf(list)
		for i, a := range all {
			look, ok := known[list[i]]
			shared := ok && slices.ContainsFunc(list[:i], func(other string) bool { l, ok := known[other]; return ok && l == look })
			if slices.Contains(all[:i], a) || ok && !shared && a != styles[look] {
				t.Fatalf("%q look %+v", list, all)
			}
		}
	})
}

// Names stand at the ends of their lines where there is room, in the order of the ends,
// and on no other name.
func TestNamesStandAtTheEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &picture.Picture{Width: 500, Height: 300}
		a := area{p: p, left: 50, right: 400, top: 20, bottom: 20 + rapid.Float64Range(100, 250).Draw(t, "height")}
		y := Axis{High: 100, From: a.bottom, To: a.top}
		ends := rapid.SliceOfN(rapid.Float64Range(0, 100), 1, MostLines).Draw(t, "ends")
		var lines []line
		for i, end := range ends {
			lines = append(lines, line{name: string(rune('a' + i)), style: styles[i], points: []picture.Point{{X: 0, Y: 1}, {X: 10, Y: end}}})
		}
		a.lines(Axis{High: 10, From: a.left, To: a.right}, y, lines, 90)
		at := make(map[string]float64)
		last := math.Inf(-1)
		for _, s := range p.Shapes {
			if s.Kind != picture.Label {
				continue
			}
			middle := s.Points[0].Y - 4
			if middle < last+nameHeight-0.01 || middle < a.top-0.01 || middle > a.bottom+0.01 {
				t.Fatalf("%q stands at %v, the one above at %v", s.Text, middle, last)
			}
			at[s.Text], last = middle, middle
		}
		for i, l := range lines {
			for j := range lines {
				if ends[i] > ends[j]+1e-6 && at[l.name] >= at[lines[j].name] {
					t.Fatalf("%v stands below %v", ends[i], ends[j])
				}
			}
			alone := !slices.ContainsFunc(lines, func(o line) bool {
				return o.name != l.name && math.Abs(y.Place(o.points[1].Y)-y.Place(ends[i])) < 2*MostLines*nameHeight
			})
			if alone && math.Abs(at[l.name]-y.Place(ends[i])) > 1 {
				t.Fatalf("%v stands at %v, its end is at %v", ends[i], at[l.name], y.Place(ends[i]))
			}
		}
		if len(at) != len(lines) {
			t.Fatalf("%d names of %d lines", len(at), len(lines))
		}
	})
}
