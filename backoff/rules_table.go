package backoff

import (
	"cmp"
	"math/bits"
	"slices"
)

// codeTable answers which rules list an exit code, without a search through their
// lists: 20 rules with 255 codes each take 12 µs to search. Between two bounds the same
// rules list every code. It is filled when its lists come a second time: a caller that
// makes a policy anew for each exit would pay for a table that is never looked up.
type codeTable struct {
	lists  []codeLists // that it is of; held, so that none is freed and its place used again
	bounds []int64     // ascending; the first is below every code; nil: not filled
	rules  []uint32    // by bound: a bit for each rule that lists the codes from there to the next bound
}

// codeLists are the lists of one rule, as told apart: by where they are.
type codeLists struct {
	codes  *ExitCodes
	values *int32
	ranges *CodeRange
	n, m   int
}

// longLists is how many codes and ranges a search goes through faster than a table is
// looked up and its lists are compared.
const longLists = 32

func listsOf(r *Rule) (l codeLists) {
	if c := r.ExitCodes; c != nil {
		l = codeLists{codes: c, n: len(c.Values), m: len(c.Ranges)}
		if l.n > 0 {
			l.values = &c.Values[0]
		}
		if l.m > 0 {
			l.ranges = &c.Ranges[0]
		}
	}
	return l
}

// tableFor returns the table of rules, made of t if there is one; nil if they need none.
func (t *codeTable) tableFor(rules Rules) *codeTable {
	total := 0
	for i := range rules {
		if c := rules[i].ExitCodes; c != nil {
			total += len(c.Values) + len(c.Ranges)
		}
	}
	if total <= longLists || len(rules) > maxRules {
		return nil
	}
	switch {
	case t == nil:
		t = &codeTable{}
		t.note(rules)
	case !t.isOf(rules):
		t.note(rules)
	case t.bounds == nil:
		t.fill(rules)
	}
	return t
}

// note empties the table and has it be of the lists of rules.
func (t *codeTable) note(rules Rules) {
	old := t.lists
	t.lists, t.bounds, t.rules = slices.Grow(old[:0], len(rules)), nil, nil
	for i := range rules {
		t.lists = append(t.lists, listsOf(&rules[i]))
	}
	clear(old[min(len(old), len(rules)):]) // what they point to is not held any more
}

// isOf reports whether the table is of the lists of rules.
func (t *codeTable) isOf(rules Rules) bool {
	if len(t.lists) != len(rules) {
		return false
	}
	for i := range rules {
		if t.lists[i] != listsOf(&rules[i]) {
			return false
		}
	}
	return true
}

// fill makes the table of the lists of rules.
func (t *codeTable) fill(rules Rules) {
	type edge struct {
		at   int64
		rule int
		step int // 1: a range of codes begins, -1: one has ended
	}
	t.bounds, t.rules = []int64{-1 << 32}, []uint32{0}
	var edges []edge
	for i := range rules {
		codes := rules[i].ExitCodes
		if codes == nil {
			continue
		}
		for _, v := range codes.Values {
			edges = append(edges, edge{int64(v), i, 1}, edge{int64(v) + 1, i, -1})
		}
		for _, r := range codes.Ranges {
			if r.First <= r.Last {
				edges = append(edges, edge{int64(r.First), i, 1}, edge{int64(r.Last) + 1, i, -1})
			}
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	var covered [maxRules]int
	for i, e := range edges {
		covered[e.rule] += e.step
		if i+1 < len(edges) && edges[i+1].at == e.at {
			continue
		}
		var listing uint32
		for rule, n := range covered {
			if n > 0 {
				listing |= 1 << rule
			}
		}
		if listing != t.rules[len(t.rules)-1] {
			t.bounds, t.rules = append(t.bounds, e.at), append(t.rules, listing)
		}
	}
	t.bounds, t.rules = slices.Clone(t.bounds), slices.Clone(t.rules)
}

// rulesListing returns a bit for each rule that lists the code.
func (t *codeTable) rulesListing(code int32) uint32 {
	// The number of halvings depends on the length alone.
	low := 0
	for n, step := len(t.bounds), 1<<bits.Len(uint(len(t.bounds))); step > 0; step >>= 1 {
		if next := low + step; next < n && t.bounds[next] <= int64(code) {
			low = next
		}
	}
	return t.rules[low]
}
