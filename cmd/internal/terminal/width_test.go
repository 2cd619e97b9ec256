package terminal

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShortenKeepsBothEnds(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"short", 5, "short"},
		{"payments-worker-01", 9, "paym…r-01"},
		{"payments-worker-01", 8, "paym…-01"},
		{"payments-worker-01", 2, "p…"},
		{"payments-worker-01", 1, "…"},
		{"payments-worker-01", 0, ""},
		{"payments-worker-01", -1, ""},
		{"支付服务工作进程", 16, "支付服务工作进程"},
		{"支付服务工作进程", 9, "支付…进程"},
		{"支付服务工作进程", 8, "支付…程"}, // half a character does not fit
		{"e\u0301e\u0301e\u0301e\u0301", 3, "e\u0301…e\u0301"},
	} {
		if got := Shorten(test.text, test.width); got != test.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

func FuzzShortenedTextFits(f *testing.F) {
	f.Add("payments-worker-支付-👩‍👩‍👧-01", 9)
	f.Fuzz(func(t *testing.T, text string, width int) {
		text, width = Escape(text), width%200
		short, cut := Shorten(text, width), Cut(text, width)
		if Width(short) > max(width, 0) || Width(cut) > max(width, 0) {
			t.Errorf("Shorten(%q, %d) = %q, Cut = %q: wider than that", text, width, short, cut)
		}
		if !utf8.ValidString(short) || !strings.HasPrefix(text, strings.TrimSuffix(cut, ellipsis)) || Width(text) <= width && (short != text || cut != text) {
			t.Errorf("Shorten(%q, %d) = %q, Cut = %q", text, width, short, cut)
		}
	})
}

// A wide character takes two columns, a combining one none.
func TestAlignCountsColumnsOfTheTerminal(t *testing.T) {
	got := Align([][]string{{"NAME", "N", "END"}, {"支付", "1"}, {"e\u0301", "100", "x"}, {"", "", ""}}, 2)
	want := []string{"NAME  N    END", "支付  1", "e\u0301     100  x", ""}
	if !slices.Equal(got, want) {
		t.Errorf("Align: %q, want %q", got, want)
	}
}
