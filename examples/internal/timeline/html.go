//go:build !js

package timeline

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"

	"github.com/restartkit/restart/examples/internal/picture"
)

// SVG returns the chart as an SVG file.
func (c *Chart) SVG() []byte { return c.Draw(Options{}).SVG(picture.SVGOptions{Prefix: "tl"}) }

//go:embed page.js
var script string

//go:embed page.css
var sheet string

// HTML returns the chart as a page that needs nothing else: a pointer on a bar shows
// what happened, buttons, keys and the wheel zoom in time, and a dark ground is followed. The page's own
// policy lets no other script run and no request leave it.
func (c *Chart) HTML() []byte {
	d := c.draw(Options{})
	sum := sha256.Sum256([]byte(script))
	var b bytes.Buffer
	fmt.Fprintf(&b, `<!DOCTYPE html>
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
<nav>
<button type="button" id="out" aria-label="zoom out">−</button>
<button type="button" id="in" aria-label="zoom in">+</button>
<button type="button" id="all" aria-label="show all">all</button>
<button type="button" id="back" aria-label="earlier">←</button>
<button type="button" id="forth" aria-label="later">→</button>
<span id="level" aria-live="polite"></span>
<span class="hint">Ctrl and wheel, or + − 0, zoom in time; a pointer on a bar shows more.</span>
</nav>
<main tabindex="0" aria-label="timeline" data-left="%.2f" data-right="%.2f" data-top="%.2f" data-bottom="%.2f" data-seconds="%g">
%s</main>
<output id="more" hidden></output>
<script>%s</script>
</body>
</html>
`, base64.StdEncoding.EncodeToString(sum[:]), html.EscapeString(c.Title()), sheet,
		d.left, d.right, d.markTop(), d.tops[len(d.tops)-1], c.Length.Seconds(), d.p.SVG(picture.SVGOptions{Prefix: "tl", Dark: true, Fluid: true}), script)
	return b.Bytes()
}
