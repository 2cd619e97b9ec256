package terminal

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEscapeLeavesNothingThatSteersATerminal(t *testing.T) {
	for _, test := range []struct{ text, want, colored string }{
		{"plain, größer\t✓ �", "plain, größer\t✓ �", "plain, größer\t✓ �"},
		{"a\nforged line\r", `a\nforged line\r`, `a\nforged line\r`},
		{"\x1b[2J\x1b]0;pwned\a", `\x1b[2J\x1b]0;pwned\x07`, `\x1b[2J\x1b]0;pwned\x07`},
		{"\x1b[1;31mred\x1b[m", `\x1b[1;31mred\x1b[m`, "\x1b[1;31mred\x1b[m\x1b[0m"},
		{"\x1b[31", `\x1b[31`, `\x1b[31`},
		{"\xff\xfe\x00", `\xff\xfe\x00`, `\xff\xfe\x00`},
		{"\u009b2J", `\u009b2J`, `\u009b2J`},
		{"user\u202egpj.exe", `user\u202egpj.exe`, `user\u202egpj.exe`},
		{"نمی\u200cخواهم 👩\u200d🚒", "نمی\u200cخواهم 👩\u200d🚒", "نمی\u200cخواهم 👩\u200d🚒"},
		{"tag\U000e0041", `tag\U000e0041`, `tag\U000e0041`},
	} {
		if got := Escape(test.text); got != test.want {
			t.Errorf("Escape(%q) = %q, want %q", test.text, got, test.want)
		}
		if got := EscapeLine(test.text, true); got != test.colored {
			t.Errorf("EscapeLine(%q) = %q, want %q", test.text, got, test.colored)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m\r\n\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := Escape(text)
		if !utf8.ValidString(got) || Escape(got) != got {
			t.Errorf("Escape(%q) = %q is not safe to print", text, got)
		}
		for _, r := range got {
			if r != '\t' && (r < 0x20 || r >= 0x7f && r < 0xa0) {
				t.Errorf("Escape(%q) = %q has the control character %U", text, got, r)
			}
		}
	})
}

func TestEscapedLinesStayLines(t *testing.T) {
	if got := EscapeLines("a\x1b\r\n\nb\n"); got != "a\\x1b\\r\n\nb\n" {
		t.Errorf("EscapeLines: %q", got)
	}
}

// A text in JSON means the same, and has none of the characters that Escape escapes.
func FuzzEscapedJSONMeansTheSame(f *testing.F) {
	f.Add("\x1b[31mred\x7f\u009b2J\u202egpj.exe \U000e0041 \ufffd\n")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?") // encoding/json replaces what is not
		written, err := json.MarshalIndent([]string{text}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		safe := EscapeJSON(written)
		var read []string
		if err := json.Unmarshal(safe, &read); err != nil || read[0] != text {
			t.Errorf("EscapeJSON(%s) = %s: %q, %v", written, safe, read, err)
		}
		if EscapeLines(string(safe)) != string(safe) {
			t.Errorf("EscapeJSON(%s) = %q is not safe to print", written, safe)
		}
	})
}
