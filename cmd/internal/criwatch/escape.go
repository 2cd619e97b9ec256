package criwatch

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// escape makes text of the runtime safe to print: it then cannot steer a terminal or
// imitate a line of this program. Characters that cannot be seen are escaped as in a Go
// string literal.
func escape(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case unicode.IsPrint(r):
			b.WriteString(text[:n])
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[n:]
	}
	return b.String()
}

// escapeJSON escapes, within strings of JSON, the characters that escape would replace
// and encoding/json keeps.
func escapeJSON(text []byte) []byte {
	seen := func(r rune) bool { return unicode.IsPrint(r) || r == '\n' } // line feeds are between values only
	if !bytes.ContainsFunc(text, func(r rune) bool { return !seen(r) }) {
		return text
	}
	var safe []byte
	for _, r := range string(text) {
		if seen(r) {
			safe = utf8.AppendRune(safe, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			safe = fmt.Appendf(safe, `\u%04x`, unit)
		}
	}
	return safe
}
