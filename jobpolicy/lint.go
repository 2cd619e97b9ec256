package jobpolicy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/internal/quote"
)

// Finding is something in a specification that is valid but surely not meant.
type Finding struct {
	Check    Check
	Rule     int    // index of the rule that it is about, -1 if it is about none
	Field    string // path of the field, as in FieldError
	Severity Severity
	Text     string // one sentence: what happens, and what to do about it
}

// String returns the finding as one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s: %s (%s)", f.Field, f.Severity, f.Text, f.Check)
}

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	SeverityWarning Severity = "warning" // the Job can end, or go on, where the text says otherwise
	SeverityNotice  Severity = "notice"  // a part of the text has no effect
)

// Check names what Lint looks for.
type Check string

// What Lint looks for.
const (
	CheckUnreachable    Check = "unreachable"     // a rule that decides on no pod
	CheckShadowed       Check = "shadowed"        // listed codes or patterns on which earlier rules decide
	CheckDuplicate      Check = "duplicate"       // a pattern that is there twice
	CheckImpossibleCode Check = "impossible-code" // exit codes that no container on Linux has
	CheckDrain          Check = "drain"           // a drained node fails the Job
	CheckSuccessNever   Check = "success-never"   // a success rule that cannot be met
	CheckSuccessAlways  Check = "success-always"  // a success rule that any success meets
	CheckOnFailure      Check = "on-failure"      // a limit per index that does not see failures
	CheckSize           Check = "size"            // a status that can outgrow an API object
)

// Lint returns what in a specification is valid but surely not meant, in the
// order of the fields; a specification straight from a manifest will do. It is
// exact about rules that decide on no pod: there is a finding if and only if no
// pod, whatever its containers and conditions, reaches the rule. For a
// specification that Validate refuses it does what it can.
func (s *JobSpec) Lint() []Finding {
	if s == nil {
		return nil
	}
	l := &linter{spec: *s}
	l.spec.Default()
	l.policy()
	l.successPolicy()
	l.limits()
	return l.findings
}

type linter struct {
	spec     JobSpec // with defaults
	findings []Finding
}

func (l *linter) add(c Check, severity Severity, rule int, field, text string) {
	l.findings = append(l.findings, Finding{Check: c, Rule: rule, Field: field, Severity: severity, Text: text})
}

// policy looks at the rules of the pod failure policy.
func (l *linter) policy() {
	for i, reach := range l.spec.reach() {
		rule := &l.spec.PodFailurePolicy.Rules[i]
		if !reach.decides {
			l.unreachable(i, rule, reach)
			continue
		}
		list, values := "onPodConditions", patternText(rule)
		if rule.OnExitCodes != nil {
			list, values = "onExitCodes.values", codeText(rule)
		}
		field := func(name string) string { return fmt.Sprintf("spec.podFailurePolicy.rules[%d].%s", i, name) }
		if len(reach.dead) > 0 {
			l.add(CheckShadowed, l.severity(rule, reach.takers), i, field(list), fmt.Sprintf(
				"%s first on %s; leave %s out here or there", plural(reach.takers, "decides", "decide"), listText(reach.dead, values), itOrThem(reach.dead)))
		}
		if len(reach.twice) > 0 {
			l.add(CheckDuplicate, SeverityNotice, i, field(list), fmt.Sprintf("the rule has %s twice; once is enough", listText(reach.twice, values)))
		}
		l.impossibleCodes(i, rule, reach, field("onExitCodes.values"))
		l.drain(i, rule, reach, field("onExitCodes"))
	}
}

