package timeline

import (
	"cmp"
	"slices"
)

// barBudget is how many bars a picture has room for. A row that has more than its share
// becomes a strip.
const barBudget = 10_000

// arrange makes the rows of the chart. Up to MaxRows they stand in the order of their
// indexes. Of more, indexes that failed for good come first, then those whose last
// attempt failed, then the others; each of these from the most attempts to the fewest.
// The first have rows of their own; the others follow in groups of neighbours in that
// order.
func (l *layout) arrange() {
	rows := l.order
	slices.SortFunc(rows, func(a, b *row) int { return cmp.Compare(a.index, b.index) })
	if len(rows) <= MaxRows {
		l.chart.Rows = make([]Row, 0, len(rows))
		for _, r := range rows {
			l.chart.Rows = append(l.chart.Rows, r.alone(max(barBudget/len(rows), 20)))
		}
		return
	}
	failed := 0
	for _, r := range rows {
		if r.fate() != succeeds {
			failed++
		}
	}
	slices.SortStableFunc(rows, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.fate(), b.fate()), cmp.Compare(len(b.bars), len(a.bars)))
	})
	own := min(max(failed, leastOwn), mostOwn)
	for _, r := range rows[:own] {
		l.chart.Rows = append(l.chart.Rows, r.alone(barBudget/own))
	}
	for _, group := range groups(rows[own:], (MaxRows-own)/4-1) {
		l.chart.Rows = append(l.chart.Rows, grouped(group))
	}
}

// fate is how an index has ended so far, worst first.
type fate uint8

const (
	failsForGood fate = iota
	failsLast         // its last attempt failed
	succeeds          // or has not failed yet
)

func (r *row) fate() fate {
	if len(r.bars) > 0 {
		switch r.bars[len(r.bars)-1].Outcome {
		case OutcomeLast:
			return failsForGood
		case OutcomeFailed, OutcomeIgnored:
			return failsLast
		}
	}
	return succeeds
}

// groups divides rows into about that many groups of one size. A group ends where the fate
// of its indexes changes, and where the number of attempts changes unless it is too small
// then: there are at most four times as many, and three.
func groups(rows []*row, about int) [][]*row {
	size := (len(rows) + about - 1) / about
	var all [][]*row
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && to-from < size && rows[to].fate() == rows[from].fate() &&
			(len(rows[to].bars) == len(rows[from].bars) || (to-from)*4 < size) {
			to++
		}
		all, from = append(all, rows[from:to]), to
	}
	return all
}

// alone returns the Row of one index. With more than limit bars it is a strip.
func (r *row) alone(limit int) Row {
	one := grouped([]*row{r})
	parts := len(r.bars) + len(r.waits)
	for _, b := range r.bars {
		parts += len(b.Restarts)
	}
	if parts <= limit {
		one.Bars, one.Strip = r.bars, nil
	}
	return one
}

// grouped returns the Row of several indexes.
func grouped(rows []*row) Row {
	g := Row{First: rows[0].index, Last: rows[0].index, Indexes: len(rows), Failed: true}
	for _, r := range rows {
		g.First, g.Last = min(g.First, r.index), max(g.Last, r.index)
		g.Attempts += r.pods
		g.Strip = append(g.Strip, r.bars...)
		g.Waits = append(g.Waits, r.waits...)
		g.Failed = g.Failed && r.fate() != succeeds
	}
	return g
}
