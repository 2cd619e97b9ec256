package backoff

import (
	"math"
	"time"
)

// pace is the rate that a bucket allows. Any n instants, first to last, satisfy n <=
// (last-first)/interval + 1 + slack/interval.
type pace struct {
	interval time.Duration // between restarts in the long run; > 0
	slack    time.Duration // how far a burst may run ahead
	most     int           // how many intervals a duration can hold
	visits   int           // turns visited by the functions on trees, which tests bound
}

// row sums up n consecutive turns, at a1 <= a2 <= ... <= an, as if the bucket did not
// fill meanwhile, so that each turn counts as many intervals earlier as turns precede
// it.
type row struct {
	n      int
	spent  time.Duration // max of ak-(k-1)*interval; n intervals later, the bucket is no longer used up
	latest time.Duration // min of ak-k*interval; from then on, the turns leave room for one before them

	// Outermost gaps between two of these turns with room, as far as these turns
	// decide.
	first, last gap
}

// gap is a place for one more turn behind the k-th of a row, less k intervals. It has
// room if spent exceeds latest by at most slack. From gap to gap of a row neither
// decreases.
type gap struct {
	spent  time.Duration // the turns before the gap use up the bucket until then
	latest time.Duration // the turns behind the gap leave room from then on
}

// noGap means no gap.
var noGap = gap{math.MaxInt64, math.MinInt64}

// earlier returns g with by subtracted.
func (g gap) earlier(by time.Duration) gap {
	if g == noGap {
		return noGap
	}
	return gap{subtract(g.spent, by), later(g.latest, -by)}
}

var noTurns = row{spent: math.MinInt64, latest: math.MaxInt64, first: noGap, last: noGap}

// room reports whether a gap has room.
func (p *pace) room(spent, latest time.Duration) bool {
	return latest == math.MaxInt64 || subtract(spent, latest) <= p.slack
}

// after returns the instant until which the bucket is used up behind r, given spent
// before it.
func (p *pace) after(spent time.Duration, r *row) time.Duration {
	if r.n == 0 {
		return spent
	}
	return add(max(spent, r.spent), p.of(r.n))
}

// of returns the length of n intervals.
func (p *pace) of(n int) time.Duration {
	if n > p.most {
		return math.MaxInt64
	}
	return time.Duration(n) * p.interval
}

// later returns latest plus by. The largest duration, which means no limit, stays.
func later(latest, by time.Duration) time.Duration {
	if latest == math.MaxInt64 {
		return latest
	}
	return add(latest, by)
}

// turn is a node of a treap, which keeps turns in order. Ranks are random and do not
// increase downward, so the depth is about logarithmic in the number of turns.
type turn struct {
	at          time.Duration
	row         row // of the whole tree
	rank        uint32
	left, right *turn
}

// all returns the row of a tree.
func (t *turn) all() *row {
	if t == nil {
		return &noTurns
	}
	return &t.row
}

// first returns the first turn of a tree, or nil if the tree is empty.
func (t *turn) first() *turn {
	for t != nil && t.left != nil {
		t = t.left
	}
	return t
}

// middle holds the bounds on either side of a turn in the row of its tree.
type middle struct {
	before, after gap           // just before and just behind the turn
	shift         time.Duration // of the row behind it
}

// middle returns the bounds around the root of t, given spent before t and latest
// behind it.
func (p *pace) middle(t *turn, spent, latest time.Duration) middle {
	left, right := t.left.all(), t.right.all()
	m := middle{shift: p.of(left.n + 1)}
	m.before.spent = max(spent, left.spent)
	m.after = gap{max(m.before.spent, add(subtract(t.at, m.shift), p.interval)), min(later(right.latest, -m.shift), latest)}
	m.before.latest = min(subtract(t.at, m.shift), m.after.latest)
	return m
}

// sum recomputes t.row.
func (p *pace) sum(t *turn) {
	left, right := t.left.all(), t.right.all()
	m := p.middle(t, math.MinInt64, math.MaxInt64)
	t.row = row{n: left.n + 1 + right.n, spent: m.after.spent, latest: min(left.latest, m.before.latest), first: noGap, last: noGap}
	if right.n > 0 {
		t.row.spent = max(t.row.spent, subtract(right.spent, m.shift))
	}
	t.row.first, _ = p.firstGap(t, &m, math.MinInt64, math.MaxInt64)
	t.row.last, _ = p.lastGap(t, &m, math.MinInt64, math.MaxInt64)
}

// firstGap returns the first gap with room between two turns of t, given spent before t
// and latest behind it.
func (p *pace) firstGap(t *turn, m *middle, spent, latest time.Duration) (gap, bool) {
	if g, ok := p.firstWithin(t.left, spent, m.before.latest); ok {
		return g, true
	}
	if t.left != nil && p.room(m.before.spent, m.before.latest) {
		return m.before, true
	}
	if t.right == nil {
		return noGap, false
	}
	if p.room(m.after.spent, m.after.latest) {
		return m.after, true
	}
	g, ok := p.firstWithin(t.right, add(m.after.spent, m.shift), later(latest, m.shift))
	return g.earlier(m.shift), ok
}

