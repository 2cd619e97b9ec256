// Package vision measures how well people can distinguish colours.
package vision

import (
	"math"

	"github.com/restartkit/restart/cmd/internal/picture"
)

// Visions are matrices for linear red, green and blue as seen with and without colour
// blindness, from Machado, Oliveira and Fernandes, "A Physiologically-based Model for
// Simulation of Color Vision Deficiency", 2009, table 1, severity 1.0.
var Visions = map[string][3][3]float64{
	"normal":       {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
	// Without colours, only the lightness remains.
	"achromatopsia": {{0.2126, 0.7152, 0.0722}, {0.2126, 0.7152, 0.0722}, {0.2126, 0.7152, 0.0722}},
}

// linear returns the linear intensities of a colour's red, green and blue.
func linear(c picture.Colour, dark bool) (rgb [3]float64) {
	r, g, b, _ := c.RGB(dark)
	for i, v := range [3]uint8{r, g, b} {
		if x := float64(v) / 255; x <= 0.04045 {
			rgb[i] = x / 12.92
		} else {
			rgb[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return rgb
}

// Contrast returns the contrast ratio of two colours as defined by WCAG 2, from 1 to
// 21.
func Contrast(a, b picture.Colour, dark bool) float64 {
	lightness := func(c picture.Colour) float64 {
		rgb := linear(c, dark)
		return 0.2126*rgb[0] + 0.7152*rgb[1] + 0.0722*rgb[2] + 0.05
	}
	x, y := lightness(a), lightness(b)
	return max(x, y) / min(x, y)
}

// Distance returns the CIELAB distance of two colours as seen with a vision. 2.3 is
// just noticeable.
func Distance(a, b picture.Colour, dark bool, vision [3][3]float64) float64 {
	x, y := lab(linear(a, dark), vision), lab(linear(b, dark), vision)
	return math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
}

// lab returns the CIELAB coordinates of a linear colour as seen with a vision.
func lab(linear [3]float64, vision [3][3]float64) [3]float64 {
	var seen [3]float64
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
