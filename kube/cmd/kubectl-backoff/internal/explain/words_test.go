package explain

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Texts from the cluster become one printable line of bounded length.
func TestTextsAreOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " a\n\tb  c ": "a b c", "\x1b[31mred": "\uFFFD[31mred", "\u202eabc": "\uFFFDabc", "ä…": "ä…", "a\xffb": "a\uFFFDb",
	} {
		if got := line(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, long := range []string{strings.Repeat("x", 10_000), strings.Repeat("x ", 10_000), strings.Repeat("xx ", 10_000)} {
		if n := utf8.RuneCountInString(line(long)); n < mostText || n > mostText+2 {
			t.Errorf("%d runes are left of %q…", n, long[:4])
		}
	}
}

// The message of a container may be the end of its log, whose last lines say most.
func TestEndings(t *testing.T) {
	log := strings.Repeat("watching\n", 100) + "F0709 leaderelection lost\n\n"
	if got := lastLine(log); got != "F0709 leaderelection lost" {
		t.Errorf("last line: %q", got)
	}
	if got := ending(log); !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, " watching F0709 leaderelection lost") || utf8.RuneCountInString(got) > mostText+1 {
		t.Errorf("ending: %q", got)
	}
	for _, text := range []string{"", "\n", "one line"} {
		if lastLine(text) != line(text) || ending(text) != line(text) {
			t.Errorf("%q: %q, %q", text, lastLine(text), ending(text))
		}
	}
}
