package human

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"plain: ä 日本 👩‍🚀\t":           "plain: ä 日本 👩‍🚀\t",
		"a\nb\r\x1b[2J\x00\x7f\u0085": `a\nb\r\x1b[2J\x00\x7f\u0085`,
		"\u202e\u2066\u2028\ufeff":    `\u202e\u2066\u2028\ufeff`,
		"\xff \ufffd \ufffe":          `\xff ` + "\ufffd" + ` \ufffe`,
		"\U000e0001":                  `\U000e0001`,
	} {
		if got := Escape(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// Of another program's lines only colours stay, and they end with the line.
func TestLine(t *testing.T) {
	const text = "\x1b[1;31mred\x1b[2J"
	if got, want := Line(text, true), "\x1b[1;31mred\\x1b[2J\x1b[0m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Line(text, false), `\x1b[1;31mred\x1b[2J`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestExcerpt(t *testing.T) {
	for text, want := range map[string]string{
		"abc": "abc", "abcd": "abc…", "äöü": "äöü", "äöüß": "äöü…", "a\nb": `a\nb`, "\xff\xff\xff\xff": `\xff\xff\xff…`, "": "",
	} {
		if got := Excerpt(text, 3); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// Escaped text has no unsafe character, is valid, and stays as it is when it is escaped
// again.
func FuzzEscape(f *testing.F) {
	for _, text := range []string{"plain", "\x00\x1b[2J\u202e", "\xff\xfe\ufffe", "a\nb\tc", "名前", "\x1b[31mred"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Escape(text)
		if strings.ContainsFunc(got, Unsafe) || !utf8.ValidString(got) || Escape(got) != got {
			t.Errorf("Escape(%q) = %q", text, got)
		}
	})
}

func TestDurations(t *testing.T) {
	for d, want := range map[time.Duration]struct{ rounded, exact string }{
		0:                              {"0s", "0s"},
		1500:                           {"2µs", "1.5µs"},
		1_441_832_736:                  {"1.44s", "1.441832736s"},
		9_998 * time.Millisecond:       {"10s", "9.998s"},
		12_345 * time.Millisecond:      {"12.3s", "12.345s"},
		60_400 * time.Millisecond:      {"1m", "1m0.4s"},
		-60_400 * time.Millisecond:     {"-1m0.4s", "-1m0.4s"},
		160 * time.Second:              {"2m40s", "2m40s"},
		5 * time.Minute:                {"5m", "5m"},
		time.Hour + 20*time.Second:     {"1h", "1h0m20s"},
		30*time.Hour + 140*time.Second: {"30h2m", "30h2m20s"},
	} {
		if got := Wait(d); got != want.rounded {
			t.Errorf("Wait(%v) = %s, want %s", d, got, want.rounded)
		}
		if got := Duration(d); got != want.exact {
			t.Errorf("Duration(%v) = %s, want %s", d, got, want.exact)
		}
	}
}

// A number has as many digits as tell it from its neighbours in a table.
func TestNumber(t *testing.T) {
	for n, want := range map[float64]string{
		0: "0", 7: "7", -7: "-7", 110: "110", 1_234_567: "1234567", 1e14: "100000000000000", 1e15: "1e+15",
		0.0333: "0.033", -0.0333: "-0.033", 0.1: "0.10", 2.5: "2.50", -2.5: "-2.50", 99.994: "99.99", 100.4: "100", 1234567.8: "1234568", 2.5e17: "2.5e+17",
	} {
		if got := Number(n); got != want {
			t.Errorf("%v: %s, want %s", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 indexes", 1: "1 index", 999: "999 indexes", 1000: "1,000 indexes", 1_234_567: "1,234,567 indexes"} {
		if got := Count(n, "index"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := Count(2, "pod"); got != "2 pods" {
		t.Error(got)
	}
}
