package lint

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
)

// space is the set of possible exits, as far as a policy's rules tell them apart. An
// exit has a code, a signal, a reason, and a run length with a number of failures in a
// row. These sides are independent of each other, but a run that starts the curve over
// is a first failure.
type space struct {
	rules    []backoff.Rule
	met      []map[rules]bool // by side, runs last; each set of rules whose conditions are met together
	lengths  []time.Duration  // run lengths, ascending; one of each stretch that no rule divides
	attempts []int            // failures in a row that rules ask for, ascending
	over     time.Duration    // the shortest run that starts the curve over
	possible rules            // rules with conditions
}

// rules is a set of rules, one bit each.
type rules uint32

// of returns the rules for which met returns true.
func of(all []backoff.Rule, met func(r *backoff.Rule) bool) (set rules) {
	for i := range all {
		if met(&all[i]) {
			set |= 1 << i
		}
	}
	return set
}

func newSpace(all []backoff.Rule, curve backoff.Policy) *space {
	s := &space{rules: all, over: add(curve.ResetThreshold(), 1)}
	s.lengths, s.attempts = []time.Duration{0, s.over}, []int{1}
	for i := range all {
		s.lengths = append(s.lengths, max(all[i].RanLessThan, 0), max(all[i].RanAtLeast, 0))
		s.attempts = append(s.attempts, max(all[i].MinFailures, 1))
	}
	slices.Sort(s.lengths)
	slices.Sort(s.attempts)
	s.lengths, s.attempts = slices.Compact(s.lengths), slices.Compact(s.attempts)
	s.met = []map[rules]bool{s.codes(), s.signals(), s.reasons(), s.runs()}
	s.possible = of(all, func(r *backoff.Rule) bool {
		return r.ExitCodes != nil || len(r.Reasons) > 0 || len(r.Signals) > 0 || r.RanLessThan != 0 || r.RanAtLeast != 0 || r.MinFailures != 0
	})
	return s
}

// codes tries one code of each stretch that no list divides.
func (s *space) codes() map[rules]bool {
	starts := map[int64]bool{-1 << 31: true}
	for i := range s.rules {
		c := s.rules[i].ExitCodes
		if c == nil {
			continue
		}
		for _, v := range c.Values {
			starts[int64(v)], starts[int64(v)+1] = true, true
		}
		for _, r := range c.Ranges {
			starts[int64(r.First)], starts[int64(r.Last)+1] = true, true
		}
	}
	met := make(map[rules]bool)
	for code := range starts {
		if code < 1<<31 {
			met[of(s.rules, func(r *backoff.Rule) bool { return r.ExitCodes == nil || meets(r.ExitCodes, int32(code)) })] = true
		}
	}
	return met
}

func meets(c *backoff.ExitCodes, code int32) bool {
	listed := slices.Contains(c.Values, code) ||
		slices.ContainsFunc(c.Ranges, func(r backoff.CodeRange) bool { return r.First <= code && code <= r.Last })
	return c.Operator == backoff.OperatorIn && listed || c.Operator == backoff.OperatorNotIn && !listed
}

// signals tries every signal that a rule names, and no signal. A signal may come with
// any code, and one without a name hides the signal implied by a code.
func (s *space) signals() map[rules]bool {
	return s.listed(func(r *backoff.Rule) []string { return r.Signals }, func(name string) bool {
		one := backoff.ExitPolicy{RestartPolicy: backoff.RestartPolicyNever, Rules: backoff.Rules{{Action: backoff.ActionRestart, Signals: []string{name}}}}
		for n := range int32(65) {
			if _, rule := one.DecideExit(backoff.Exit{Signal: n}, 1); rule == 0 {
				return true
			}
		}
		return false
	})
}

// reasons tries every reason that a rule names, and another one.
func (s *space) reasons() map[rules]bool {
	return s.listed(func(r *backoff.Rule) []string { return r.Reasons }, func(string) bool { return true })
}

// listed tries every existing text that a rule lists, and one that no rule lists.
func (s *space) listed(list func(*backoff.Rule) []string, exists func(string) bool) map[rules]bool {
	texts := make(map[string]bool)
	for i := range s.rules {
		for _, text := range list(&s.rules[i]) {
			texts[text] = true
		}
	}
	met := map[rules]bool{of(s.rules, func(r *backoff.Rule) bool { return len(list(r)) == 0 }): true}
	for text := range texts {
		if exists(text) {
			met[of(s.rules, func(r *backoff.Rule) bool { return len(list(r)) == 0 || slices.Contains(list(r), text) })] = true
		}
	}
	return met
}

