package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/restartkit/restart/cmd/internal/human"
)

// texts returns what the elements of that name in an SVG document say.
func texts(t testing.TB, svg []byte, element string) (all []string) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	in := false
	for {
		token, err := decoder.Token()
		switch e := token.(type) {
		case xml.StartElement:
			if in = e.Name.Local == element; in {
				all = append(all, "")
			}
		case xml.EndElement:
			in = false
		case xml.CharData:
			if in {
				all[len(all)-1] += string(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Text from elsewhere stands in a picture as text.
func FuzzTextStaysText(f *testing.F) {
	for _, text := range []string{"plain", `<script>alert("1")</script>`, "]]>&amp;", "\x00\x1b[2J\u202e", "\xff\xfe\ufffe", "a\nb\tc", "名前"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clean := human.Escape(text)
		p := &Picture{Width: 100, Height: 50, Title: clean, Desc: text}
		p.Text(1, 2, Style{Fill: Text, Size: 10}, clean)
		p.Rect(0, 0, 5, 5, Style{Fill: Blue}, "x"+clean)
		svg := p.SVG(SVGOptions{})
		if got := texts(t, svg, "text"); len(got) != 1 || got[0] != clean {
			t.Fatalf("%q became %q", clean, got)
		}
		if got := texts(t, svg, "title"); len(got) != 2 || got[0] != clean || got[1] != "x"+clean {
			t.Fatalf("%q became %q", clean, got)
		}
		if got := texts(t, svg, "desc"); len(got) != 1 || !utf8.ValidString(got[0]) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

// Cut text fits, and keeps its beginning and its end.
func TestFittedTextFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		width := rapid.Float64Range(0, 400).Draw(t, "width")
		got := Fit(text, 10, width)
		head, tail, cut := strings.Cut(got, "…")
		if Width(got, 10) > width+1e-6 || !cut && got != text && got != "" || cut && !strings.Contains(text, "…") && (!strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail)) {
			t.Fatalf("Fit(%q, %v) = %q, %v wide", text, width, got, Width(got, 10))
		}
	})
}

// Lines fit, and together are the text, unless a word is longer than a line.
func TestWrappedTextFits(t *testing.T) {
	several := 0
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z,·]{0,12}`), 1, 20).Draw(t, "words")
		text, width := strings.Join(words, " "), rapid.Float64Range(0, 400).Draw(t, "width")
		lines := Wrap(text, 10, width)
		longest := 0.0
		for _, word := range words {
			longest = max(longest, Width(word, 10))
		}
		for i, line := range lines {
			if Width(line, 10) > width+1e-6 {
				t.Fatalf("%q is %v wide, of %v", line, Width(line, 10), width)
			}
			if i > 0 && longest <= width && Width(lines[i-1]+" "+strings.Split(line, " ")[0], 10) <= width {
				t.Fatalf("%q ends too soon", lines[i-1])
			}
		}
		if got := strings.Join(lines, " "); longest <= width && got != text {
			t.Fatalf("%q became %q", text, lines)
		}
		several += min(len(lines)-1, 1)
	})
	if several == 0 {
		t.Error("never two lines")
	}
}

// Names of one picture do not meet those of another in the same page.
func TestPrefixBeginsAllNames(t *testing.T) {
	p := &Picture{Width: 10, Height: 10}
	p.Rect(0, 0, 5, 5, Style{Fill: Blue, Pattern: Rising, Ink: Text}, "")
	svg := string(p.SVG(SVGOptions{Prefix: "left"}))
	for _, name := range []string{`id="`, `class="`, "url(#", "\n."} {
		for _, rest := range strings.Split(svg, name)[1:] {
			if !strings.HasPrefix(rest, "left") {
				t.Errorf("%s%.20s", name, rest)
			}
		}
	}
}

// A dark ground has its own colours.
func TestDarkColours(t *testing.T) {
	p := &Picture{Width: 10, Height: 10}
	p.Rect(0, 0, 5, 5, Style{Fill: Pair(0xaa0000, 0x00bb00)}, "")
	light, dark, _ := strings.Cut(string(p.SVG(SVGOptions{})), "@media (prefers-color-scheme:dark)")
	if !strings.Contains(light, "#aa0000") || strings.Contains(dark, "#aa0000") || !strings.Contains(dark, "#00bb00") {
		t.Errorf("light:\n%s\ndark:\n%s", light, dark)
	}
}

// Points that change nothing are left out, and no others: a line that goes back, or is
// too short to be seen.
func TestStraightLinesHaveTwoPoints(t *testing.T) {
	for _, tt := range []struct{ points, want []Point }{
		{[]Point{{0, 0}, {1, 0}, {1, 0.001}, {3, 0}, {3, 2}, {3, 4}}, []Point{{0, 0}, {3, 0}, {3, 4}}},
		{[]Point{{0, 0}, {0, 5}, {0, 2}}, []Point{{0, 0}, {0, 5}, {0, 2}}},
		{[]Point{{0, 0}, {1, 1}, {2, 2}}, []Point{{0, 0}, {1, 1}, {2, 2}}},
		{[]Point{{1, 1}, {1, 1}}, nil},
		{nil, nil},
	} {
		var p Picture
		p.Line(Style{}, "", tt.points...)
		var got []Point
		for _, s := range p.Shapes {
			got = s.Points
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v is drawn through %v, want %v", tt.points, got, tt.want)
		}
	}
}