// unreachable says why a rule decides on no pod.
func (l *linter) unreachable(i int, rule *PodFailurePolicyRule, reach ruleReach) {
	warn := func(text string) {
		l.add(CheckUnreachable, l.severity(rule, reach.takers), i, fmt.Sprintf("spec.podFailurePolicy.rules[%d]", i), text)
	}
	first := "rule " + strconv.Itoa(reach.taker)
	switch {
	case !rule.Action.Known():
		warn(fmt.Sprintf("the rule is skipped, its action %s is unknown; use Count, FailIndex, FailJob or Ignore", quote.Text(string(rule.Action))))
	case reach.taker >= 0 && l.sameButFailIndex(rule, reach.taker):
		warn(first + " fails the index for the same failures, so the Job is never failed by this rule; keep the one that is meant")
	case reach.taker >= 0 && isAnyFailure(&l.spec.PodFailurePolicy.Rules[reach.taker]):
		warn(first + " matches any failure (NotIn [0]), so this rule decides on no pod; put it before " + first)
	case reach.taker >= 0:
		warn(first + " matches every pod that this rule matches, so this rule decides on none; put it before " + first + " or leave it out")
	case len(reach.takers) > 0:
		warn(plural(reach.takers, "matches", "together match") + " every pod that this rule matches, so it decides on none; put it before them or leave it out")
	case rule.OnExitCodes != nil && len(rule.OnExitCodes.codes()) > 0:
		warn(fmt.Sprintf("the template has no container %s, so the rule matches no pod; name one of its containers", quote.Text(*rule.OnExitCodes.ContainerName)))
	default:
		warn("no pod can meet the rule's requirement; give it exit codes other than 0, or conditions")
	}
}

// severity of text that earlier rules make void: it does no harm if they do the
// same.
func (l *linter) severity(rule *PodFailurePolicyRule, takers []int) Severity {
	for _, j := range takers {
		if l.spec.PodFailurePolicy.Rules[j].Action != rule.Action {
			return SeverityWarning
		}
	}
	if len(takers) == 0 {
		return SeverityWarning
	}
	return SeverityNotice
}

// sameButFailIndex reports whether a FailJob rule has the requirement of an
// earlier FailIndex rule.
func (l *linter) sameButFailIndex(rule *PodFailurePolicyRule, taker int) bool {
	earlier := &l.spec.PodFailurePolicy.Rules[taker]
	if rule.Action != PodFailurePolicyActionFailJob || earlier.Action != PodFailurePolicyActionFailIndex {
		return false
	}
	if rule.OnExitCodes == nil {
		return !slices.ContainsFunc(earlier.OnPodConditions, func(o OnPodCondition) bool { return !rule.hasPattern(o.Type, o.status()) })
	}
	a, b := rule.OnExitCodes, earlier.OnExitCodes
	return equalPtr(a.ContainerName, b.ContainerName) && slices.Equal(a.codes(), b.codes())
}

// isAnyFailure reports whether the rule is NotIn 0 for any container.
func isAnyFailure(rule *PodFailurePolicyRule) bool {
	on := rule.OnExitCodes
	return on != nil && on.ContainerName == nil && slices.Equal(on.codes(), allCodes())
}

// impossibleCodes: on Linux an exit code is from 0 to 255.
func (l *linter) impossibleCodes(i int, rule *PodFailurePolicyRule, reach ruleReach, field string) {
	if rule.OnExitCodes == nil {
		return
	}
	if !reach.onLinux {
		l.add(CheckImpossibleCode, SeverityWarning, i, field,
			"the rule decides only on exit codes below 0 or above 255, which no container on Linux has; list codes from 1 to 255")
		return
	}
	var odd []int
	for k, v := range rule.OnExitCodes.Values {
		if v < 0 || v > 255 {
			odd = append(odd, k)
		}
	}
	if len(odd) > 0 {
		l.add(CheckImpossibleCode, SeverityNotice, i, field, fmt.Sprintf(
			"no container on Linux exits with %s; leave %s out", listText(odd, codeText(rule)), itOrThem(odd)))
	}
}