// runs tries one run of each stretch with each number of failures in a row that a rule
// asks for.
func (s *space) runs() map[rules]bool {
	met := make(map[rules]bool)
	for _, ran := range s.lengths {
		for _, set := range s.metBy(ran) {
			met[set] = true
		}
	}
	return met
}

// metBy returns the sets of rules whose conditions a run meets, by failures in a row.
func (s *space) metBy(ran time.Duration) (met []rules) {
	for _, n := range s.attempts {
		if n > 1 && ran >= s.over {
			continue
		}
		met = append(met, of(s.rules, func(r *backoff.Rule) bool {
			return (r.RanLessThan == 0 || ran < r.RanLessThan) && (r.RanAtLeast == 0 || ran >= r.RanAtLeast) && (r.MinFailures == 0 || n >= r.MinFailures)
		}))
	}
	return met
}

// shortest returns the shortest run of at least from that rule i can decide on, or
// never.
func (s *space) shortest(i int, from time.Duration) time.Duration {
	bit := rules(1) << i
	ways, ok := s.ways(i, s.met[:len(s.met)-1])
	if !ok {
		return max(s.rules[i].RanAtLeast, from)
	}
	lengths := append([]time.Duration{from}, s.lengths...)
	slices.Sort(lengths)
	for _, ran := range lengths {
		for _, met := range s.metBy(ran) {
			if ran >= from && slices.ContainsFunc(ways, func(way rules) bool { return way&met == bit }) {
				return ran
			}
		}
	}
	return never
}

// unreachable explains why rule i decides on no exit, with a remedy, or returns "" if it
// decides on one.
func (s *space) unreachable(i int) string {
	r := &s.rules[i]
	if a := r.Action; a != backoff.ActionRestart && a != backoff.ActionRestartAll && a != backoff.ActionGiveUp {
		return "the rule has no known action; set one"
	}
	ways, ok := s.ways(i, s.met)
	if !ok {
		return ""
	}
	if len(ways) == 0 {
		return "no exit meets all conditions of the rule; remove the rule, or change a condition"
	}
	bit := rules(1) << i
	all := bit - 1 // the earlier rules that every such exit meets
	for _, set := range ways {
		if set == bit {
			return ""
		}
		all &= set
	}
	for j := range i {
		if all>>j&1 != 0 {
			return fmt.Sprintf("rule %s decides on every exit that this rule matches; remove this rule, or move it up", nameOf(s.rules, j))
		}
	}
	return "earlier rules decide on every exit that this rule matches; remove this rule, or move it up"
}

// Bounds of the search for one rule, far above the needs of any policy not made to
// exceed them. Beyond them, the rule is skipped.
const (
	mostSets = 1 << 14 // before dropping supersets
	mostWays = 1 << 10 // after dropping supersets
)

// ways returns the sets of rules, up to rule i, met by exits that meet rule i, without
// supersets; ok is false if the search exceeds its bounds.
func (s *space) ways(i int, sides []map[rules]bool) (ways []rules, ok bool) {
	bit := rules(1) << i
	ways = []rules{s.possible & (bit | (bit - 1))}
	for _, side := range sides {
		part := make(map[rules]bool)
		for set := range side {
			if set&bit != 0 {
				part[set&(bit|(bit-1))] = true
			}
		}
		met, ok := least(part)
		if !ok {
			return nil, false
		}
		next := make(map[rules]bool)
		for _, a := range ways {
			for _, b := range met {
				if a&b&bit != 0 {
					next[a&b] = true
				}
			}
			if len(next) > mostSets {
				return nil, false
			}
		}
		if ways, ok = least(next); !ok {
			return nil, false
		}
	}
	return ways, true
}

// least returns the sets that contain no other; ok is false if they exceed the bounds.
func least(sets map[rules]bool) (kept []rules, ok bool) {
	if len(sets) > mostSets {
		return nil, false
	}
	smallestFirst := func(a, b rules) int {
		return cmp.Or(cmp.Compare(bits.OnesCount32(uint32(a)), bits.OnesCount32(uint32(b))), cmp.Compare(a, b))
	}
	for _, a := range slices.SortedFunc(maps.Keys(sets), smallestFirst) {
		if slices.ContainsFunc(kept, func(b rules) bool { return a&b == b }) {
			continue
		}
		if kept = append(kept, a); len(kept) > mostWays {
			return nil, false
		}
	}
	return kept, true
}

// nameOf names a rule in a text.
func nameOf(all []backoff.Rule, i int) string {
	if all[i].Name != "" {
		return all[i].Name
	}
	return fmt.Sprintf("restartPolicyRules[%d]", i)
}
