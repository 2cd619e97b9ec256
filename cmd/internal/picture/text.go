package picture

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Family is the CSS font family of all labels.
const Family = `Arial,"Liberation Sans",sans-serif`

// BoldWidth is the width of bold letters relative to normal ones.
const BoldWidth = 1.15

// Width estimates the width of a label in pixels, rather too high than too low.
func Width(text string, size float64) float64 {
	width := 0.0
	for _, r := range text {
		width += runeWidth(r)
	}
	return width * size
}

// runeWidth returns the width of a character relative to the font size.
func runeWidth(r rune) float64 {
	switch {
	case r >= 0x1100: // Hangul, Chinese, Japanese, symbols
		return 1.05
	case strings.ContainsRune("iljtfrI.,:;'|!()[]{}/\\- ", r):
		return 0.38
	case strings.ContainsRune("mwMW@%", r):
		return 0.95
	case strings.ContainsRune("<>=+~", r):
		return 0.84
	case unicode.IsUpper(r):
		return 0.75
	}
	return 0.63
}

// Fit shortens text to at most width. It keeps the beginning and the end.
func Fit(text string, size, width float64) string {
	if Width(text, size) <= width {
		return text
	}
	left := (width - Width("…", size)) / 2
	if left <= 0 {
		return ""
	}
	head, tail := 0, len(text)
	for used := 0.0; head < tail; {
		r, n := utf8.DecodeRuneInString(text[head:])
		if used += runeWidth(r) * size; used > left {
			break
		}
		head += n
	}
	for used := 0.0; tail > head; {
		r, n := utf8.DecodeLastRuneInString(text[:tail])
		if used += runeWidth(r) * size; used > left {
			break
		}
		tail -= n
	}
	return text[:head] + "…" + text[tail:]
}

// Wrap breaks text into lines of at most width, at spaces other than no-break spaces.
// It shortens longer words.
func Wrap(text string, size, width float64) []string {
	var lines []string
	line := ""
	for i, word := range strings.Split(text, " ") {
		switch {
		case i == 0:
		case Width(line+" "+word, size) > width:
			lines, line = append(lines, line), ""
		default:
			line += " "
		}
		line = Fit(line+word, size, width)
	}
	return append(lines, line)
}
