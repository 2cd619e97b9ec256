package indexset_test

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/restartkit/restart/indexset"
)

// The rules of the text form, in simple code: ours, strict and lenient, and those of
// Kubernetes 1.36.3. Numbers are int64, as in Kubernetes.

// A span is an interval as written in a text, possibly reversed.
type span struct{ first, last int64 }

func readInt(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return math.MaxInt64 // the callers' limits are all below
	}
	return n
}

var strictItem = regexp.MustCompile(`^(0|[1-9][0-9]*)(-(0|[1-9][0-9]*))?$`)

// strictByRule reads text by our strict rules.
func strictByRule(text string) (spans []span, ok bool) {
	if text == "" {
		return nil, true
	}
	before := int64(-1)
	for item := range strings.SplitSeq(text, ",") {
		m := strictItem.FindStringSubmatch(item)
		if m == nil {
			return nil, false
		}
		s := span{readInt(m[1]), readInt(m[1])}
		if m[2] != "" {
			if s.last = readInt(m[3]); s.last <= s.first {
				return nil, false
			}
		}
		if s.first <= before || s.last > indexset.MaxIndex {
			return nil, false
		}
		spans, before = append(spans, s), s.last
	}
	return spans, true
}

var lenientItem = regexp.MustCompile(`(?s)^\+?([0-9]+)(-\+?([0-9]+)(-.*)?)?$`)

// lenientByRule reads text by our lenient rules; the spans are in text order.
func lenientByRule(text string) (spans []span, skipped, reordered int) {
	if text == "" {
		return nil, 0, 0
	}
	highest := int64(-1)
	for item := range strings.SplitSeq(text, ",") {
		m := lenientItem.FindStringSubmatch(item)
		if m == nil {
			skipped++
			continue
		}
		s := span{readInt(m[1]), readInt(m[1])}
		if m[2] != "" {
			s.last = readInt(m[3])
		}
		if s.last < s.first || s.last > indexset.MaxIndex {
			skipped++
			continue
		}
		if s.first <= highest {
			reordered++
		}
		spans, highest = append(spans, s), max(highest, s.last)
	}
	return spans, skipped, reordered
}

// canonical brings spans into canonical form: sorted, joined.
func canonical(spans []span) []span {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	var out []span
	for _, s := range spans {
		if k := len(out) - 1; k >= 0 && s.first <= out[k].last+1 {
			out[k].last = max(out[k].last, s.last)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// clip drops the indexes at or above limit.
func clip(spans []span, limit int64) []span {
	var out []span
	for _, s := range spans {
		if s.last = min(s.last, limit-1); s.first <= s.last {
			out = append(out, s)
		}
	}
	return out
}

// total counts as Kubernetes does: a reversed span counts below one.
func total(spans []span) (n int64) {
	for _, s := range spans {
		n += s.last - s.first + 1
	}
	return n
}

// format prints like Kubernetes: only the first number of a reversed span, and
// neighbouring spans not joined.
func format(spans []span) string {
	var items []string
	for _, s := range spans {
		item := strconv.FormatInt(s.first, 10)
		if s.last == s.first+1 {
			item += ","
		} else if s.last > s.first {
			item += "-"
		}
		if s.last > s.first {
			item += strconv.FormatInt(s.last, 10)
		}
		items = append(items, item)
	}
	return strings.Join(items, ",")
}

// atoi reads numbers like Kubernetes, with a sign, with leading zeros, and up to the
// largest int64.
func atoi(s string) (n int64, ok bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// kubernetesStrict returns the number of indexes that the API server's validation
// counts in text.
func kubernetesStrict(text string, completions int64) (count int64, ok bool) {
	if text == "" {
		return 0, true
	}
	before := int64(-1)
	for item := range strings.SplitSeq(text, ",") {
		parts := strings.Split(item, "-")
		first, ok := atoi(parts[0])
		last := first
		if len(parts) > 1 && ok {
			last, ok = atoi(parts[1])
			ok = ok && first < last
		}
		if !ok || len(parts) > 2 || max(first, last) >= completions || first <= before {
			return 0, false
		}
		count, before = count+last-first+1, last
	}
	return count, true
}

// kubernetesLenient returns the intervals that the Job controller reads, in its order.
func kubernetesLenient(text string, completions int64) (spans []span) {
	if text == "" {
		return nil
	}
	for item := range strings.SplitSeq(text, ",") {
		parts := strings.Split(item, "-")
		first, ok := atoi(parts[0])
		if !ok {
			continue
		}
		if first >= completions {
			break
		}
		last := first
		if len(parts) > 1 {
			if last, ok = atoi(parts[1]); !ok {
				continue
			}
			last = min(last, completions-1)
		}
		if k := len(spans) - 1; k >= 0 && spans[k].last == first-1 {
			spans[k].last = last
		} else {
			spans = append(spans, span{first, last})
		}
	}
	return spans
}

// readsOn reports whether items follow the first one that starts out of range, where
// the Job controller stops.
func readsOn(text string, completions int64) bool {
	items := strings.Split(text, ",")
	for _, item := range items[:len(items)-1] {
		first, _, _ := strings.Cut(item, "-")
		if n, ok := atoi(first); ok && n >= completions {
			return true
		}
	}
	return false
}
