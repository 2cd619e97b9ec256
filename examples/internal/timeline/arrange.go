package timeline

import (
	"cmp"
	"slices"
)

// barBudget is how many bars a picture has room for. A row that has more than its share
// becomes a strip.
const barBudget = 10_000

// arrange makes the rows of the chart. Up to MaxRows they stand in the order of their
// indexes. Of more, those with the most attempts come first, in rows of their own; the
// others follow in groups of neighbours in that order, so that groups, too, have fewer
// attempts the farther down they are.
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
	slices.SortStableFunc(rows, func(a, b *row) int { return cmp.Compare(len(b.bars), len(a.bars)) })
	for _, r := range rows[:ownRows] {
		l.chart.Rows = append(l.chart.Rows, r.alone(barBudget/ownRows))
	}
	for _, group := range groups(rows[ownRows:]) {
		l.chart.Rows = append(l.chart.Rows, grouped(group))
	}
}

// groups divides rows into groups of one size. A group ends sooner where the number of
// attempts changes, unless it is too small: there are 4*groupRows at most.
func groups(rows []*row) [][]*row {
	size := (len(rows) + groupRows - 1) / groupRows
	var all [][]*row
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && to-from < size && (len(rows[to].bars) == len(rows[from].bars) || (to-from)*4 < size) {
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
	g := Row{First: rows[0].index, Last: rows[0].index, Indexes: len(rows)}
	for _, r := range rows {
		g.First, g.Last = min(g.First, r.index), max(g.Last, r.index)
		g.Attempts += r.pods
		g.Strip = append(g.Strip, r.bars...)
		g.Waits = append(g.Waits, r.waits...)
		for _, b := range r.bars {
			g.Failed = g.Failed || b.Outcome == OutcomeLast
		}
	}
	return g
}