// drain: the containers of a pod that is told to go, by a drained node or for a
// pod of higher priority, end with 137 or 143. A rule that fails the Job for
// these needs one for the disruption before it (KEP-3329, "Story 3").
func (l *linter) drain(i int, rule *PodFailurePolicyRule, reach ruleReach, field string) {
	if rule.Action != PodFailurePolicyActionFailJob || !reach.killed {
		return
	}
	fix := "put a rule for the condition DisruptionTarget before it"
	for j := range l.spec.PodFailurePolicy.Rules {
		if r := &l.spec.PodFailurePolicy.Rules[j]; r.Action.Known() && r.hasPattern(DisruptionTarget, ConditionTrue) {
			if j < i {
				return
			}
			fix = fmt.Sprintf("move rule %d for the condition DisruptionTarget before it", j)
			break
		}
	}
	l.add(CheckDrain, SeverityWarning, i, field,
		"a drained node or a preemption ends containers with exit code 137 or 143, for which this rule fails the Job; "+fix)
}

// successPolicy looks for rules that are met by nothing or by anything.
func (l *linter) successPolicy() {
	if l.spec.SuccessPolicy == nil || l.spec.CompletionMode != IndexedCompletion || l.spec.Completions == nil {
		return
	}
	completions := int(*l.spec.Completions)
	rules := l.spec.SuccessPolicy.Rules
	for i := range rules[:min(len(rules), maxSuccessRules)] {
		rule := &rules[i]
		field := fmt.Sprintf("spec.successPolicy.rules[%d]", i)
		among := completions
		if rule.SucceededIndexes != nil {
			set, _ := indexset.ParseLenient(*rule.SucceededIndexes)
			among = set.Clip(completions).Len()
		}
		switch count := rule.SucceededCount; {
		case completions <= 0:
			l.add(CheckSuccessNever, SeverityWarning, i, field, "without completions no index ever succeeds; leave the policy out")
		case rule.SucceededIndexes == nil && count == nil:
			l.add(CheckSuccessNever, SeverityWarning, i, field, "the rule has neither indexes nor a count, so it is never met; give it one")
		case among == 0:
			l.add(CheckSuccessNever, SeverityWarning, i, field+".succeededIndexes", "the rule names no index of the Job, so it is never met; name some or leave the field out")
		case count != nil && *count <= 0:
			l.add(CheckSuccessAlways, SeverityWarning, i, field+".succeededCount", "the first success of any index meets the rule and ends the Job; use a count of 1 or more")
		case rule.SucceededIndexes == nil && int(*count) > completions: // with indexes, all of them suffice
			l.add(CheckSuccessNever, SeverityWarning, i, field+".succeededCount", fmt.Sprintf("only %d indexes can succeed, so the rule is never met; use a lower count", completions))
		}
	}
}

// maxObjectBytes is what etcd takes for one object by default.
const maxObjectBytes = 3 << 19

// limits looks at limits that do not work out.
func (l *linter) limits() {
	if l.spec.BackoffLimitPerIndex != nil && l.spec.Template.Spec.RestartPolicy == RestartPolicyOnFailure {
		l.add(CheckOnFailure, SeverityWarning, -1, "spec.backoffLimitPerIndex",
			"under OnFailure containers are restarted in place, and no limit per index sees that; use restartPolicy Never")
	}
	if bound, err := (Engine{}).WorstCase(&l.spec); err == nil && bound.IndexBytes > maxObjectBytes {
		l.add(CheckSize, SeverityWarning, -1, "spec.parallelism", fmt.Sprintf(
			"the indexes in the status can grow to %d bytes, and an API object to %d; lower parallelism or completions", bound.IndexBytes, maxObjectBytes))
	}
}

func codeText(rule *PodFailurePolicyRule) func(int) string {
	return func(k int) string { return strconv.Itoa(int(rule.OnExitCodes.Values[k])) }
}

func patternText(rule *PodFailurePolicyRule) func(int) string {
	return func(k int) string {
		o := &rule.OnPodConditions[k]
		text := fmt.Sprintf("%s=%s", o.Type, o.status())
		if quoted := quote.Text(text); quoted != `"`+text+`"` {
			return quoted // it is long or not printable
		}
		return text
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

// plural names rules and what they do.
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
