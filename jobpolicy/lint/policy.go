package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/restartkit/restart/internal/exitcode"
	"github.com/restartkit/restart/internal/quote"
	"github.com/restartkit/restart/internal/spelling"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// policy checks the rules of the pod failure policy.
func (c *checker) policy() {
	rules := rulesOf(&c.spec)
	for i := range rules {
		if rules[i].Action == leftOut {
			continue
		}
		if why, severity := c.unreachable(i); why != "" {
			c.add(KindUnreachable, severity, i, rulePath(i, ""), why)
			continue
		}
		c.repeated(i)
		if rules[i].OnExitCodes != nil {
			if possible := c.impossibleCodes(i); !possible {
				continue
			}
		} else {
			c.unknownConditions(i)
		}
		c.drain(i)
		c.drainedBefore(i)
		c.endless(i)
	}
}

// rulesOf returns the rules of the pod failure policy.
func rulesOf(s *batch.JobSpec) []batch.PodFailurePolicyRule {
	if s.PodFailurePolicy == nil {
		return nil
	}
	return s.PodFailurePolicy.Rules
}

// The sizes of the largest valid policy. Whatever exceeds them is not read, so that the
// work stays bounded.
const (
	mostRules      = 20
	mostCodes      = 255
	mostConditions = 20
)

// withinBounds returns the policy, or a copy without anything that no valid policy has.
func withinBounds(p *batch.PodFailurePolicy) *batch.PodFailurePolicy {
	if p == nil {
		return nil
	}
	rules := slices.Clone(p.Rules[:min(len(p.Rules), mostRules)])
	for i := range rules {
		rule := &rules[i]
		rule.OnPodConditions = rule.OnPodConditions[:min(len(rule.OnPodConditions), mostConditions)]
		if on := rule.OnExitCodes; on != nil && len(on.Values) > mostCodes {
			short := *on
			short.Values = on.Values[:mostCodes]
			rule.OnExitCodes = &short
		}
	}
	return &batch.PodFailurePolicy{Rules: rules}
}

// rulePath returns the path of a rule, or of one of its fields.
func rulePath(i int, field string) string {
	path := fmt.Sprintf("spec.podFailurePolicy.rules[%d]", i)
	if field != "" {
		path += "." + field
	}
	return path
}

// unreachable returns why a rule decides on no pod, or "" if it may decide on some.
func (c *checker) unreachable(i int) (why string, severity Severity) {
	rules := rulesOf(&c.spec)
	rule := &rules[i]
	if !rule.Action.Known() {
		return fmt.Sprintf("the action %s is unknown, so the rule is skipped; use Count, FailIndex, FailJob or Ignore", quote.Text(string(rule.Action))), SeverityWarning
	}
	if !meetable(rule) {
		return "no pod can meet the rule's requirement; give it exit codes other than 0, or conditions", SeverityWarning
	}
	if !c.hasContainer(rule) {
		return fmt.Sprintf("the template has no container %s, so the rule matches no pod; name one of its containers", quote.Text(*rule.OnExitCodes.ContainerName)), SeverityWarning
	}
	for j := range i {
		if c.canDecide(j) && covers(&rules[j], rule) {
			return c.whyCovered(i, j), c.severity(i, []int{j})
		}
	}
	if listed := valuesOf(rule); len(listed) > 0 {
		if earlier := c.decidedBefore(i); len(earlier) == len(listed) {
			by := deciders(earlier)
			return plural(by, "matches", "together match") + " every pod that this rule matches; move this rule before them or remove it", c.severity(i, by)
		}
	}
	return "", ""
}

// whyCovered says that rule j, which comes first, matches every pod of rule i.
func (c *checker) whyCovered(i, j int) string {
	rule, earlier := &c.spec.PodFailurePolicy.Rules[i], &c.spec.PodFailurePolicy.Rules[j]
	first := "rule " + strconv.Itoa(j)
	switch {
	case rule.Action == batch.ActionFailJob && earlier.Action == batch.ActionFailIndex && covers(rule, earlier):
		return first + " fails the index for the same failures, so this rule never fails the Job; remove one of the two"
	case isAnyFailure(earlier):
		return first + " matches every failure (NotIn [0]); move this rule before " + first
	}
	return first + " matches every pod that this rule matches; move this rule before " + first + " or remove it"
}

