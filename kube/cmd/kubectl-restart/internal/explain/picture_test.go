package explain

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"strings"
	"testing"
)

// The picture in the documentation shows the recorded text of a crash loop.
func TestPictureShowsTheRecordedText(t *testing.T) {
	const file = "../../../../../docs/kubectl-restart.svg"
	text, err := os.ReadFile("testdata/crash-loop.txt")
	if err != nil {
		t.Fatal(err)
	}
	explained, _, _ := strings.Cut(string(text), "\n\n$ ")
	lines := strings.Split(explained, "\n")
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1100 %d" width="1100" height="%[1]d" role="img" font-family='"DejaVu Sans Mono","Liberation Mono",monospace' font-size="13">
<title>kubectl restart explain of a pod in a crash loop</title>
<rect width="1100" height="%[1]d" rx="8" fill="#14181d"/>
`, 20*len(lines)+24)
	for i, line := range lines {
		colour := "#e6e9ec"
		switch {
		case strings.HasPrefix(line, "$"):
			colour = "#56b4e9"
		case strings.Contains(line, "next start"):
			colour = "#e69f00"
		}
		fmt.Fprintf(&b, "<text x=\"16\" y=\"%d\" fill=\"%s\" xml:space=\"preserve\">%s</text>\n", 20*i+30, colour, html.EscapeString(line))
	}
	b.WriteString("</svg>\n")
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s is out of date (%v); write it with -update", file, err)
	}
}
