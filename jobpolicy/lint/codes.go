package lint

import (
	"math"
	"slices"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// codeSpans is a set of exit codes as ascending spans that do not touch. It never
// contains 0, which rules ignore.
type codeSpans []codeSpan

// codeSpan holds the codes from first to last.
type codeSpan struct{ first, last int32 }

func allCodes() codeSpans { return codesNotIn(nil) }

// codesOf returns the codes that meet the requirement.
func codesOf(o *batch.OnExitCodes) codeSpans {
	switch o.Operator {
	case batch.OpIn:
		return codesIn(o.Values)
	case batch.OpNotIn:
		return codesNotIn(o.Values)
	}
	return nil
}

// otherCodes returns the codes that do not meet the requirement.
func otherCodes(o *batch.OnExitCodes) codeSpans {
	switch o.Operator {
	case batch.OpIn:
		return codesNotIn(o.Values)
	case batch.OpNotIn:
		return codesIn(o.Values)
	}
	return allCodes()
}

func codesIn(values []int32) (s codeSpans) {
	for _, v := range slices.Sorted(slices.Values(values)) {
		switch n := len(s); {
		case v == 0:
		case n > 0 && int64(v) <= int64(s[n-1].last)+1:
			s[n-1].last = v
		default:
			s = append(s, codeSpan{v, v})
		}
	}
	return s
}

func codesNotIn(values []int32) (s codeSpans) {
	next := int64(math.MinInt32)
	for _, v := range slices.Sorted(slices.Values(append([]int32{0}, values...))) {
		if int64(v) > next {
			s = append(s, codeSpan{int32(next), v - 1})
		}
		next = int64(v) + 1
	}
	if next <= math.MaxInt32 {
		s = append(s, codeSpan{int32(next), math.MaxInt32})
	}
	return s
}

// and returns the codes in both sets.
func (s codeSpans) and(t codeSpans) (both codeSpans) {
	for i, k := 0, 0; i < len(s) && k < len(t); {
		if first, last := max(s[i].first, t[k].first), min(s[i].last, t[k].last); first <= last {
			both = append(both, codeSpan{first, last})
		}
		if s[i].last < t[k].last {
			i++
		} else {
			k++
		}
	}
	return both
}

func (s codeSpans) has(v int32) bool {
	_, found := slices.BinarySearchFunc(s, v, func(r codeSpan, v int32) int {
		switch {
		case r.last < v:
			return -1
		case r.first > v:
			return 1
		}
		return 0
	})
	return found
}
