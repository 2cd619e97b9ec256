package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
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
		clean := Clean(text, 1000)
		for _, r := range clean {
			if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("Clean(%q) = %q", text, clean)
			}
		}
		p := &Picture{Width: 100, Height: 50, Title: clean, Desc: text}
		p.Text(1, 2, Style{Fill: Text, Size: 10}, clean)
		p.Rect(0, 0, 5, 5, Style{Fill: Blue}, "x"+clean)
		svg := p.SVG(SVGOptions{Dark: true})
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

func TestCleanTextIsBounded(t *testing.T) {
	for text, want := range map[string]string{
		"abc": "abc", "abcd": "abc…", "äöü": "äöü", "a\nb": `a\nb`, "\x1b": `\x1b`, "\xff": `\xff`, "\u202e": `\u202e`, "\ufffd": "\ufffd",
	} {
		if got := Clean(text, 3); got != want {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
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

// A dark ground has its own colours, for those who want it.
func TestDarkColoursAreOptional(t *testing.T) {
	p := &Picture{Width: 10, Height: 10}
	p.Rect(0, 0, 5, 5, Style{Fill: Pair(0xaa0000, 0x00bb00)}, "")
	for dark, want := range map[bool]int{false: 0, true: 1} {
		svg := string(p.SVG(SVGOptions{Dark: dark}))
		if strings.Count(svg, "#aa0000") != 1 || strings.Count(svg, "#00bb00") != want {
			t.Errorf("dark %v:\n%s", dark, svg)
		}
	}
}

// A number has as many digits as tell it from its neighbours in a table.
func TestNumberShowsWhatCounts(t *testing.T) {
	for n, want := range map[float64]string{
		0: "0", 7: "7", -7: "-7", 110: "110", 1_234_567: "1234567", 1e14: "100000000000000", 1e15: "1e+15",
		0.0333: "0.033", -0.0333: "-0.033", 0.1: "0.10", 2.5: "2.50", -2.5: "-2.50", 99.994: "99.99", 100.4: "100", 1234567.8: "1234568", 2.5e17: "2.5e+17",
	} {
		if got := Number(n); got != want {
			t.Errorf("%v: %s, want %s", n, got, want)
		}
	}
}

func TestShortDurationsHaveNoZeroParts(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 90 * time.Second: "1m30s", 5 * time.Minute: "5m", time.Hour: "1h", time.Hour + 20*time.Second: "1h0m20s", 30 * time.Hour: "30h", 100 * time.Millisecond: "100ms",
	} {
		if got := Duration(d); got != want {
			t.Errorf("picture.Duration(%v) = %q, want %q", d, got, want)
		}
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
