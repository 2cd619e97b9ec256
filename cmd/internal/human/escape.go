// Package human writes text, times and numbers for people who read a terminal or a page.
package human

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes foreign text safe to print. The text then cannot control a terminal or
// imitate a line of the program. Characters for which Unsafe reports true are escaped as
// in a Go string literal, and so is invalid UTF-8.
func Escape(text string) string { return escape(text, false) }

// Line is like Escape for a line of another program's output. With colours, it keeps
// sequences that only set text attributes, such as ESC [ 1 ; 3 1 m, and resets them at
// the end.
func Line(text string, colours bool) string {
	text = escape(text, colours)
	if strings.Contains(text, "\x1b") {
		text += "\x1b[0m"
	}
	return text
}

// Excerpt returns the first most characters of foreign text, escaped as by Escape. An
// ellipsis stands for the rest.
func Excerpt(text string, most int) string {
	n := 0
	for i := range text {
		if n == most {
			return Escape(text[:i]) + "…"
		}
		n++
	}
	return Escape(text)
}

// Unsafe reports whether a character must not be printed as it is: control characters,
// characters that change the direction of writing or cannot be seen, and those that
// Unicode excludes from texts. Tabs are safe, and so are zero-width joiners, which many
// emoji and scripts such as Persian and Devanagari need.
func Unsafe(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d'
	if r == '\t' || r == zeroWidthNonJoiner || r == zeroWidthJoiner {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Noncharacter_Code_Point)
}

func escape(text string, colours bool) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, Unsafe) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		if n := colourSequence(text); colours && n > 0 {
			b.WriteString(text[:n])
			text = text[n:]
			continue
		}
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case !Unsafe(r):
			b.WriteString(text[:n])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[n:]
	}
	return b.String()
}

// colourSequence returns the length of the escape sequence for text attributes at the
// beginning of text, or 0.
func colourSequence(text string) int {
	rest, ok := strings.CutPrefix(text, "\x1b[")
	if !ok {
		return 0
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r != ';' && r != ':' && (r < '0' || r > '9') })
	if end < 0 || rest[end] != 'm' {
		return 0
	}
	return len("\x1b[") + end + 1
}
