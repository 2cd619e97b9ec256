package lint

import (
	"maps"
	"slices"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// ruleReach says on which pods a rule of a pod failure policy can decide, the
// rules before it considered.
//
// A pod meets a rule by one of its containers or one of its conditions, and
// whatever else it has can only help the rules before that one. So a rule can
// decide on some pod exactly if it can on a pod that has nothing but one
// container that ended, or one condition.
type ruleReach struct {
	decides   bool  // on some pod
	onLinux   bool  // on some pod by a condition, or by an exit code that Linux has
	killed    bool  // on a pod that was told to go: exit code 137 or 143
	shadowed  []int // positions of listed codes or patterns on which earlier rules decide
	twice     []int // positions of patterns that the rule has already
	shadowing []int // earlier rules that match some of what it matches
	cover     int   // the first of them that alone matches all of it, -1 if there is none
}

// reachability works out the reach of one rule after the other.
type reachability struct {
	rules    []batch.PodFailurePolicyRule
	names    []string                     // containers that stand for all there can be
	wanted   []codeSpans                  // by rule: the codes that meet it
	left     []codeSpans                  // by name: the codes on which no rule has decided so far
	patterns map[batch.OnPodCondition]int // the rule that decides on a pattern
	reach    []ruleReach
}

// reachOf returns the reach of every rule of a specification with defaults. Of a
// policy with more rules than a valid one has it looks at so many only.
func reachOf(s *batch.JobSpec) []ruleReach {
	if s.PodFailurePolicy == nil {
		return nil
	}
	rules := s.PodFailurePolicy.Rules
	rules = rules[:min(len(rules), mostRules)]
	r := &reachability{
		rules: rules, names: namesFor(s, rules), wanted: make([]codeSpans, len(rules)),
		patterns: map[batch.OnPodCondition]int{}, reach: make([]ruleReach, len(rules)),
	}
	for range r.names {
		r.left = append(r.left, allCodes())
	}
	for i := range rules {
		r.reach[i].cover = -1
		if rules[i].OnExitCodes != nil {
			r.wanted[i] = codesOf(rules[i].OnExitCodes)
			r.byCodes(i)
		} else {
			r.byConditions(i)
		}
		r.findShadowing(i)
	}
	return r.reach
}

// namesFor returns container names that stand for all that pods can have: those of the
// template that a rule names, and one that no rule names. A pod can have a container of
// the latter kind, if not from the template, then injected at admission. Without a
// template a pod can have containers of all names.
func namesFor(s *batch.JobSpec, rules []batch.PodFailurePolicyRule) (names []string) {
	named := map[string]bool{}
	for i := range rules {
		if on := rules[i].OnExitCodes; on != nil && on.ContainerName != nil {
			named[*on.ContainerName] = true
		}
	}
	template := slices.Concat(s.Template.Spec.Containers, s.Template.Spec.InitContainers)
	unnamed := ""
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if len(template) == 0 || slices.ContainsFunc(template, func(c batch.Container) bool { return c.Name == name }) {
			names = append(names, name)
		}
		if len(name) >= len(unnamed) {
			unnamed = name + "+"
		}
	}
	return append(names, unnamed)
}

// looksAt reports whether the requirement is about a container with this name.
func looksAt(o *batch.OnExitCodes, container string) bool {
	return o.ContainerName == nil || *o.ContainerName == container
}

func (r *reachability) byCodes(i int) {
	on, reach, known := r.rules[i].OnExitCodes, &r.reach[i], r.rules[i].Action.Known()
	var now []codeSpans // by name: the codes on which this rule decides
	for n, name := range r.names {
		if !looksAt(on, name) {
			continue
		}
		rest := r.wanted[i].and(r.left[n])
		now = append(now, rest)
		reach.onLinux = reach.onLinux || known && len(rest.and(codeSpans{{1, 255}})) > 0
		reach.killed = reach.killed || known && (rest.has(137) || rest.has(143))
		reach.decides = reach.decides || known && len(rest) > 0
		if known {
			r.left[n] = r.left[n].and(otherCodes(on))
		}
	}
	if on.Operator != batch.OpIn {
		return
	}
	for k, v := range on.Values {
		if v != 0 && !slices.ContainsFunc(now, func(rest codeSpans) bool { return rest.has(v) }) {
			reach.shadowed = append(reach.shadowed, k)
		}
	}
}

func (r *reachability) byConditions(i int) {
	reach, known := &r.reach[i], r.rules[i].Action.Known()
	for k, o := range r.rules[i].OnPodConditions {
		switch rule, taken := r.patterns[o]; {
		case taken && rule == i:
			reach.twice = append(reach.twice, k)
		case taken:
			reach.shadowed = append(reach.shadowed, k)
		case known:
			r.patterns[o] = i
			reach.decides, reach.onLinux = true, true
		}
	}
}

// findShadowing looks for the earlier rules that match what rule i matches.
func (r *reachability) findShadowing(i int) {
	reach := &r.reach[i]
	for j := range i {
		if !r.reach[j].decides {
			continue
		}
		some, all := r.covers(j, i)
		if some {
			reach.shadowing = append(reach.shadowing, j)
		}
		if some && all && reach.cover < 0 {
			reach.cover = j
		}
	}
}

// covers reports whether rule j matches some, and all, of what rule i matches.
func (r *reachability) covers(j, i int) (some, all bool) {
	a, b := &r.rules[j], &r.rules[i]
	switch {
	case a.OnExitCodes == nil && b.OnExitCodes == nil:
		all = true
		for _, o := range b.OnPodConditions {
			has := hasPattern(a, o.Type, o.Status)
			some, all = some || has, all && has
		}
	case a.OnExitCodes != nil && b.OnExitCodes != nil:
		both := r.wanted[i].and(r.wanted[j])
		some, all = false, slices.Equal(both, r.wanted[i])
		for _, name := range r.names {
			if looksAt(b.OnExitCodes, name) {
				looks := looksAt(a.OnExitCodes, name)
				some, all = some || looks && len(both) > 0, all && looks
			}
		}
	}
	return some, all
}

// hasPattern reports whether a condition of that type and status meets the rule.
func hasPattern(r *batch.PodFailurePolicyRule, t batch.PodConditionType, status batch.ConditionStatus) bool {
	return r.OnExitCodes == nil && slices.ContainsFunc(r.OnPodConditions, func(o batch.OnPodCondition) bool {
		return o.Type == t && o.Status == status
	})
}