// firstWithin is firstGap, and uses the rows where possible.
func (p *pace) firstWithin(t *turn, spent, latest time.Duration) (gap, bool) {
	if !p.mayHaveGap(t, spent, latest) {
		return noGap, false
	}
	if g := t.row.first; p.room(spent, g.latest) {
		return gap{max(spent, g.spent), min(latest, g.latest)}, true
	}
	m := p.middle(t, spent, latest)
	return p.firstGap(t, &m, spent, latest)
}

// lastGap returns the last gap with room between two turns of t.
func (p *pace) lastGap(t *turn, m *middle, spent, latest time.Duration) (gap, bool) {
	if t.right != nil {
		if g, ok := p.lastWithin(t.right, add(m.after.spent, m.shift), later(latest, m.shift)); ok {
			return g.earlier(m.shift), true
		}
		if p.room(m.after.spent, m.after.latest) {
			return m.after, true
		}
	}
	if t.left != nil && p.room(m.before.spent, m.before.latest) {
		return m.before, true
	}
	return p.lastWithin(t.left, spent, m.before.latest)
}

func (p *pace) lastWithin(t *turn, spent, latest time.Duration) (gap, bool) {
	if !p.mayHaveGap(t, spent, latest) {
		return noGap, false
	}
	if g := t.row.last; p.room(g.spent, latest) {
		return gap{max(spent, g.spent), min(latest, g.latest)}, true
	}
	m := p.middle(t, spent, latest)
	return p.lastGap(t, &m, spent, latest)
}

// mayHaveGap reports whether t has a gap with room below latest and a gap with room
// above spent. If these differ, at most one half of t has both, so that a failing
// search follows a single path.
func (p *pace) mayHaveGap(t *turn, spent, latest time.Duration) bool {
	p.visits++
	return t != nil && t.row.first != noGap && p.room(spent, latest) && p.room(spent, t.row.last.latest) && p.room(t.row.first.spent, latest)
}

// insert adds a turn to a tree.
func (p *pace) insert(t, one *turn) *turn {
	p.visits++
	switch {
	case t == nil || one.rank > t.rank:
		one.left, one.right = p.split(t, one.at)
		t = one
	case t.at < one.at:
		t.right = p.insert(t.right, one)
	default:
		t.left = p.insert(t.left, one)
	}
	p.sum(t)
	return t
}

// remove removes the turn at an instant from a tree, if any.
func (p *pace) remove(t *turn, at time.Duration) (rest, one *turn) {
	p.visits++
	switch {
	case t == nil:
		return nil, nil
	case t.at == at:
		return p.join(t.left, t.right), t
	case t.at < at:
		t.right, one = p.remove(t.right, at)
	default:
		t.left, one = p.remove(t.left, at)
	}
	if one != nil {
		p.sum(t)
	}
	return t, one
}

// split divides a tree into the turns before an instant and the rest.
func (p *pace) split(t *turn, at time.Duration) (before, after *turn) {
	p.visits++
	switch {
	case t == nil:
		return nil, nil
	case t.at < at:
		t.right, after = p.split(t.right, at)
		p.sum(t)
		return t, after
	}
	before, t.left = p.split(t.left, at)
	p.sum(t)
	return before, t
}

// join concatenates two trees.
func (p *pace) join(t, next *turn) *turn {
	p.visits++
	switch {
	case t == nil:
		return next
	case next == nil:
		return t
	case t.rank >= next.rank:
		t.right = p.join(t.right, next)
		p.sum(t)
		return t
	}
	next.left = p.join(t, next.left)
	p.sum(next)
	return next
}

// firstFrom returns the first instant at or after from with room for one more turn in
// t, given spent before t and latest behind it.
func (p *pace) firstFrom(t *turn, from, spent, latest time.Duration) (at time.Duration, ok bool) {
	p.visits++
	if t == nil { // between the last turn before from and the next
		return max(from, add(spent, -p.slack)), p.room(max(spent, from), latest)
	}
	m := p.middle(t, spent, latest)
	if t.at < from {
		return p.firstFrom(t.right, from, add(m.after.spent, m.shift), later(latest, m.shift))
	}
	if at, ok = p.firstFrom(t.left, from, spent, m.before.latest); ok {
		return at, true
	}
	return p.firstBehind(t, &m, latest)
}

// firstBehind is firstFrom for instants behind the root of t.
func (p *pace) firstBehind(t *turn, m *middle, latest time.Duration) (at time.Duration, ok bool) {
	spent := add(m.after.spent, m.shift)
	if p.room(m.after.spent, m.after.latest) {
		return max(t.at, add(spent, -p.slack)), true
	}
	return p.firstTurn(t.right, spent, later(latest, m.shift))
}

// firstTurn is firstFrom for instants behind any turn of t.
func (p *pace) firstTurn(t *turn, spent, latest time.Duration) (at time.Duration, ok bool) {
	if !p.mayHaveGap(t, spent, latest) && (t == nil || !p.room(max(spent, t.row.spent), latest)) {
		return 0, false
	}
	m := p.middle(t, spent, latest)
	if at, ok = p.firstTurn(t.left, spent, m.before.latest); ok {
		return at, true
	}
	return p.firstBehind(t, &m, latest)
}

// moveOrigin subtracts by from every instant of a tree.
func (p *pace) moveOrigin(t *turn, by time.Duration) {
	if t != nil {
		t.at = subtract(t.at, by)
		p.moveOrigin(t.left, by)
		p.moveOrigin(t.right, by)
		p.sum(t)
	}
}
