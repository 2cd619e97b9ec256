package bench

import (
	"slices"
	"strconv"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/restartkit/restart/indexset"
)

// upstreamSet does what the Job controller does with its lists of indexes, in the same
// way. It holds sorted intervals of two ints, parses them with strings.Split and
// strconv.Atoi, merges a sorted batch into a new slice, and formats with strings.Builder
// and strconv.Itoa. Do not make it faster.
type upstreamSet []upstreamInterval

type upstreamInterval struct{ first, last int }

func upstreamParse(text string) upstreamSet {
	var out upstreamSet
	if text == "" {
		return out
	}
	add := out.adder()
	items := strings.Split(text, ",") // a slice of all items, as upstream makes it
	for i := range items {
		item := items[i]
		limits := strings.Split(item, "-")
		first, err := strconv.Atoi(limits[0])
		if err != nil {
			continue
		}
		last := first
		if len(limits) > 1 {
			if last, err = strconv.Atoi(limits[1]); err != nil {
				continue
			}
		}
		add(upstreamInterval{first, last})
	}
	return out
}

// adder returns a function that adds intervals in order of their start to s, joining
// them with the last one where possible.
func (s *upstreamSet) adder() func(i upstreamInterval) {
	var last *upstreamInterval
	return func(i upstreamInterval) {
		switch {
		case last == nil || i.first > last.last+1:
			*s = append(*s, i)
			last = &(*s)[len(*s)-1]
		case i.last > last.last:
			last.last = i.last
		}
	}
}

func (s upstreamSet) text() string {
	var b strings.Builder
	for _, i := range s {
		if b.Len() > 0 {
			b.WriteRune(',')
		}
		b.WriteString(strconv.Itoa(i.first))
		if i.last > i.first {
			if i.last == i.first+1 {
				b.WriteRune(',')
			} else {
				b.WriteRune('-')
			}
			b.WriteString(strconv.Itoa(i.last))
		}
	}
	return b.String()
}

func (s upstreamSet) contains(index int) bool {
	lo, hi := 0, len(s)
	for lo < hi {
		mid := lo + (hi-lo)/2
		if s[mid].last >= index {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo < len(s) && s[lo].first <= index
}

func (s upstreamSet) union(o upstreamSet) upstreamSet {
	var out upstreamSet
	add := out.adder()
	i, k := 0, 0
	for i < len(s) && k < len(o) {
		if s[i].first < o[k].first {
			add(s[i])
			i++
		} else {
			add(o[k])
			k++
		}
	}
	for ; i < len(s); i++ {
		add(s[i])
	}
	for ; k < len(o); k++ {
		add(o[k])
	}
	return out
}

func (s upstreamSet) intersect(o upstreamSet) upstreamSet {
	var out upstreamSet
	for i, k := 0, 0; i < len(s) && k < len(o); {
		if both := (upstreamInterval{max(s[i].first, o[k].first), min(s[i].last, o[k].last)}); both.first <= both.last {
			out = append(out, both)
		}
		if s[i].last < o[k].last {
			i++
		} else {
			k++
		}
	}
	return out
}

func (s upstreamSet) minus(o upstreamSet) upstreamSet {
	var out upstreamSet
	k := 0
	for _, i := range s {
		for k < len(o) && o[k].last < i.first {
			k++
		}
		for m := k; m < len(o) && o[m].first <= i.last; m++ {
			if o[m].first > i.first {
				out = append(out, upstreamInterval{i.first, o[m].first - 1})
			}
			i.first = o[m].last + 1
		}
		if i.first <= i.last {
			out = append(out, i)
		}
	}
	return out
}

// with merges a batch in any order.
func (s upstreamSet) with(batch ...int) upstreamSet {
	batch = slices.Sorted(slices.Values(batch))
	added := make(upstreamSet, len(batch))
	for k, index := range batch {
		added[k] = upstreamInterval{index, index}
	}
	return s.union(added)
}

// absent returns the first n indexes below limit missing from s.
func (s upstreamSet) absent(n, limit int) []int {
	out := make([]int, 0, n)
	next := 0
	for _, i := range s {
		for ; next < limit && len(out) < n && next < i.first; next++ {
			out = append(out, next)
		}
		next = max(next, i.last+1)
	}
	for ; next < limit && len(out) < n; next++ {
		out = append(out, next)
	}
	return out
}

// nextItem parses the first item of an index text for roaring, which has no text form,
// and returns the remaining text. Like most programs, it relies on the standard library
// and its errors. more is false after the last item.
func nextItem(text string) (first, last uint64, rest string, more bool) {
	item, rest, more := strings.Cut(text, ",")
	from, to, isRange := strings.Cut(item, "-")
	first = must(strconv.ParseUint(from, 10, 31))
	last = first
	if isRange {
		last = must(strconv.ParseUint(to, 10, 31))
	}
	return first, last, rest, more
}

func roaringParse(text string) *roaring.Bitmap {
	set := roaring.New()
	for more := true; more; {
		var first, last uint64
		if first, last, text, more = nextItem(text); first == last {
			set.Add(uint32(first))
		} else {
			set.AddRange(first, last+1)
		}
	}
	return set
}

// appendInterval appends the text of a run from first to last.
func appendInterval(b []byte, first, last uint64) []byte {
	if len(b) > 0 {
		b = append(b, ',')
	}
	b = strconv.AppendUint(b, first, 10)
	if last > first {
		if last == first+1 {
			b = append(b, ',')
		} else {
			b = append(b, '-')
		}
		b = strconv.AppendUint(b, last, 10)
	}
	return b
}

func roaringText(set *roaring.Bitmap, b []byte) []byte {
	var first, last uint32
	open := false
	var buffer [256]uint32
	for members := set.ManyIterator(); ; {
		n := members.NextMany(buffer[:])
		if n == 0 {
			break
		}
		for _, index := range buffer[:n] {
			switch {
			case !open:
				first, last, open = index, index, true
			case index == last+1:
				last = index
			default:
				b = appendInterval(b, uint64(first), uint64(last))
				first, last = index, index
			}
		}
	}
	if open {
		b = appendInterval(b, uint64(first), uint64(last))
	}
	return b
}

// roaringOf returns roaring's copy of s. Members are added one by one, so roaring uses
// bitmaps and arrays, as it does without RunOptimize.
func roaringOf(s indexset.Set) *roaring.Bitmap {
	set := roaring.New()
	for index := range s.All() {
		set.Add(uint32(index))
	}
	return set
}
