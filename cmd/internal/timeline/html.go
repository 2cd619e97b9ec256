//go:build !js

package timeline

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/restartkit/restart/cmd/internal/picture"
)

// SVG returns the chart as an SVG file, with colours for dark grounds.
func (c *Chart) SVG() []byte {
	return c.Draw(Options{}).SVG(picture.SVGOptions{Prefix: "tl"})
}

//go:embed page.js
var script string

//go:embed page.css
var sheet string

// Widths of the two drawings in a page, which shows the one that fits.
const (
	wideDrawing   = 1000
	narrowDrawing = 390
)

// HTML returns the chart as a self-contained page. A pointer on a bar shows its
// details. Buttons, keys and the wheel zoom in time. The page adapts to a dark ground
// and a narrow screen, and blocks other scripts and all requests.
func (c *Chart) HTML() []byte {
	sum := sha256.Sum256([]byte(script))
	return fmt.Appendf(nil, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-%s'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<style>
%s</style>
</head>
<body>
<nav aria-label="Zoom">
<button type="button" id="out" aria-label="zoom out">−</button>
<button type="button" id="in" aria-label="zoom in">+</button>
<button type="button" id="all" aria-label="show all">all</button>
<button type="button" id="back" aria-label="earlier">←</button>
<button type="button" id="forth" aria-label="later">→</button>
<span id="level" aria-live="polite"></span>
<span class="hint">Ctrl and wheel, or + − 0, zoom in time; a pointer on a bar shows more.</span>
</nav>
<main tabindex="0" aria-label="timeline" data-seconds="%g">
<h1>%s</h1>
%s%s</main>
<output id="more" hidden></output>
<script>%s</script>
</body>
</html>
`, base64.StdEncoding.EncodeToString(sum[:]), html.EscapeString(c.Title()), sheet, c.Length.Seconds(),
		html.EscapeString(c.Title()), c.section("wide", wideDrawing), c.section("narrow", narrowDrawing), script)
}

// section returns one drawing of the page with the data for the script, which are the
// place of the axis and the true width of each bar.
func (c *Chart) section(class string, width float64) string {
	d := c.draw(Options{Width: width})
	bars := make([]string, len(d.bars))
	for i, x := range d.bars {
		bars[i] = strconv.FormatFloat(x, 'f', 3, 64)
	}
	return fmt.Sprintf(`<div class="%s" data-left="%.2f" data-right="%.2f" data-top="%.2f" data-bottom="%.2f" data-least="%d" data-bars="%s">
%s</div>
`, class, d.left, d.right, d.markTop(), d.tops[len(d.tops)-1], leastBar, strings.Join(bars, " "),
		d.p.SVG(picture.SVGOptions{Prefix: class, Fluid: true}))
}
