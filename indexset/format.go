package indexset

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
)

// String returns the canonical text of s, which is empty for the empty set. It
// allocates once.
func (s Set) String() string {
	var b strings.Builder
	b.Grow(s.EncodedLen())
	var piece [2 * room]byte
	for p := (printer{Set: s, base: end}); ; {
		n := p.print(piece[:])
		if n == 0 {
			return b.String()
		}
		b.Write(piece[:n])
	}
}

// AppendText appends the canonical text of s to b. It implements
// [encoding.TextAppender]; the error is always nil.
func (s Set) AppendText(b []byte) ([]byte, error) {
	at, size := len(b), s.EncodedLen()
	b = slices.Grow(b, size)[:at+size]
	p := printer{Set: s, base: end}
	at += p.print(b[at:])
	// Near the end, b has no room to print in place.
	var piece [2 * room]byte
	for at < len(b) {
		at += copy(b[at:], piece[:p.print(piece[:])])
	}
	return b, nil
}

// MarshalText returns the canonical text of s. It implements
// [encoding.TextMarshaler]; the error is always nil.
func (s Set) MarshalText() ([]byte, error) { return s.AppendText(nil) }

// UnmarshalText sets s to the result of [Parse], and leaves s unchanged if b is
// invalid. It implements [encoding.TextUnmarshaler].
func (s *Set) UnmarshalText(b []byte) error {
	t, err := Parse(string(b))
	if err != nil {
		return err
	}
	*s = t
	return nil
}

// EncodedLen returns len(s.String()) without building the text, in O(r+w). It saturates
// like [Set.Len].
func (s Set) EncodedLen() int {
	n := uint64(0) // with a separator after every number
	width, next := uint64(1), uint64(10)
	add := func(i uint64) {
		for i >= next {
			width, next = width+1, 10*next
		}
		n += width + 1
	}
	for k := range s.words {
		numbers, _ := printedIn(s.words, k)
		if uint64(64*k+63) < next {
			n += uint64(bits.OnesCount64(numbers)) * (width + 1)
			continue
		}
		for ; numbers != 0; numbers &= numbers - 1 {
			add(uint64(64*k + bits.TrailingZeros64(numbers)))
		}
	}
	for _, r := range s.runs() {
		add(uint64(r.first))
		if r.first < r.last {
			add(uint64(r.last))
		}
	}
	return saturate(max(n, 1) - 1)
}

// printedIn returns the printed members of word k, which are the ends of runs, and
// those of them followed by '-', which precede an unprinted member.
func printedIn(words []uint64, k int) (numbers, dashes uint64) {
	w := words[k]
	lower, upper := w<<1, w>>1
	follows := false // the first two indexes of the next word are members
	if k > 0 {
		lower |= words[k-1] >> 63
	}
	if k+1 < len(words) {
		upper |= words[k+1] << 63
		follows = words[k+1]&3 == 3
	}
	within := w & lower & upper
	numbers = w &^ within
	dashes = numbers & (within >> 1)
	if follows {
		dashes |= numbers & (1 << 63)
	}
	return numbers, dashes
}

// room is the number of bytes a printer needs for the numbers of a word with
// separators, and for overwriting bytes behind them.
const room = 64*len("2147483647,") + 24

// A printer prints a set piece by piece. It computes the digits before the last two
// only once per century.
type printer struct {
	Set
	at int // next word or run to print

	base   uint32 // the first number of a century, a multiple of 100; or end
	prefix uint64 // its digits without the last two, first digit in the lowest byte
	width  int    // number of digits in prefix
}

// print prints as much as fits in b and returns the number of bytes, or 0 after the
// last piece.
func (p *printer) print(b []byte) (n int) {
	if p.words != nil {
		return p.printWords(b)
	}
	for runs := p.runs(); p.at < len(runs) && n <= len(b)-room; {
		r := runs[p.at]
		p.at++
		if r.first < r.last {
			sep := byte(',')
			if r.first+1 < r.last {
				sep = '-'
			}
			n = p.put(b, n, r.first, sep)
		}
		n = p.put(b, n, r.last, ',')
		if p.at == len(runs) {
			n-- // drop the separator behind the last number
		}
	}
	return n
}

