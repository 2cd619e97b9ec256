package lint

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
)

// space is all the exits that there can be, as far as a policy's rules tell them
// apart. An exit has a code, a signal, a reason, and a length of its run with a number
// of failures in a row. What a rule says about one of them says nothing about the
// others, except for the last two: a run that starts the curve over is a first failure.
type space struct {
	rules    []backoff.Rule
	met      []map[rules]bool // by side: which rules' conditions are met together
	possible rules            // those that have a condition, all of which can be met
}

// rules is a set of rules, a bit each.
type rules uint32

// of returns the rules for which met reports true.
func of(all []backoff.Rule, met func(r *backoff.Rule) bool) (set rules) {
	for i := range all {
		if met(&all[i]) {
			set |= 1 << i
		}
	}
	return set
}

func newSpace(all []backoff.Rule, curve backoff.Policy) *space {
	s := &space{rules: all}
	s.met = []map[rules]bool{s.codes(), s.signals(), s.reasons(), s.runs(curve)}
	s.possible = of(all, func(r *backoff.Rule) bool {
		return r.ExitCodes != nil || len(r.Reasons) > 0 || len(r.Signals) > 0 || r.RanLess != 0 || r.RanAtLeast != 0 || r.Attempts != 0
	})
	return s
}

// codes looks at one code of each stretch that no list divides.
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

// signals looks at every signal that a rule names, and at none. A signal may be told
// beside any code; those without a name hide what a code says.
func (s *space) signals() map[rules]bool {
	return s.listed(func(r *backoff.Rule) []string { return r.Signals }, func(name string) bool {
		one := backoff.ContainerPolicy{RestartPolicy: backoff.RestartPolicyNever, Rules: backoff.Rules{{Action: backoff.Restart, Signals: []string{name}}}}
		for n := range int32(65) {
			if _, rule := one.DecideExit(backoff.Exit{Signal: n}, 1); rule == 0 {
				return true
			}
		}
		return false
	})
}

// reasons looks at every reason that a rule names, and at another one.
func (s *space) reasons() map[rules]bool {
	return s.listed(func(r *backoff.Rule) []string { return r.Reasons }, func(string) bool { return true })
}

// listed looks at every text that a rule lists and that there is, and at one that none
// does.
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

// runs looks at one run of each stretch that no rule divides, and at as many failures
// in a row as a rule asks for.
func (s *space) runs(curve backoff.Policy) map[rules]bool {
	over := add(curve.ResetThreshold(), 1) // such a run starts the curve over
	runs, attempts := map[time.Duration]bool{0: true, over: true}, map[int]bool{1: true}
	for i := range s.rules {
		runs[max(s.rules[i].RanLess, 0)], runs[max(s.rules[i].RanAtLeast, 0)] = true, true
		attempts[max(s.rules[i].Attempts, 1)] = true
	}
	met := make(map[rules]bool)
	for ran := range runs {
		for n := range attempts {
			if n > 1 && ran >= over {
				continue
			}
			met[of(s.rules, func(r *backoff.Rule) bool {
				return (r.RanLess == 0 || ran < r.RanLess) && (r.RanAtLeast == 0 || ran >= r.RanAtLeast) && (r.Attempts == 0 || n >= r.Attempts)
			})] = true
		}
	}
	return met
}

// unreachable says why rule i decides on no exit, "" if it decides on one.
func (s *space) unreachable(i int) string {
	r := &s.rules[i]
	if a := r.Action; a != backoff.Restart && a != backoff.RestartAll && a != backoff.GiveUp {
		return "the rule has no known action"
	}
	// Exits that meet rule i: which earlier rules they meet, as few as can be.
	bit := rules(1) << i
	met := map[rules]bool{s.possible & (bit | (bit - 1)): true}
	all := bit - 1 // the earlier rules that every such exit meets
	for _, side := range s.met {
		next := make(map[rules]bool)
		for a := range met {
			for b := range side {
				if a&b&bit != 0 {
					next[a&b] = true
				}
			}
		}
		met = least(next)
	}
	if len(met) == 0 {
		return "no exit meets all conditions of the rule"
	}
	for set := range met {
		if set == bit {
			return ""
		}
		all &= set
	}
	for j := range i {
		if all>>j&1 != 0 {
			return fmt.Sprintf("rule %s decides on every exit that it matches", nameOf(s.rules, j))
		}
	}
	return "earlier rules decide on every exit that it matches"
}

// least drops every set that holds another one.
func least(sets map[rules]bool) map[rules]bool {
	kept := maps.Clone(sets)
	for a := range sets {
		for b := range sets {
			if a != b && a&b == b {
				delete(kept, a)
				break
			}
		}
	}
	return kept
}

// nameOf names a rule in a text.
func nameOf(all []backoff.Rule, i int) string {
	if all[i].Name != "" {
		return all[i].Name
	}
	return fmt.Sprintf("restartPolicyRules[%d]", i)
}
