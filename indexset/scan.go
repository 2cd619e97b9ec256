package indexset

import "strings"

// scan reads a text in the strict form, fast. It does not say what is wrong
// with any other text.
//
// The form is chosen before: the last number is the largest, and there are at
// most as many runs as items. A text that says otherwise is wrong.
func scan(text string) (Set, bool) {
	s := scanner{text: text}
	items := maxItems(text)
	// A bitmap of more words than a quarter of the text's bytes would break the
	// promise on memory; it is only asked for by wrong texts, or tiny ones.
	if k := wordsFor(lastNumber(text)); k <= min(makeWords*items, len(text)/2) {
		s.words = make([]uint64, k)
	} else {
		s.runs = make([]run, 0, items)
	}
	switch {
	case !s.scan():
		return Set{}, false
	case s.words != nil:
		return ofWords(s.words, s.n), true
	}
	return ofRuns(s.runs), true
}

// lastNumber returns the number at the end of text; if there is none, anything.
func lastNumber(text string) uint32 {
	at := strings.LastIndexAny(text[max(len(text)-11, 0):], ",-")
	n, _ := readDigits(text[max(len(text)-11, 0)+at+1:])
	return n
}

// A scanner reads items into words, if there are any, or else into runs.
type scanner struct {
	text  string
	words []uint64
	runs  []run
	n     uint32 // members in words
}

// scan reads all items and reports whether they are in the strict form.
func (s *scanner) scan() bool {
	var (
		first   uint32 // of the range whose end comes next
		inRange bool
		least   uint32 // what the next number must be at least
		width   int    // of the number before
	)
	for at := 0; ; {
		i, after := number(s.text, at, width)
		if after == at || i < least {
			return false
		}
		width, least, at = after-at, i+1, after+1
		switch {
		case after == len(s.text):
			if !inRange {
				first = i
			}
			return s.add(run{first, i})
		case s.text[after] == '-' && !inRange:
			first, inRange = i, true
			continue
		case s.text[after] != ',':
			return false
		case inRange:
			inRange = false
		default:
			first = i
		}
		if !s.add(run{first, i}) {
			return false
		}
		switch {
		case first < i:
			at, least = s.ranges(at, width, i)
		case s.words != nil && width >= 2 && width <= longNumber:
			at, least = s.century(at, width, i)
		}
	}
}

// add adds r, which comes after all before it.
func (s *scanner) add(r run) bool {
	if s.words == nil {
		s.runs = appendRun(s.runs, r)
		return true
	}
	k, hi, m, tail := r.span()
	words := s.words
	if hi >= len(words) {
		return false
	}
	for ; k < hi; k++ {
		words[k] |= m
		m = ^uint64(0)
	}
	words[hi] |= m & tail
	s.n += r.len()
	return true
}

// A number and the separator behind it are looked at together in a word, which
// has the separator in its last byte. It is compared with what it is expected
// to look like by exclusive or, which leaves the values of digits.
const (
	longNumber = 7 // digits that fit such a word

	likeNumber = 0x2c30303030303030 // 0000000,
	overflow   = 0x0076767676767676 // sets the high bit of a byte above 9
	noNumber   = 0xfe80808080808080 // bits that a number followed by , or - leaves zero
)