func (p *printer) printWords(b []byte) (n int) {
	for ; p.at < len(p.words) && n <= len(b)-room; p.at++ {
		first := uint32(64 * p.at)
		for numbers, dashes := printedIn(p.words, p.at); numbers != 0; {
			bit := bits.TrailingZeros64(numbers)
			i := first + uint32(bit)
			if i < 10 || i > maxShort {
				n = p.put(b, n, i, ','+byte(dashes>>bit&1)) // '-' is ','+1
				numbers &= numbers - 1
				continue
			}
			if i-p.base >= 100 {
				p.setCentury(i)
			}
			n, numbers = p.putShort(b, n, first-p.base, numbers, dashes)
		}
		if p.at == len(p.words)-1 {
			n-- // drop the separator behind the last number
		}
	}
	return n
}

// maxShort is the largest number that fits a word together with a separator.
const maxShort = 9999999

// putShort prints numbers of the present century at b[n:], where bit k of numbers
// stands for the number ending with first+k. It stops at a number of another century,
// and returns the offset behind the printed numbers and the remaining numbers.
func (p *printer) putShort(b []byte, n int, first uint32, numbers, dashes uint64) (int, uint64) {
	prefix, shift, step := p.prefix, 8*uint(p.width), p.width+3
	for ; numbers != 0; numbers &= numbers - 1 {
		bit := bits.TrailingZeros64(numbers)
		last := uint(first + uint32(bit))
		if last >= 100 {
			break
		}
		x := twoDigits(last) + dashes>>(bit&63)&1<<16
		binary.LittleEndian.PutUint64(b[n:n+8:n+8], prefix|x<<(shift&63))
		n += step
	}
	return n, numbers
}

// put prints any number and a separator at b[n:] and returns the offset behind them.
func (p *printer) put(b []byte, n int, i uint32, sep byte) int {
	if i < 10 {
		b[n], b[n+1] = '0'+byte(i), sep
		return n + 2
	}
	if i-p.base >= 100 {
		p.setCentury(i)
	}
	binary.LittleEndian.PutUint64(b[n:], p.prefix)
	n += p.width
	binary.LittleEndian.PutUint32(b[n:], uint32(twoDigits(uint(i-p.base))))
	b[n+2] = sep
	return n + 3
}

// setCentury switches to the century of i, most often the next one.
func (p *printer) setCentury(i uint32) {
	if shift := 8 * uint(p.width-1); p.width > 0 && i-p.base < 200 && p.prefix>>shift != '9' {
		p.base += 100
		p.prefix += 1 << shift
		return
	}
	century := uint64(i / 100)
	p.base = 100 * uint32(century)
	// Split the number into groups of four digits, those into pairs, and those into
	// digits, all side by side in a word.
	x := century/10000 | century%10000<<32
	hundreds := x * 10486 >> 20 & 0x0000007f0000007f
	x = hundreds | (x-100*hundreds)<<16
	tens := x * 103 >> 10 & 0x000f000f000f000f
	x = tens | (x-10*tens)<<8
	zeros := bits.TrailingZeros64(x) / 8 // 8 if i has no digits before the last two
	p.width = 8 - zeros
	p.prefix = (x | 0x3030303030303030) >> (8 * zeros)
}

// twoDigits returns the two digits of i < 100 and a comma, first digit in the lowest
// byte. Ignore the fourth byte.
func twoDigits(i uint) uint64 {
	const digits = "" +
		"00, 01, 02, 03, 04, 05, 06, 07, 08, 09, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, " +
		"20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, " +
		"40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, " +
		"60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, " +
		"80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, "
	d := digits[4*i : 4*i+4]
	return uint64(d[0]) | uint64(d[1])<<8 | uint64(d[2])<<16 | uint64(d[3])<<24
}
