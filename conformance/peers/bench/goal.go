package bench

import "math"

// Goal is a requirement for a row's figures.
type Goal struct {
	kind    goalKind
	of      string // the candidate judged; empty means the first
	against string // the candidate compared with
	low     float64
	limit   float64
	first   float64 // the limit before Restated; 0 if never restated
}

type goalKind int

const (
	ratioAtMost goalKind = iota
	timesAtLeast
	ratioWithin
	valueAtMost
	allocsAtMost
)

// Ratio requires ours/theirs ≤ limit.
func Ratio(theirs string, limit float64) Goal {
	return Goal{kind: ratioAtMost, against: theirs, limit: limit}
}

// Times requires theirs/ours ≥ limit, so ours to be that many times faster or smaller.
func Times(theirs string, limit float64) Goal {
	return Goal{kind: timesAtLeast, against: theirs, limit: limit}
}

// Within requires low ≤ ours/theirs ≤ high.
func Within(theirs string, low, high float64) Goal {
	return Goal{kind: ratioWithin, against: theirs, low: low, limit: high}
}

// AtMost requires ours ≤ limit, in the row's unit.
func AtMost(limit float64) Goal { return Goal{kind: valueAtMost, limit: limit} }

// Allocs limits our allocations per operation.
func Allocs(limit int) Goal { return Goal{kind: allocsAtMost, limit: float64(limit)} }

// Restated returns the goal with another limit, because the first one was missed for the
// reason in the row's Note. The report shows both limits.
func (g Goal) Restated(limit float64) Goal {
	g.first, g.limit = g.limit, limit
	return g
}

// For returns the same goal for a candidate other than the first.
func (g Goal) For(candidate string) Goal {
	g.of = candidate
	return g
}

// relative reports whether the goal compares two candidates.
func (g Goal) relative() bool {
	return g.kind == ratioAtMost || g.kind == timesAtLeast || g.kind == ratioWithin
}

// figure returns the figure judged in one measurement of the row.
func (g Goal) figure(r Row, m measurement) float64 {
	ours := r.index(g.of)
	switch g.kind {
	case ratioAtMost, ratioWithin:
		return m.ratio(ours, r.index(g.against))
	case timesAtLeast:
		return m.ratio(r.index(g.against), ours)
	case allocsAtMost:
		return m.allocs(ours)
	}
	return m.value(ours)
}

// met reports whether a figure meets the goal. NaN does not.
func (g Goal) met(figure float64) bool {
	switch g.kind {
	case timesAtLeast:
		return figure >= g.limit
	case ratioWithin:
		return g.low <= figure && figure <= g.limit
	}
	return figure <= g.limit
}

// miss orders figures by how far they miss the goal, larger being worse.
func (g Goal) miss(figure float64) float64 {
	switch g.kind {
	case timesAtLeast:
		return -figure
	case ratioWithin:
		return math.Abs(figure - (g.low+g.limit)/2)
	}
	return figure
}

// text returns the goal as printed in the report.
func (g Goal) text(u Unit) string {
	text := "≤ "
	switch g.kind {
	case timesAtLeast:
		text = "≥ "
	case ratioWithin:
		text = g.format(g.low, u) + " to "
	}
	text += g.format(g.limit, u)
	if g.first != 0 {
		text += ", at first " + g.format(g.first, u)
	}
	return text
}

// format formats a figure of the goal's kind.
func (g Goal) format(figure float64, u Unit) string {
	switch g.kind {
	case timesAtLeast:
		return formatFactor(figure) + "x"
	case valueAtMost:
		return u.format(figure)
	case allocsAtMost:
		return formatAllocs(figure)
	}
	return formatFactor(figure)
}
