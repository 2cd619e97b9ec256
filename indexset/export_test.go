package indexset

import "strings"

// For tests from outside.
const (
	ReasonEmpty   = reasonEmpty
	ReasonLarge   = reasonLarge
	ReasonNoFirst = reasonNoFirst
	ReasonNoLast  = reasonNoLast
	ReasonOne     = reasonOne
	ReasonOrder   = reasonOrder
	ReasonParts   = reasonParts
	ReasonReverse = reasonReverse
	ReasonZeros   = reasonZeros
)

func (s Set) Valid() error { return s.valid() }

// IsBitmap reports whether s is stored as a bitmap.
func (s Set) IsBitmap() bool { return s.words != nil }

// Saturate returns n as an index.
func Saturate(n uint64) int { return saturate(n) }

// Fragmented returns every second index below n, the largest possible number of runs.
func Fragmented(n int) Set {
	var text strings.Builder
	for i := 0; i < n; i += 2 {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(Of(i).String())
	}
	return MustParse(text.String())
}

// FarApart returns a set of runs too sparse for a bitmap.
func FarApart() Set {
	var b Builder
	for i := range 1000 {
		b.AddRange(i*1000000, i*1000000+6000)
	}
	return b.Set()
}

// HeldBytes returns the bytes of the words or runs of s, with spare ones.
func (s Set) HeldBytes() int { return 8 * (cap(s.words) + cap(s.runs())) }

// Held returns the number of runs that b holds, joined or not.
func (b *Builder) Held() int { return len(b.runs) }
