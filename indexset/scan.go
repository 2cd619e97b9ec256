package indexset

import "strings"

// scan reads text in the strict form, fast. For any other text it returns false without
// a reason.
//
// It chooses the representation before reading. The last number must be the largest,
// and the number of runs cannot exceed the number of items.
func scan(text string) (Set, bool) {
	s := scanner{text: text}
	items := maxItems(text)
	// Only invalid and tiny texts ask for a bitmap with more words than half of the
	// text's bytes. Such a bitmap would exceed the documented bound on memory.
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

// lastNumber returns the number at the end of text, or any number if text ends
// otherwise.
func lastNumber(text string) uint32 {
	at := strings.LastIndexAny(text[max(len(text)-11, 0):], ",-")
	n, _ := readDigits(text[max(len(text)-11, 0)+at+1:])
	return n
}

// A scanner reads items into words if not nil, and otherwise into runs.
type scanner struct {
	text  string
	words []uint64
	runs  []run
	n     uint32 // members in words
}

// scan reads all items and reports whether they are in the strict form. Numbers
// increase, so nearly all have as many digits as the number before them. sameWidth
// reads those; scan reads the first few and the last item.
func (s *scanner) scan() bool {
	for at, least := 0, uint32(0); ; {
		first, after := number(s.text, at)
		last, ok := first, after > at && first >= least
		if ok && after < len(s.text) && s.text[after] == '-' {
			at = after + 1
			last, after = number(s.text, at)
			ok = after > at && last > first
		}
		switch {
		case !ok || !s.add(run{first, last}):
			return false
		case after == len(s.text):
			return true
		case s.text[after] != ',':
			return false
		}
		at, least = s.sameWidth(after+1, after-at, last+1)
	}
}

// add adds r, which follows all runs added before, and reports whether it fits.
func (s *scanner) add(r run) bool {
	if s.words == nil {
		s.runs = appendRun(s.runs, r)
		return true
	}
	k, hi, m, tail := r.span()
	if hi >= len(s.words) {
		return false
	}
	for ; k < hi; k++ {
		s.words[k] |= m
		m = ^uint64(0)
	}
	s.words[k] |= m & tail
	s.n += r.len()
	return true
}

// number reads the number at text[at:], digit by digit, and returns the offset behind
// it. Without a number in the strict form, that offset is not above at.
func number(text string, at int) (i uint32, after int) {
	n := uint64(0)
	for after = at; after < len(text) && text[after]-'0' <= 9 && n <= MaxIndex; after++ {
		n = n*10 + uint64(text[after]-'0')
	}
	if n > MaxIndex || after > at+1 && text[at] == '0' {
		return 0, 0
	}
	return uint32(n), after
}

// sameWidth reads items from at on while their numbers have width digits and a comma
// follows. The first number must be at least least, which is above a number of that
// width. Leading zeros make a number too small and so need no check. sameWidth returns
// the offset of the first unread item and the minimum of its number.
func (s *scanner) sameWidth(at, width int, least uint32) (next int, nextLeast uint32) {
	if at < loaded {
		return at, least
	}
	r := numberReader{
		headMask: ^uint64(0) << (64 - 8*max(width-4, 0)),
		tailMask: ^uint32(0) << (32 - 8*min(width, 4)),
	}
	text, words := s.text, s.words
	n := uint32(0)
	for end := at + width; end < len(text); end += width + 1 {
		b := text[end-loaded : end+1]
		if head := load64(b) & r.headMask; head != r.head && !r.readHead(head) {
			break
		}
		tail, wrong := readTail(b[8:], r.tailMask)
		first := r.base + tail
		if wrong || first < least {
			break
		}
		if b[loaded] == ',' && int(first/64) < len(words) {
			words[first/64] |= 1 << (first % 64)
			n++
			at, least = end+1, first+1
			continue
		}
		last := first
		if b[loaded] == '-' && end+width+1 < len(text) {
			end += width + 1
			b = text[end-loaded : end+1]
			if head := load64(b) & r.headMask; head != r.head && !r.readHead(head) {
				break
			}
			tail, wrong := readTail(b[8:], r.tailMask)
			if last = r.base + tail; wrong || last <= first {
				break
			}
		}
		if b[loaded] != ',' || !s.add(run{first, last}) {
			break
		}
		at, least = end+1, last+1
	}
	s.n += n
	return at, least
}

// A numberReader reads numbers of equal width. It reads the last four digits, the tail,
// in one step, and the digits before them, the head, only if they differ from those of
// the previous number.
type numberReader struct {
	headMask uint64 // bytes of the head among the eight before the tail
	tailMask uint32 // bytes of the tail among the last four
	head     uint64 // head of the previous number
	base     uint32 // value of a number with that head and the tail 0000
}

// loaded is the number of bytes read before the end of a number, whether they belong to
// the number or not.
const loaded = 8 + 4

// readHead makes head that of the following numbers. It reports whether head consists
// of digits and no number with it is above MaxIndex.
func (r *numberReader) readHead(head uint64) bool {
	x := (head ^ '0'*0x0101010101010101) & r.headMask
	if (x+0x7676767676767676|x)&0x8080808080808080 != 0 {
		return false
	}
	value := fourDigits(uint32(x))*10000 + fourDigits(uint32(x>>32))
	r.head, r.base = head, value*10000
	return value < MaxIndex/10000
}

// readTail reads a tail and reports whether a byte is not a digit. As in readHead,
// exclusive or leaves the value of a digit, and adding 0x76 sets the highest bit of a
// byte above 9.
func readTail(text string, mask uint32) (value uint32, wrong bool) {
	x := (load32(text) ^ '0'*0x01010101) & mask
	return fourDigits(x), (x+0x76767676|x)&0x80808080 != 0
}

// fourDigits returns the number whose digits are the bytes of x, lowest byte first. One
// multiplication joins the digits to two pairs, the other joins the pairs.
func fourDigits(x uint32) uint32 { return (x * 2561 >> 8 & 0x00ff00ff) * 6553601 >> 16 }

// load32 returns the first four bytes of text, lowest byte first.
func load32(text string) uint32 {
	return uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | uint32(text[3])<<24
}

// load64 returns the first eight bytes of text, lowest byte first.
func load64(text string) uint64 {
	return uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 |
		uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
}