// severity returns the severity of a finding that earlier rules leave nothing to rule i,
// or to some of its values. That is harmless if the earlier rules have the same action.
func (c *checker) severity(i int, earlier []int) Severity {
	rules := c.spec.PodFailurePolicy.Rules
	for _, j := range earlier {
		if rules[j].Action != rules[i].Action {
			return SeverityWarning
		}
	}
	return SeverityNotice
}

// canDecide reports whether rule i could decide on some pod if it were the first rule.
func (c *checker) canDecide(i int) bool {
	rule := &c.spec.PodFailurePolicy.Rules[i]
	return rule.Action.Known() && meetable(rule) && c.hasContainer(rule)
}

// meetable reports whether some pod can meet the requirement of a rule. None can if the
// rule has no conditions and lists no exit code other than 0.
func meetable(rule *batch.PodFailurePolicyRule) bool {
	on := rule.OnExitCodes
	switch {
	case on == nil:
		return len(rule.OnPodConditions) > 0
	case on.Operator == batch.OpIn:
		return slices.ContainsFunc(on.Values, func(v int32) bool { return v != 0 })
	}
	return on.Operator == batch.OpNotIn
}

// hasContainer reports whether the template has the container that the rule names, if
// any. A specification without containers may have any.
func (c *checker) hasContainer(rule *batch.PodFailurePolicyRule) bool {
	on, pod := rule.OnExitCodes, &c.spec.Template.Spec
	if on == nil || on.ContainerName == nil || len(pod.Containers)+len(pod.InitContainers) == 0 {
		return true
	}
	named := func(container batch.Container) bool { return container.Name == *on.ContainerName }
	return slices.ContainsFunc(pod.Containers, named) || slices.ContainsFunc(pod.InitContainers, named)
}

// covers reports whether a matches every pod that b matches.
//
// A pod meets a rule through one container or one condition, and it may have any others
// beside it. So it suffices to compare single containers and conditions.
func covers(a, b *batch.PodFailurePolicyRule) bool {
	switch {
	case a.OnExitCodes != nil && b.OnExitCodes != nil:
		return coversContainer(a.OnExitCodes, b.OnExitCodes) && coversCodes(a.OnExitCodes, b.OnExitCodes)
	case a.OnExitCodes == nil && b.OnExitCodes == nil:
		return !slices.ContainsFunc(b.OnPodConditions, func(o batch.OnPodCondition) bool { return !slices.Contains(a.OnPodConditions, o) })
	}
	return false
}

// coversContainer reports whether a looks at every container that b looks at.
func coversContainer(a, b *batch.OnExitCodes) bool {
	return a.ContainerName == nil || b.ContainerName != nil && *a.ContainerName == *b.ContainerName
}

// coversCodes reports whether every exit code that meets b meets a. Both can be met.
func coversCodes(a, b *batch.OnExitCodes) bool {
	switch {
	case b.Operator == batch.OpIn:
		return !slices.ContainsFunc(b.Values, func(v int32) bool { return v != 0 && !meets(a, v) })
	case a.Operator == batch.OpNotIn: // b is NotIn, too
		return !slices.ContainsFunc(a.Values, func(v int32) bool { return v != 0 && !slices.Contains(b.Values, v) })
	}
	return false // a list does not cover all codes but a few
}

// meets reports whether an exit code meets the requirement. 0 never does.
func meets(on *batch.OnExitCodes, code int32) bool {
	met, _ := exitcode.Matches(on.Operator, on.Values, code)
	return met && code != 0
}

// isAnyFailure reports whether the rule matches every failure of any container.
func isAnyFailure(rule *batch.PodFailurePolicyRule) bool {
	on := rule.OnExitCodes
	return on != nil && on.ContainerName == nil && coversCodes(on, &batch.OnExitCodes{Operator: batch.OpNotIn})
}

// value is one listed exit code or one condition pattern of a rule. It has the form of a
// rule, so that covers can compare it with other rules.
type value struct {
	position int
	rule     batch.PodFailurePolicyRule
}

