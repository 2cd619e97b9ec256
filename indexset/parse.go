package indexset

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A ParseError describes a malformed item. Find it by passing
// errors.As a pointer to a ParseError.
type ParseError struct {
	Offset int    // offset of the item, in bytes
	Text   string // the item, or its beginning if long
	Reason string // why the item is invalid

	cut bool // Text is only the beginning
}

// Error returns the item, offset and reason as a single line.
func (e ParseError) Error() string {
	more := ""
	if e.cut {
		more = "..."
	}
	return fmt.Sprintf("indexset: parse %q%s at byte %d: %s", e.Text, more, e.Offset, e.Reason)
}

// newParseError returns an error about the item at offset. It copies item, so the error
// does not keep the whole text in memory.
func newParseError(offset int, item, reason string) *ParseError {
	if reason == reasonDigit {
		at := strings.IndexFunc(item, func(c rune) bool { return c != '-' && (c < '0' || c > '9') })
		c, _ := utf8.DecodeRuneInString(item[at:])
		reason = fmt.Sprintf("%q %s", c, reason)
	}
	const longest = 48
	e := &ParseError{Offset: offset, Text: item, Reason: reason}
	if len(item) > longest {
		e.Text, e.cut = item[:longest], true
	}
	e.Text = strings.Clone(e.Text)
	return e
}

// Parse reads items separated by commas, each an index or a range first-last, in
// increasing order and without overlap. Empty text is the empty set. Parse accepts
// clear but longer text, such as 0-1 or 1,2,3; [Set.String] returns the
// canonical text.
//
// For any other text, Parse returns a [ParseError]. It rejects empty items, blanks,
// signs, leading zeros, numbers above MaxIndex, ranges of fewer than two indexes, and
// items out of order. The API server also accepts +1 and 01.
//
// The length of the text bounds work and memory. Parse allocates at most 8 bytes per
// byte of text plus a few hundred bytes, which Go's allocator rounds up by at most a
// quarter.
func Parse(text string) (Set, error) {
	if text == "" {
		return Set{}, nil
	}
	// In valid text the last number is the largest. With it, Parse can choose the
	// shorter form before it reads the items.
	var words []uint64
	var runs []run
	if k := wordsFor(lastNumber(text)); k <= maxItems(text) {
		words = make([]uint64, k)
	} else {
		runs = make([]run, 0, maxItems(text))
	}
	least := uint32(0) // the next item must start here or later
	for at := 0; ; at++ {
		r, end, ok := readRun(text, at)
		if !ok || r.first < least {
			item, _, _ := strings.Cut(text[at:], ",")
			reason := whyInvalid(item)
			if reason == "" {
				reason = reasonOrder
			}
			return Set{}, *newParseError(at, item, reason)
		}
		switch {
		case words == nil:
			runs = appendRun(runs, r)
		case int(r.last/64) >= len(words): // the last item will be out of order
		case r.first == r.last:
			words[r.last/64] |= 1 << (r.last % 64)
		default:
			fillRun(words, r)
		}
		least, at = r.last+1, end
		if at < len(text) {
			continue
		}
		if words != nil {
			return ofWords(words), nil
		}
		return ofRuns(runs), nil
	}
}

// lastNumber returns the number at the end of text, or any number if text ends
// otherwise.
func lastNumber(text string) uint32 {
	tail := text[max(len(text)-len("2147483647"), 0):]
	n, _ := readDigits(tail[strings.LastIndexAny(tail, ",-")+1:])
	return n
}

// readRun reads the item at text[at:], and accepts the same texts as Parse. end is the offset
// after the item, where a comma or the end of the text must follow.
func readRun(text string, at int) (r run, end int, ok bool) {
	first, end, ok := readNumber(text, at)
	last := first
	if ok && end < len(text) && text[end] == '-' {
		last, end, ok = readNumber(text, end+1)
		ok = ok && first < last
	}
	return run{first, last}, end, ok && (end == len(text) || text[end] == ',')
}

// readNumber reads the number at text[at:], without leading zeros, and returns the
// offset behind it.
func readNumber(text string, at int) (n uint32, end int, ok bool) {
	value := uint64(0) // may overflow, but only if the number is too long
	for end = at; end < len(text); end++ {
		digit := text[end] - '0'
		if digit > 9 {
			break
		}
		value = 10*value + uint64(digit)
	}
	const longest = len("2147483647")
	ok = end > at && end-at <= longest && value <= MaxIndex && (text[at] != '0' || end == at+1)
	return uint32(value), end, ok
}

// MustParse calls [Parse] and panics on error. It is intended for tests and constants.
func MustParse(text string) Set {
	s, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return s
}

// A Report counts the faults that [ParseLenient] tolerated.
type Report struct {
	Skipped   int // unreadable items
	Reordered int // items that did not come after all earlier items

	// First describes the first item skipped, reordered, or read without the text after
	// its second number (1-2-3), if any.
	First *ParseError
}

