package terminal

import (
	"testing"
	"unicode/utf8"
)

func TestEscapeLeavesNothingThatSteersATerminal(t *testing.T) {
	for _, test := range []struct{ text, want, colored string }{
		{"plain, größer\t✓ �", "plain, größer\t✓ �", "plain, größer\t✓ �"},
		{"a\nforged line\r", `a\nforged line\r`, `a\nforged line\r`},
		{"\x1b[2J\x1b]0;pwned\a", `\x1b[2J\x1b]0;pwned\x07`, `\x1b[2J\x1b]0;pwned\x07`},
		{"\x1b[1;31mred\x1b[m", `\x1b[1;31mred\x1b[m`, "\x1b[1;31mred\x1b[m"},
		{"\x1b[31", `\x1b[31`, `\x1b[31`},
		{"\xff\xfe\x00", `\xff\xfe\x00`, `\xff\xfe\x00`},
		{"\u009b2J", `\u009b2J`, `\u009b2J`},
		{"user\u202egpj.exe", `user\u202egpj.exe`, `user\u202egpj.exe`},
		{"tag\U000e0041", `tag\U000e0041`, `tag\U000e0041`},
	} {
		if got := Escape(test.text); got != test.want {
			t.Errorf("Escape(%q) = %q, want %q", test.text, got, test.want)
		}
		if got := EscapeKeepingColours(test.text); got != test.colored {
			t.Errorf("EscapeKeepingColours(%q) = %q, want %q", test.text, got, test.colored)
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