// valuesOf returns the listed exit codes of a rule, except 0, or its patterns. A rule
// with NotIn lists no codes that it matches.
func valuesOf(rule *batch.PodFailurePolicyRule) (values []value) {
	if on := rule.OnExitCodes; on != nil {
		for k, v := range on.Values {
			if on.Operator == batch.OpIn && v != 0 {
				one := batch.OnExitCodes{ContainerName: on.ContainerName, Operator: batch.OpIn, Values: []int32{v}}
				values = append(values, value{k, batch.PodFailurePolicyRule{OnExitCodes: &one}})
			}
		}
		return values
	}
	for k, o := range rule.OnPodConditions {
		values = append(values, value{k, batch.PodFailurePolicyRule{OnPodConditions: []batch.OnPodCondition{o}}})
	}
	return values
}

// decision says which rule decides on a listed value first.
type decision struct{ position, by int }

// decidedBefore returns the listed values of rule i on which earlier rules decide.
func (c *checker) decidedBefore(i int) (decided []decision) {
	rules := c.spec.PodFailurePolicy.Rules
	for _, v := range valuesOf(&rules[i]) {
		for j := range i {
			if c.canDecide(j) && covers(&rules[j], &v.rule) {
				decided = append(decided, decision{v.position, j})
				break
			}
		}
	}
	return decided
}

