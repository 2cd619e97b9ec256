package lint

import (
	"maps"
	"slices"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// ruleReach describes the pods on which a rule of a pod failure policy can decide after
// the rules before it.
//
// A pod meets a rule through one of its containers or conditions. Any others can only
// help the earlier rules. So a rule can decide on some pod if and only if it can decide
// on a pod with just one ended container or one condition.
type ruleReach struct {
	decides   bool  // on some pod
	onLinux   bool  // on some pod by a condition, or by an exit code possible on Linux
	killed    bool  // on a pod asked to stop, with exit code 137 or 143
	shadowed  []int // positions of listed codes or patterns decided by earlier rules
	twice     []int // positions of patterns that repeat earlier ones of the rule
	shadowing []int // earlier rules that match some of the same pods
	cover     int   // first of them that alone matches all of its pods, -1 if none
}

// reachability determines the reach of the rules in order.
type reachability struct {
	rules    []batch.PodFailurePolicyRule
	names    []string                     // representatives of all possible container names
	wanted   []codeSpans                  // by rule, the codes that meet it
	left     []codeSpans                  // by name, the codes not yet decided by a rule
	patterns map[batch.OnPodCondition]int // the rule that decides on a pattern
	reach    []ruleReach
}

// reachOf returns the reach of every rule of a specification with defaults. It reads at
// most the number of rules in a valid policy.
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

// namesFor returns representatives of all container names that pods can have. These are
// the template's names used in rules, and one name that no rule uses. Any pod may have
// a container of the latter kind, from the template or injected at admission. Without a
// template pods can have all names.
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

// looksAt reports whether the requirement applies to containers of this name.
func looksAt(o *batch.OnExitCodes, container string) bool {
	return o.ContainerName == nil || *o.ContainerName == container
}

func (r *reachability) byCodes(i int) {
	on, reach, known := r.rules[i].OnExitCodes, &r.reach[i], r.rules[i].Action.Known()
	var now []codeSpans // by name, the codes on which this rule decides
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

// findShadowing finds the earlier rules that match pods of rule i.
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

// covers reports whether rule j matches some, and all, of the pods of rule i.
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
