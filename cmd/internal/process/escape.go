package process

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes foreign text safe to print. The text then cannot control a terminal or
// imitate a line of the program. Control characters, characters that change the
// direction of writing, and invalid UTF-8 are escaped as in a Go string literal. Tabs
// and zero-width joiners stay.
func Escape(text string) string { return escape(text, false) }

func escape(text string, colours bool) string {
	if !strings.ContainsFunc(text, unsafeRune) {
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
		case !unsafeRune(r):
			b.WriteString(text[:n])
		case r == utf8.RuneError && n == 3: // U+FFFD itself, in valid UTF-8
			b.WriteString(text[:n])
		case r == utf8.RuneError:
			fmt.Fprintf(&b, `\x%02x`, text[0])
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

// Zero-width characters needed by many emoji and by scripts such as Persian and
// Devanagari.
const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
)

// unsafeRune reports whether a character may need an escape.
func unsafeRune(r rune) bool {
	return r != '\t' && r != zeroWidthJoiner && r != zeroWidthNonJoiner && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError || r == '\u2028' || r == '\u2029')
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

// escapeLine is like Escape for a line of another program's output. With colours, it
// keeps sequences that only set text attributes, such as ESC [ 1 ; 3 1 m, and resets
// them at the end.
func escapeLine(text string, colours bool) string {
	text = escape(text, colours)
	if strings.Contains(text, "\x1b") {
		text += "\x1b[0m"
	}
	return text
}
