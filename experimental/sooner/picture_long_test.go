//go:build long

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// row is a line of a picture.
type row struct {
	name string
	runs []containerRun
}

// draw draws the starts of containers as marks over time.
func draw(t *testing.T, path string, rows []row) {
	t.Helper()
	first, last := rows[0].runs[0].created, rows[0].runs[0].created
	for _, r := range rows {
		for _, run := range r.runs {
			if run.created.Before(first) {
				first = run.created
			}
			if run.created.After(last) {
				last = run.created
			}
		}
	}
	const left, width, rowHeight, top = 20, 760, 64, 58
	x := func(at time.Duration) float64 { return left + width*at.Seconds()/last.Sub(first).Seconds() }
	height := top + rowHeight*len(rows) + 34
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 %d" width="800" height="%[1]d" role="img" font-family='Arial,"Liberation Sans",sans-serif'>
<title>Starts of a container that exits with code 42 at once</title>
<style>
rect{fill:#fff}text{fill:#1f2328;font-size:13px}.small{fill:#59636e;font-size:11px}path{stroke:#d0d7de}.start{stroke:#0072b2;stroke-width:2}
@media (prefers-color-scheme:dark){rect{fill:#14181d}text{fill:#e6e9ec}.small{fill:#9aa4ae}path{stroke:#3d444d}.start{stroke:#56b4e9}}
</style>
<rect width="800" height="%[1]d"/>
<text x="%[2]d" y="26" font-weight="bold">Starts of a container that exits with code 42 at once, measured on a node</text>
`, height, left)
	for i, r := range rows {
		y := top + rowHeight*i
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">%s: %d starts</text>\n<path d=\"M%[1]d %[5]dH%d\"/>\n", left, y, r.name, len(r.runs), y+32, left+width)
		for _, run := range r.runs {
			at := x(run.created.Sub(first))
			fmt.Fprintf(&b, "<path class=\"start\" d=\"M%.1f %dv20\"/>\n", at, y+12)
		}
	}
	for at := time.Duration(0); at <= last.Sub(first); at += 20 * time.Second {
		fmt.Fprintf(&b, "<text class=\"small\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%v</text>\n", x(at), height-20, at)
	}
	b.WriteString("</svg>\n")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