// ParseLenient reads as much as possible of a malformed status field. It merges items
// out of order, repeated or overlapping, skips unreadable items, and reports both.
// Like the Job controller, it accepts plus signs, leading zeros, ranges of one index,
// and items that continue after a second '-'. Unlike it, ParseLenient keeps every
// readable item, regardless of earlier ones. Use [Set.Clip] to remove indexes that a
// Job does not have.
//
// Work and memory are bounded as for [Parse]. Items out of order are also sorted, in time
// n log n.
func ParseLenient(text string) (Set, Report) {
	var report Report
	if text == "" {
		return Set{}, report
	}
	if s, err := Parse(text); err == nil {
		return s, report
	}
	runs := make([]run, 0, maxItems(text))
	highest := uint32(0)
	for offset, item := range items(text) {
		r, problem := readItemLenient(item)
		read := problem == ""
		switch {
		case !read:
			report.Skipped++
		case len(runs) > 0 && r.first <= highest:
			report.Reordered++
			problem = reasonOrder
		case strings.Count(item, "-") > 1:
			problem = reasonParts
		}
		if problem != "" && report.First == nil {
			report.First = newParseError(offset, item, problem)
		}
		if read {
			highest = max(highest, r.last)
			runs = append(runs, r)
		}
	}
	return ofRuns(joined(runs)), report
}

// maxItems returns the maximum number of readable items in text. Each of them has a
// digit.
func maxItems(text string) int {
	return min(strings.Count(text, ",")+1, len(text)/2+1)
}

// items yields the parts of text between commas with their offsets.
func items(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		for offset := 0; ; {
			item, _, more := strings.Cut(text[offset:], ",")
			if !yield(offset, item) || !more {
				return
			}
			offset += len(item) + 1
		}
	}
}

const (
	reasonEmpty   = "item is empty"
	reasonParts   = "more than one '-'"
	reasonNoFirst = "range has no start"
	reasonNoLast  = "range has no end"
	reasonReverse = "range ends before it starts"
	reasonOne     = "range holds one index only"
	reasonZeros   = "leading zero"
	reasonLarge   = "number above 2147483647"
	reasonDigit   = "is not a digit"
	reasonOrder   = "does not come after all items before it"
)

// whyInvalid returns why Parse rejects an item, or "" if it accepts it.
func whyInvalid(item string) (reason string) {
	if item == "" {
		return reasonEmpty
	}
	first, last, isRange := strings.Cut(item, "-")
	switch {
	case !isRange:
		return whyNoNumber(first)
	case strings.Contains(last, "-"):
		return reasonParts
	case first == "":
		return reasonNoFirst
	case last == "":
		return reasonNoLast
	}
	for _, number := range []string{first, last} {
		if reason := whyNoNumber(number); reason != "" {
			return reason
		}
	}
	from, _ := readDigits(first)
	switch to, _ := readDigits(last); {
	case to < from:
		return reasonReverse
	case to == from:
		return reasonOne
	}
	return ""
}

// whyNoNumber returns why a text is not a number without sign or leading zeros, "" if it
// is.
func whyNoNumber(s string) (reason string) {
	if _, reason = readDigits(s); reason == "" && len(s) > 1 && s[0] == '0' {
		return reasonZeros
	}
	return reason
}

// readDigits reads a number of one or more digits, including leading zeros.
func readDigits(s string) (n uint32, reason string) {
	value := uint64(0)
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, reasonDigit
		}
		value = min(10*value+uint64(c-'0'), MaxIndex+1)
	}
	if value > MaxIndex {
		return 0, reasonLarge
	}
	return uint32(value), ""
}

// readItemLenient reads an item as the Job controller does, but rejects reversed ranges
// and numbers above MaxIndex.
func readItemLenient(item string) (r run, reason string) {
	if item == "" {
		return run{}, reasonEmpty
	}
	first, last, isRange := strings.Cut(item, "-")
	if first == "" {
		return run{}, reasonNoFirst
	}
	if r.first, reason = readSigned(first); reason != "" {
		return run{}, reason
	}
	if !isRange {
		return run{r.first, r.first}, ""
	}
	last, _, _ = strings.Cut(last, "-")
	if last == "" {
		return run{}, reasonNoLast
	}
	if r.last, reason = readSigned(last); reason != "" {
		return run{}, reason
	}
	if r.last < r.first {
		return run{}, reasonReverse
	}
	return r, ""
}

// readSigned reads a number with an optional plus sign and leading zeros.
func readSigned(s string) (n uint32, reason string) {
	if digits, ok := strings.CutPrefix(s, "+"); ok && digits != "" {
		s = digits
	}
	return readDigits(s)
}
