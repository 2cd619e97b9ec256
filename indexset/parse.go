package indexset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A ParseError names an item of a text that is not in the text form, and the
// reason. It is a plain value, and errors.As finds it in an error; the zero value
// names no item. It is safe for concurrent use by multiple goroutines.
type ParseError struct {
	Offset int    // where the item starts, in bytes
	Text   string // the item; its beginning if it is long
	Reason string // what is wrong with it

	cut bool // Text is only the beginning
}

// Error returns where the item is, what it is and what is wrong with it, as one line.
func (e ParseError) Error() string {
	more := ""
	if e.cut {
		more = "..."
	}
	return fmt.Sprintf("indexset: parse %q%s at byte %d: %s", e.Text, more, e.Offset, e.Reason)
}

// newParseError returns the error about item, which is at offset. The error does
// not keep the text alive that item is part of.
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

// Parse reads the text form: items separated by commas, each an index or a
// range first-last, in increasing order and without overlap. The empty text is
// the empty set. Text that is not minimal but clear, such as 0-1 or 1,2,3, is
// read too; canonical text is what [Set.String] gives back unchanged.
//
// For any other text Parse returns a [ParseError]: empty items, blanks, signs,
// leading zeros, numbers above MaxIndex, ranges that hold fewer than two indexes,
// items out of order. The API server is a little more forgiving: it accepts +1
// and 01.
//
// The length of the text bounds work and memory, whatever it says: Parse allocates
// at most 8 bytes for each byte of it and a few hundred bytes besides, which Go's
// allocator rounds up by at most a quarter.
func Parse(text string) (Set, error) {
	if text == "" {
		return Set{}, nil
	}
	if s, ok := scan(text); ok {
		return s, nil
	}
	return readSlowly(text)
}

// readSlowly reads a text item by item, and says what is wrong with it and where.
// It is the plainer reader, so it decides about every text that scan refuses.
func readSlowly(text string) (Set, error) {
	runs := make([]run, 0, maxItems(text))
	least := uint32(0)
	for offset, item := range items(text) {
		r, reason := readItem(item)
		if reason == "" && r.first < least {
			reason = reasonOrder
		}
		if reason != "" {
			return Set{}, *newParseError(offset, item, reason)
		}
		runs, least = appendRun(runs, r), r.last+1
	}
	return ofRuns(runs), nil
}

// MustParse is [Parse] for tests and constants: it panics if there is an error.
func MustParse(text string) Set {
	s, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return s
}

// A Report counts what [ParseLenient] passed over. The zero value says that there
// was nothing to pass over. It is a plain value.
type Report struct {
	Skipped   int // items that could not be read
	Reordered int // items that did not come after all items before them

	// First is about the first item that was skipped, reordered, or read
	// without what follows its second number (1-2-3); nil if there was none.
	First *ParseError
}

// ParseLenient reads what can be read of a status field that another program wrote
// badly. It merges items that are out of order, repeat or overlap, skips items
// that cannot be read, and reports both. An item may have a plus sign or leading
// zeros, be a range of one index, or go on after a second '-', as the Job
// controller reads it. Unlike the Job controller, ParseLenient loses nothing that
// can be read, whatever stands before it. Use [Set.Clip] to leave out indexes
// that a Job does not have.
//
// The length of the text bounds work and memory as it does for [Parse], except
// that items out of order are sorted.
func ParseLenient(text string) (Set, Report) {
	var report Report
	if text == "" {
		return Set{}, report
	}
	if s, ok := scan(text); ok {
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
	if report.Reordered > 0 {
		slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.first, b.first) })
	}
	joined := runs[:0]
	for _, r := range runs {
		joined = appendRun(joined, r)
	}
	return ofRuns(joined), report
}

// maxItems returns how many items of text can be read at most. Each of them has a
// digit.
func maxItems(text string) int {
	return min(strings.Count(text, ",")+1, len(text)/2+1)
}

// items yields the parts of text between commas, each with its offset.
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

// readItem reads an item strictly; reason says why it cannot be read.
func readItem(item string) (r run, reason string) {
	if item == "" {
		return run{}, reasonEmpty
	}
	first, last, isRange := strings.Cut(item, "-")
	switch {
	case !isRange:
		r.first, reason = readNumber(first)
		return run{r.first, r.first}, reason
	case strings.Contains(last, "-"):
		return run{}, reasonParts
	case first == "":
		return run{}, reasonNoFirst
	case last == "":
		return run{}, reasonNoLast
	}
	if r.first, reason = readNumber(first); reason != "" {
		return run{}, reason
	}
	if r.last, reason = readNumber(last); reason != "" {
		return run{}, reason
	}
	switch {
	case r.last < r.first:
		return run{}, reasonReverse
	case r.last == r.first:
		return run{}, reasonOne
	}
	return r, ""
}

// readNumber reads a number without sign or leading zeros.
func readNumber(s string) (n uint32, reason string) {
	n, reason = readDigits(s)
	if reason == "" && len(s) > 1 && s[0] == '0' {
		return 0, reasonZeros
	}
	return n, reason
}

// readDigits reads a number of one or more digits, which may have leading zeros.
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

// readItemLenient reads an item as the Job controller does, except that a
// reversed range or a number above MaxIndex cannot be read.
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

// readSigned reads a number that may have a plus sign and leading zeros.
func readSigned(s string) (n uint32, reason string) {
	if digits, ok := strings.CutPrefix(s, "+"); ok && digits != "" {
		s = digits
	}
	return readDigits(s)
}