// deciders returns the rules that decide, in order.
func deciders(decided []decision) (rules []int) {
	for _, d := range decided {
		rules = append(rules, d.by)
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// repeated reports listed values on which earlier rules decide, and patterns that the
// rule lists twice.
func (c *checker) repeated(i int) {
	rule := &c.spec.PodFailurePolicy.Rules[i]
	field, text := rulePath(i, "onPodConditions"), patternText(rule)
	if rule.OnExitCodes != nil {
		field, text = rulePath(i, "onExitCodes.values"), codeText(rule)
	}
	var shadowed, twice []int
	decided := c.decidedBefore(i)
	for _, d := range decided {
		shadowed = append(shadowed, d.position)
	}
	for k, o := range rule.OnPodConditions {
		if rule.OnExitCodes == nil && slices.Contains(rule.OnPodConditions[:k], o) && !slices.Contains(shadowed, k) {
			twice = append(twice, k)
		}
	}
	if len(shadowed) > 0 {
		by := deciders(decided)
		c.add(KindShadowed, c.severity(i, by), i, field, fmt.Sprintf(
			"%s %s first; remove %s from one of the rules", plural(by, "decides on", "decide on"), listText(shadowed, text), itOrThem(shadowed)))
	}
	if len(twice) > 0 {
		c.add(KindDuplicate, SeverityNotice, i, field, fmt.Sprintf("the rule repeats %s; list %s once", listText(twice, text), itOrThem(twice)))
	}
}

// impossibleCodes reports exit codes that no container on Linux has, and returns whether
// the rule has others. On Windows an exit code has 32 bits. Those below -255 are never
// written for Linux, so they are only reported in a pod that asks for Linux.
func (c *checker) impossibleCodes(i int) (possible bool) {
	rule := &c.spec.PodFailurePolicy.Rules[i]
	system := systemOf(&c.spec.Template.Spec)
	on := rule.OnExitCodes
	var odd []int
	possible = on.Operator == batch.OpNotIn
	for k, v := range on.Values {
		switch {
		case v == 0:
		case system == "windows", v > 0 && v <= 255, system == "" && v < -255:
			possible = true
		default:
			odd = append(odd, k)
		}
	}
	if len(odd) == 0 {
		return possible
	}
	severity, text, remedy := SeverityNotice, "no container on Linux exits with "+listText(odd, codeText(rule)), "remove "+itOrThem(odd)
	if !possible {
		severity, text, remedy = SeverityWarning, "the rule decides only on exit codes below 0 or above 255, which no container on Linux has", "list codes from 1 to 255"
	}
	if system == "" {
		remedy += ", or set os.name to windows in the template if it is for Windows"
	}
	c.add(KindImpossibleCode, severity, i, rulePath(i, "onExitCodes.values"), text+"; "+remedy)
	return possible
}

// systemOf returns the operating system that the pod asks for, "" if it does not say.
func systemOf(pod *batch.PodSpec) string {
	if pod.OS != nil && pod.OS.Name != "" {
		return pod.OS.Name
	}
	for _, label := range []string{"kubernetes.io/os", "beta.kubernetes.io/os"} {
		if system := pod.NodeSelector[label]; system != "" {
			return system
		}
	}
	return ""
}

// podConditions are the conditions that Kubernetes itself sets, in any version from 1.25
// on (core/v1 of v1.38.0-beta.0; PodHasNetwork is PodReadyToStartContainers up to 1.27).
var podConditions = []string{
	"DisruptionTarget", "Ready", "ContainersReady", "Initialized", "PodScheduled", "PodReadyToStartContainers",
	"PodResizePending", "PodResizeInProgress", "AllContainersRestarting", "PodHasNetwork",
}

// insteadOf says what to use instead of names that are often taken for conditions.
var insteadOf = map[string]string{
	"OOMKilled":   "it is the reason of a container's end; use onExitCodes with 137",
	"Error":       "it is the reason of a container's end; use onExitCodes",
	"Evicted":     "it is the reason of a pod; use DisruptionTarget, which evicted pods have",
	"Preempted":   "it is the reason of an event; use DisruptionTarget, which preempted pods have",
	"Failed":      "it is the phase of a pod; use onExitCodes with NotIn [0] for any failure",
	"ConfigIssue": "it is an example in the documentation; if a controller of yours sets it, give it a domain, such as example.com/ConfigIssue",
}

// unknownConditions reports conditions without a domain that no part of Kubernetes sets.
// Controllers outside Kubernetes set others, by convention with a domain.
func (c *checker) unknownConditions(i int) {
	rule := &c.spec.PodFailurePolicy.Rules[i]
	reported := make(map[batch.PodConditionType]bool)
	for k, o := range rule.OnPodConditions {
		name := string(o.Type)
		if reported[o.Type] || !c.isUnknown(o.Type) {
			continue
		}
		reported[o.Type] = true
		advice := insteadOf[name]
		if near := spelling.Nearest(name, podConditions); advice == "" && near != "" {
			advice = "use " + near + " if it is meant"
		}
		if advice == "" {
			advice = "if a controller of yours sets it, give it a domain, such as example.com/" + quote.Plain(name)
		}
		c.add(KindUnknownCondition, SeverityWarning, i, rulePath(i, fmt.Sprintf("onPodConditions[%d].type", k)), fmt.Sprintf(
			"no part of Kubernetes sets the condition %s; %s", quote.Plain(name), advice))
	}
}

// isUnknown reports whether nobody sets a condition: no part of Kubernetes, no readiness
// gate of the pod, and no other controller, by its name.
func (c *checker) isUnknown(condition batch.PodConditionType) bool {
	isGate := slices.ContainsFunc(c.spec.Template.Spec.ReadinessGates, func(g batch.PodReadinessGate) bool { return g.ConditionType == condition })
	return !isGate && !strings.Contains(string(condition), "/") && !slices.Contains(podConditions, string(condition))
}

// effective returns rule i without the exit codes and conditions that have no effect, because
// earlier rules decide on them or because no pod has them. decides is false if nothing is left
// of the rule.
func (c *checker) effective(i int) (rule batch.PodFailurePolicyRule, decides bool) {
	rule = c.spec.PodFailurePolicy.Rules[i]
	if why, _ := c.unreachable(i); why != "" {
		return rule, false
	}
	if rule.OnExitCodes != nil {
		rule.OnExitCodes = c.undecided(i)
		scratch := checker{spec: c.spec}
		scratch.spec.PodFailurePolicy = &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{rule}}
		return rule, scratch.impossibleCodes(0)
	}
	decided := c.decidedBefore(i)
	var left []batch.OnPodCondition
	for k, o := range rule.OnPodConditions {
		isDecided := slices.ContainsFunc(decided, func(d decision) bool { return d.position == k })
		if !isDecided && !c.isUnknown(o.Type) {
			left = append(left, o)
		}
	}
	rule.OnPodConditions = left
	return rule, len(left) > 0
}

// undecided returns the exit codes of rule i on which no earlier rule decides, in order.
func (c *checker) undecided(i int) *batch.OnExitCodes {
	rules := rulesOf(&c.spec)
	left := *rules[i].OnExitCodes
	left.Values = slices.Clone(left.Values)
	for j := range i {
		earlier := rules[j].OnExitCodes
		if earlier == nil || !c.canDecide(j) || !coversContainer(earlier, &left) {
			continue
		}
		switch {
		case left.Operator == batch.OpIn:
			left.Values = slices.DeleteFunc(left.Values, func(code int32) bool { return meets(earlier, code) })
		case earlier.Operator == batch.OpIn:
			left.Values = append(left.Values, earlier.Values...)
		default: // both are NotIn, which leaves the codes that only the earlier rule excludes
			excluded := left.Values
			left.Operator = batch.OpIn
			left.Values = slices.DeleteFunc(slices.Clone(earlier.Values), func(code int32) bool { return slices.Contains(excluded, code) })
		}
	}
	slices.Sort(left.Values)
	left.Values = slices.Compact(left.Values)
	return &left
}

// killedBefore returns the first rule before rule i that does not ignore its pods and
// matches every container which a disruption ends, with exit code 137 or 143. It returns -1 if
// there is no such rule, or if a rule before it may decide on these pods.
func (c *checker) killedBefore(i int) int {
	pod := &c.spec.Template.Spec
	rules := rulesOf(&c.spec)[:i]
	first := slices.IndexFunc(rules, func(r batch.PodFailurePolicyRule) bool {
		on := r.OnExitCodes
		if on == nil || !r.Action.Known() || r.Action == batch.ActionIgnore || systemOf(pod) == "windows" {
			return false
		}
		isAll := on.ContainerName == nil || len(pod.Containers) == 1 && len(pod.InitContainers) == 0 && pod.Containers[0].Name == *on.ContainerName
		return isAll && meets(on, 137) && meets(on, 143)
	})
	decidesEarlier := func(r batch.PodFailurePolicyRule) bool {
		return r.Action.Known() && (matchesDisruption(&r) || r.OnExitCodes != nil && (meets(r.OnExitCodes, 137) || meets(r.OnExitCodes, 143)))
	}
	if first > 0 && slices.ContainsFunc(rules[:first], decidesEarlier) {
		return -1
	}
	return first
}

// drainedBefore reports rule i if it ignores disruptions and an earlier rule counts most
// of them. One that fails the Job for them is reported itself.
func (c *checker) drainedBefore(i int) {
	rules := rulesOf(&c.spec)
	if rules[i].Action != batch.ActionIgnore || !matchesDisruption(&rules[i]) {
		return
	}
	if j := c.killedBefore(i); j >= 0 && rules[j].Action != batch.ActionFailJob {
		c.add(KindDrain, SeverityWarning, i, rulePath(i, "onPodConditions"), fmt.Sprintf(
			"a drained node or a preemption ends containers with exit code 137 or 143, on which rule %d decides first, so such a pod is not ignored; move this rule before rule %d", j, j))
	}
}

// drain reports rule i if it is a FailJob rule that a disruption can trigger. On Linux, a
// drained node or a preemption ends containers with exit code 137 or 143. If a FailJob
// rule matches one of these codes, a rule for the condition DisruptionTarget must come
// before it (KEP-3329, "Story 3").
func (c *checker) drain(i int) {
	rules := rulesOf(&c.spec)
	rule := &rules[i]
	if rule.Action != batch.ActionFailJob || rule.OnExitCodes == nil || systemOf(&c.spec.Template.Spec) == "windows" {
		return
	}
	killed := func(code int32) bool {
		one := batch.PodFailurePolicyRule{OnExitCodes: &batch.OnExitCodes{ContainerName: rule.OnExitCodes.ContainerName, Operator: batch.OpIn, Values: []int32{code}}}
		return meets(rule.OnExitCodes, code) && !slices.ContainsFunc(rules[:i], func(r batch.PodFailurePolicyRule) bool { return r.Action.Known() && covers(&r, &one) })
	}
	if !killed(137) && !killed(143) {
		return
	}
	fix := "put a rule for the condition DisruptionTarget before it"
	for j := range rules {
		if rules[j].Action.Known() && matchesDisruption(&rules[j]) {
			if j < i {
				return
			}
			fix = fmt.Sprintf("move rule %d for the condition DisruptionTarget before it", j)
			break
		}
	}
	c.add(KindDrain, SeverityWarning, i, rulePath(i, "onExitCodes"),
		"a drained node or a preemption ends containers with exit code 137 or 143, for which this rule fails the Job; "+fix)
}

// disruption is the pattern of pods that are about to be killed for a reason outside the
// Job, such as a drained node.
var disruption = batch.OnPodCondition{Type: batch.DisruptionTarget, Status: batch.ConditionTrue}

// matchesDisruption reports whether the rule matches every disrupted pod.
func matchesDisruption(rule *batch.PodFailurePolicyRule) bool {
	return rule.OnExitCodes == nil && slices.Contains(rule.OnPodConditions, disruption)
}

// ignoresOwnFailures reports whether a rule ignores failures of the Job's own programs,
// and not only disruptions, which have reasons outside the Job.
func ignoresOwnFailures(rule *batch.PodFailurePolicyRule) bool {
	if rule.Action != batch.ActionIgnore {
		return false
	}
	return rule.OnExitCodes != nil || slices.ContainsFunc(rule.OnPodConditions, func(o batch.OnPodCondition) bool { return o != disruption })
}

// endless reports rules that ignore failures of the Job's own programs in a Job without
// a deadline. No limit counts them, so a program that always fails so is restarted for
// ever. Conditions count only if the kubelet sets them on every failed pod.
func (c *checker) endless(i int) {
	if c.spec.ActiveDeadlineSeconds != nil {
		return
	}
	rule, decides := c.effective(i)
	if !decides || !ignoresOwnFailures(&rule) {
		return
	}
	field := "onExitCodes"
	var what string
	if on := rule.OnExitCodes; on != nil {
		what = codesText(&rule)
		if on.ContainerName != nil {
			what = "of container " + quote.Plain(*on.ContainerName) + " " + what
		}
	} else {
		always := slices.IndexFunc(rule.OnPodConditions, onEveryFailedPod)
		if always < 0 {
			return
		}
		field, what = "onPodConditions", "with the condition "+patternText(&rule)(always)+", which every failed pod has,"
	}
	c.add(KindEndless, SeverityWarning, i, rulePath(i, field), fmt.Sprintf(
		"failures %s never count, not even towards backoffLimit, and nothing else ends a Job that always fails so; set activeDeadlineSeconds or count them", what))
}

// codesText describes the exit codes of a rule, of which it lists a few, without 0.
func codesText(rule *batch.PodFailurePolicyRule) string {
	var positions []int
	for k, v := range rule.OnExitCodes.Values {
		if v != 0 {
			positions = append(positions, k)
		}
	}
	codes := listText(positions, codeText(rule))
	switch {
	case rule.OnExitCodes.Operator == batch.OpIn:
		return "with exit code " + codes
	case codes == "":
		return "with any exit code"
	}
	return "with any exit code but " + codes
}

// onEveryFailedPod reports whether the kubelet sets the condition, with this status, on
// every pod that has run and failed.
func onEveryFailedPod(o batch.OnPodCondition) bool {
	switch o.Type {
	case batch.PodReady, "ContainersReady", "PodReadyToStartContainers":
		return o.Status == batch.ConditionFalse
	case "PodScheduled":
		return o.Status == batch.ConditionTrue
	}
	return false
}

func codeText(rule *batch.PodFailurePolicyRule) func(int) string {
	return func(k int) string { return strconv.Itoa(int(rule.OnExitCodes.Values[k])) }
}

func patternText(rule *batch.PodFailurePolicyRule) func(int) string {
	return func(k int) string {
		o := &rule.OnPodConditions[k]
		return quote.Plain(fmt.Sprintf("%s=%s", o.Type, o.Status))
	}
}

// listText lists a few of the items at these positions.
func listText(positions []int, text func(int) string) string {
	const most = 5
	var parts []string
	for _, k := range positions[:min(len(positions), most)] {
		parts = append(parts, text(k))
	}
	if n := len(positions); n > most {
		return fmt.Sprintf("%s and %d more", strings.Join(parts, ", "), n-most)
	}
	return strings.Join(parts, ", ")
}

// plural returns the rules followed by the verb.
func plural(rules []int, one, many string) string {
	last := len(rules) - 1
	if last == 0 {
		return fmt.Sprintf("rule %d %s", rules[0], one)
	}
	var parts []string
	for _, r := range rules[:last] {
		parts = append(parts, strconv.Itoa(r))
	}
	return fmt.Sprintf("rules %s and %d %s", strings.Join(parts, ", "), rules[last], many)
}

func itOrThem(positions []int) string {
	if len(positions) == 1 {
		return "it"
	}
	return "them"
}
