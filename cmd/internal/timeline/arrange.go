package timeline

import (
	"cmp"
	"slices"
)

// barBudget is the number of bars for which a picture has room. A row with more than
// its share becomes a strip.
const barBudget = 10_000

// arrange makes the rows of the chart. Up to MaxRows rows are in the order of their
// indexes. With more indexes, those that failed for good come first, then those whose
// last attempt failed, then the others, each in descending order of attempts. The first
// of them have rows of their own, and the others follow in groups of neighbours.
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

// fate is the state of an index so far, worst first.
type fate uint8

const (
	failsForGood fate = iota
	failsLast         // the last attempt failed
	succeeds          // or has no failures so far
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

// groups divides rows into about the given number of groups of equal size. A group ends
// early if the fate changes. It also ends if the number of attempts changes, unless it
// is still too small. The number of groups is at most four times the given one plus
// three.
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

// alone returns the Row of one index. It is a strip if it has more than limit bars.
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
