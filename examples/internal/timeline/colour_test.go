package timeline

import (
	"math"
	"testing"

	"github.com/restartkit/restart/examples/internal/picture"
)

// How colour-blind people see linear red, green and blue: Machado, Oliveira and
// Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency",
// 2009, table 1, severity 1.0.
var visions = map[string][3][3]float64{
	"normal":       {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
	// Without any colour only the lightness is left.
	"achromatopsia": {{0.2126, 0.7152, 0.0722}, {0.2126, 0.7152, 0.0722}, {0.2126, 0.7152, 0.0722}},
}

// lab returns a colour in CIELAB as it is seen.
func lab(c picture.Colour, vision [3][3]float64) [3]float64 {
	r, g, b, _ := c.RGB()
	var linear, seen [3]float64
	for i, v := range [3]uint8{r, g, b} {
		if x := float64(v) / 255; x <= 0.04045 {
			linear[i] = x / 12.92
		} else {
			linear[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	for i := range 3 {
		for j := range 3 {
			seen[i] += vision[i][j] * linear[j]
		}
		seen[i] = min(max(seen[i], 0), 1)
	}
	f := func(t float64) float64 {
		if t > 216.0/24389 {
			return math.Cbrt(t)
		}
		return (24389.0/27*t + 16) / 116
	}
	x := f((0.4124*seen[0] + 0.3576*seen[1] + 0.1805*seen[2]) / 0.9505)
	y := f(0.2126*seen[0] + 0.7152*seen[1] + 0.0722*seen[2])
	z := f((0.0193*seen[0] + 0.1192*seen[1] + 0.9505*seen[2]) / 1.0890)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// Outcomes differ in their colours, whoever looks at them. Those whose colours are the
// same or alike differ in pattern and outline, too, as every two do for whom colours
// are nothing.
func TestOutcomesAreToldApartByAll(t *testing.T) {
	const enough = 10 // of CIELAB's distance; 2.3 is just noticeable
	checked := 0
	for name, vision := range visions {
		for a := range outcomeStyles {
			for b := range a {
				p, q := outcomeStyles[a], outcomeStyles[b]
				x, y := lab(p.Fill, vision), lab(q.Fill, vision)
				distance := math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
				alike := p.Pattern == q.Pattern && p.Stroke == q.Stroke
				if alike || distance < enough && name != "achromatopsia" && p.Fill != q.Fill {
					t.Errorf("%s: %v and %v are %.1f apart, patterns %d and %d", name, Outcome(a), Outcome(b), distance, p.Pattern, q.Pattern)
				}
				checked++
			}
		}
	}
	if want := len(visions) * OutcomeCount * (OutcomeCount - 1) / 2; checked != want {
		t.Errorf("%d pairs", checked)
	}
}
