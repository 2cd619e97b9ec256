package picture

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
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

// Clean returns foreign text cut to limit characters. It escapes control characters and
// those that change the direction of writing, as in a Go string literal.
func Clean(text string, limit int) string {
	var b strings.Builder
	n := 0
	for i, r := range text {
		if n++; n > limit {
			b.WriteString("…")
			break
		}
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[i])|0x100, 16)[1:])
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// Duration formats a duration without zero parts, such as 5m for 5m0s.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Number formats a count or rate, with decimals if small and not whole.
func Number(n float64) string {
	switch {
	case math.Abs(n) >= 1e15:
		return fmt.Sprintf("%.3g", n)
	case n == math.Trunc(n):
		return fmt.Sprintf("%.0f", n)
	case math.Abs(n) < 0.1:
		return fmt.Sprintf("%.2g", n)
	case math.Abs(n) < 100:
		return fmt.Sprintf("%.2f", n)
	}
	return fmt.Sprintf("%.0f", n)
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
