package indexset

import (
	"fmt"
	"strings"
)

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

func (b *Builder) Valid() error { return b.valid() }

// A Form is a representation of a set; OwnForm is its own choice.
type Form int

const (
	OwnForm Form = iota
	WordsForm
	RunsForm
)

// As returns s in the form, regardless of memory. A set with too high a maximum for a
// bitmap is unchanged.
func (s Set) As(f Form) Set {
	var runs []run
	s.eachRun(func(r run) bool {
		runs = append(runs, r)
		return true
	})
	switch {
	case s.list == nil || f == WordsForm && s.max() > 1<<24:
		return s
	case f == WordsForm:
		words := make([]uint64, wordsFor(s.max()))
		return Set{words, &runList{n: fillRuns(words, runs)}}
	case f == RunsForm:
		return Set{list: newRunList(runs)}
	}
	return s
}

// Settled returns an error if s, the result of an operation, is in an expensive form: a
// bitmap of far more words than runs, or runs where a bitmap is due.
func (s Set) Settled() error {
	switch k := len(s.words); {
	case k > keepWords*(s.NumRanges()+1):
		return fmt.Errorf("%d words for %d runs", k, s.NumRanges())
	case s.runs() != nil && wordsFor(s.max()) <= makeWords*len(s.runs()) && wordsFor(s.max()) > keepWords:
		return fmt.Errorf("%d runs and no bitmap below %d", len(s.runs()), s.max())
	}
	return nil
}

// Scan and ReadSlowly are the two readers behind Parse.
func Scan(text string) (Set, bool) { return scan(text) }

func ReadSlowly(text string) (Set, error) { return readSlowly(text) }

// SharesList reports whether s and t are the same runs in memory.
func (s Set) SharesList(t Set) bool { return s.list == t.list }

// Saturate returns n as an index.
func Saturate(n uint64) int { return saturate(n) }

// Bitmap returns s as a bitmap.
func (s Set) Bitmap() Set {
	words := make([]uint64, wordsFor(s.max()))
	return Set{words, &runList{n: fillRuns(words, s.runs())}}
}

// Held returns the number of words and blocks of b.
func (b *Builder) Held() (words, blocks int) { return len(b.words), len(b.blocks) }

// IsBitmap reports whether b is a bitmap.
func (b *Builder) IsBitmap() bool { return b.words != nil }

// WordsBelow returns the number of words in a bitmap of the indexes up to last.
func WordsBelow(last int) int { return wordsFor(uint32(last)) }

// Fragmented returns every second index below n, the largest possible number of ranges.
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