// load returns the eight bytes of text before end, the first one lowest.
func load(text string, end int) uint64 {
	b := text[end-8 : end]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// lastBytes returns the bits of a loaded word that belong to a number of that
// width and the separator behind it.
func lastBytes(width int) uint64 { return ^uint64(0) << (56 - 8*uint(width)) }

// number reads the number at text[at:] and returns the offset behind it, which
// is at itself if there is none that the text form has. The number likely has
// as many digits as width says.
func number(text string, at, width int) (i uint32, after int) {
	n := uint64(0)
	after = at
	if low, end := min(width, longNumber), at+width; low > 0 && 8 <= end+1 && end < len(text) {
		x := (load(text, end+1) ^ likeNumber) & lastBytes(low)
		if (x+overflow|x)&noNumber == 0 {
			for after < end-low && text[after]-'0' <= 9 {
				n = n*10 + uint64(text[after]-'0')
				after++
			}
			if after == end-low {
				n, after = n*10000000+uint64(value(x)), end
			}
		}
	}
	// Usually nothing is left to read digit by digit.
	for ; after < len(text) && text[after]-'0' <= 9 && n <= MaxIndex; after++ {
		n = n*10 + uint64(text[after]-'0')
	}
	if n > MaxIndex || after > at+1 && text[at] == '0' {
		return 0, at
	}
	return uint32(n), after
}

// value returns the number in x, whose bytes but for the last one are digits.
func value(x uint64) uint32 {
	// Join digits to pairs, pairs to fours, fours to the number.
	x = x << 8 * 2561 >> 8 & 0x00ff00ff00ff00ff
	x = x * 6553601 >> 16 & 0x0000ffff0000ffff
	return uint32(x * 42949672960001 >> 32)
}

// ranges reads on from at while there are ranges of numbers that have as many
// digits as i, which stands before, with a comma behind; of long numbers, all
// but the last digits must be those of i, too. It returns where it stops and
// what the next number must be at least.
func (s *scanner) ranges(at, width int, i uint32) (next int, least uint32) {
	least = i + 1
	if at < 16 {
		return at, least
	}
	mine := lastBytes(min(width, longNumber))
	same, base := uint64(0), uint32(0)
	if width > longNumber {
		same, base = ^uint64(0)<<(64-8*(width-longNumber)), i-i%10000000
	}
	like := load(s.text, at-8)
	for {
		mid := at + width + 1
		e := mid + width + 1
		if e > len(s.text) {
			return at, least
		}
		x := (load(s.text, mid) ^ likeNumber ^ 1<<56) & mine // '-' is ','^1
		y := (load(s.text, e) ^ likeNumber) & mine
		wrong := (x + overflow | x | (y + overflow) | y) & (noNumber | 1<<56)
		if same != 0 {
			wrong |= ((load(s.text, mid-8) ^ like) | (load(s.text, e-8) ^ like)) & same // | and ^ bind alike
		}
		if wrong != 0 {
			return at, least
		}
		// If r ends above MaxIndex, no number behind the comma is large enough.
		r := run{base + value(x), base + value(y)}
		if r.first < least || r.last <= r.first || !s.add(r) {
			return at, least
		}
		at, least = e, r.last+1
	}
}

// century reads on from at while there are indexes that differ from i, which
// stands before, in the last two digits only. It returns where it stops and
// what the next number must be at least. Text that is not as expected is left
// to the caller.
func (s *scanner) century(at, width int, i uint32) (next int, least uint32) {
	step := width + 1
	e := at + step
	if e < 8+step || e > len(s.text) {
		return at, i + 1
	}
	text := s.text
	mine := lastBytes(width)
	like := load(text, at)&0x000000ffffffffff | 0x2c30300000000000
	mask := 0xff8080ffffffffff & mine
	base := uint64(i - i%100)
	prev := uint64(i)
	word, bits := prev/64, uint64(0)
	for e <= len(text) {
		x := load(text, e) ^ like
		if (x+0x0076760000000000|x)&mask != 0 {
			break
		}
		n := base + x>>40*2561>>8&0xff
		if n <= prev {
			break
		}
		if n/64 != word {
			s.words[word] |= bits
			word, bits = n/64, 0
			if word >= uint64(len(s.words)) {
				break
			}
		}
		bits |= 1 << (n % 64)
		prev = n
		e += step
	}
	if word < uint64(len(s.words)) {
		s.words[word] |= bits
	}
	s.n += uint32((e - step - at) / step)
	return e - step, uint32(prev) + 1
}
