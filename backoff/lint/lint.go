// Package lint finds likely mistakes in a valid [backoff.ExitPolicy], such as a rule
// that never decides because an earlier one does, a limit never used up, or a
// restart that can repeat without any delay.
//
// For a container in Kubernetes, RestartPolicy is the container's own restartPolicy. Rules
// require it, and it replaces the pod's. So in a pod of a Deployment, StatefulSet,
// DaemonSet or ReplicaSet, whose restartPolicy must be Always, a rule that restarts the
// container matters only if the container's own restartPolicy is OnFailure or Never.
// Otherwise Check reports the rule as [KindNoEffect]. RestartAllContainers always matters.
package lint

import (
	"fmt"
	"strings"
	"time"

	"github.com/restartkit/restart/backoff"
)

// Finding is a likely mistake in a policy.
type Finding struct {
	Kind  Kind
	Rule  int    // index of the rule, or -1 for the policy's own fields
	Field string // path of the field, as in field.Error
	Text  string // one sentence stating the effect and a remedy
}

// String returns the finding in one line.
func (f Finding) String() string { return fmt.Sprintf("%s: %s (%s)", f.Field, f.Text, f.Kind) }

// Kind is the kind of a finding.
type Kind string

// The kinds of findings.
const (
	KindUnreachable    Kind = "unreachable"       // a rule that decides on no exit
	KindNoEffect       Kind = "no-effect"         // a rule or field that changes no decision
	KindLimitNeverHit  Kind = "limit-never-hit"   // a limit that cannot be used up
	KindDelayTooLong   Kind = "delay-too-long"    // delays so long that no window holds two restarts
	KindHotLoop        Kind = "hot-loop"          // restarts that can repeat without any delay or limit
	KindGiveUpTooShort Kind = "give-up-too-short" // a give-up that ends sooner than the delay before it
	KindUnusualCode    Kind = "unusual-code"      // exit codes that no process on Linux has
)

// Check returns the likely mistakes in a policy, in the order of its rules and then of
// its own fields. A policy that Validate rejects has none.
//
// Check takes every field as it is. If a Restarter will replace zero fields,
// set them before, above all Delay, because nil means CrashLoop.
//
// Check reports only what no sequence of exits can disprove, and so it misses some
// mistakes. It compares each rule with one earlier rule at a time, and does not see that
// two of them together leave nothing to a third. It takes the shortest runs and delays
// for those between two restarts.
//
// It assumes that decisions are followed: nothing starts before CanStart allows it or
// long after, RestartNow does not cut waits short, every exit is reported when it
// happens, and no clock is set. It also assumes that an exit with a code of 128+n has
// either no Signal or the signal n, for n from 1 to 64.
func Check(p backoff.ExitPolicy) []Finding {
	if p.Validate() != nil {
		return nil
	}
	c := newChecker(&p)
	for i := range p.Rules {
		c.checkRule(i)
	}
	c.checkPolicy()
	return c.findings
}

// checker looks for mistakes in one valid policy.
type checker struct {
	policy *backoff.ExitPolicy
	curve  backoff.Policy // of the policy
	rules  []exits        // that meet the conditions of each rule
	dead   []string       // by rule: why it decides on no exit, or ""

	// sources are the rules that can restart after an exit that counts as a failure. One
	// without conditions stands for the restart policy.
	sources []*backoff.Rule

	findings []Finding
}

func newChecker(p *backoff.ExitPolicy) *checker {
	c := &checker{policy: p, curve: backoff.CrashLoop()}
	if p.Delay != nil {
		c.curve = *p.Delay
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		e := exitsOf(r, c.curve)
		dead := e.empty(r)
		if j := c.hiding(&e); dead == "" && j >= 0 {
			dead = fmt.Sprintf("rule %s decides on every exit that this rule matches; remove this rule, or move it up", c.nameOf(j))
		}
		c.rules, c.dead = append(c.rules, e), append(c.dead, dead)
		if dead == "" && counts(r) {
			c.sources = append(c.sources, r)
		}
	}
	if r := restartRule(p.RestartPolicy); r != nil {
		if e := exitsOf(r, c.curve); c.hiding(&e) < 0 {
			c.sources = append(c.sources, r)
		}
	}
	return c
}

// restartRule returns a rule that does what a restart policy does, or nil if that
// restarts nothing.
func restartRule(p backoff.RestartPolicy) *backoff.Rule {
	switch p {
	case backoff.RestartPolicyNever:
		return nil
	case backoff.RestartPolicyOnFailure:
		return &backoff.Rule{
			Action:    backoff.ActionRestart,
			ExitCodes: &backoff.ExitCodes{Operator: backoff.OperatorNotIn, Values: []int32{0}},
		}
	}
	return &backoff.Rule{Action: backoff.ActionRestart}
}

// counts reports whether a rule restarts after exits that count as failures.
func counts(r *backoff.Rule) bool { return r.Action != backoff.ActionGiveUp && !r.Uncounted }

// hiding returns the first of the rules so far that decides on all of the exits, or -1.
func (c *checker) hiding(e *exits) int {
	for j := range c.rules {
		if c.rules[j].covers(e) {
			return j
		}
	}
	return -1
}

// nameOf names a rule in a text.
func (c *checker) nameOf(i int) string {
	if name := c.policy.Rules[i].Name; name != "" {
		return name
	}
	return pathOf(i)
}

// pathOf returns the path of a rule, or "" for the policy.
func pathOf(i int) string {
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("restartPolicyRules[%d]", i)
}

// add adds a finding about a field of a rule, or of the policy if rule is -1. An empty
// field stands for the rule itself.
func (c *checker) add(kind Kind, rule int, field, format string, args ...any) {
	path := pathOf(rule)
	if path != "" && field != "" {
		path += "."
	}
	c.findings = append(c.findings, Finding{Kind: kind, Rule: rule, Field: path + field, Text: fmt.Sprintf(format, args...)})
}

// checkRule looks at one rule.
func (c *checker) checkRule(i int) {
	r := &c.policy.Rules[i]
	if codes := unusualCodes(r.ExitCodes); len(codes) > 0 {
		c.add(KindUnusualCode, i, "exitCodes.values", "exit codes on Linux are 0 to 255, so only Windows can have %s; remove such codes unless this runs there", strings.Join(codes, ", "))
	}
	if why := c.dead[i]; why != "" {
		c.add(KindUnreachable, i, "", "%s", why)
		return
	}
	if !c.checkMinFailures(i) {
		return
	}
	if c.isRedundant(i) {
		c.add(KindNoEffect, i, "", "the restart policy restarts after each of these exits anyway; remove this rule, or change restartPolicy")
	}
	if r.Uncounted && r.Delay == nil && r.RanAtLeast == 0 {
		c.add(KindHotLoop, i, "uncounted", "each of these exits restarts at once and without a limit, so a program that always ends like this loops without a pause; set delay or ranAtLeast")
	}
	c.checkFreeFailures(i)
	if r.Limit > 0 {
		c.checkLimit(i, []*backoff.Rule{r}, r.Limit, r.Window)
	}
}

// checkFreeFailures looks for a loop of restarts without a delay that nothing ends.
func (c *checker) checkFreeFailures(i int) {
	r := &c.policy.Rules[i]
	if !counts(r) || r.Delay == nil || r.Delay.FreeFailures < manyFree || r.RanAtLeast > 0 {
		return
	}
	// A count without a window starts over after a run that is longer than the reset.
	limited := func(limit int, window, reset time.Duration) bool {
		return limit > 0 && (window > 0 || reset >= shortReset)
	}
	reset := c.curve.ResetThreshold()
	switch {
	case limited(c.policy.Retries, 0, reset), r.Limit == 0 && limited(c.policy.Limit, c.policy.Window, reset), limited(r.Limit, r.Window, r.Delay.ResetThreshold()):
		return
	case r.Limit > 0:
		c.add(KindHotLoop, i, "delay.resetAfter", "each run longer than %v starts the count of the limit over, so a program that always ends like this restarts at once for ever; set delay.resetAfter or window", r.Delay.ResetThreshold())
		return
	}
	for j := range i {
		if earlier := &c.policy.Rules[j]; earlier.Action == backoff.ActionGiveUp && earlier.MinFailures > 0 && !c.rules[j].isDisjoint(&c.rules[i]) {
			return // it may give up
		}
	}
	c.add(KindHotLoop, i, "delay.freeFailures", "so many of these exits in a row restart at once and without a limit that a program that always ends like this loops without a pause; set limit or ranAtLeast")
}

const (
	manyFree   = 1000        // failures without a delay that are no exception any more
	shortReset = time.Second // a run that starts counts over, and that any program may reach
)

// checkMinFailures looks at the number of failures that a rule waits for. It reports
// whether the rule can decide.
func (c *checker) checkMinFailures(i int) bool {
	r := &c.policy.Rules[i]
	most, limit := c.mostFailures()
	switch {
	case r.MinFailures <= 1 || most >= r.MinFailures:
		return true
	case most == 0:
		c.add(KindUnreachable, i, "minFailures", "nothing restarts after a first failure, so none is ever number %d in a row; lower minFailures, or add a rule that restarts earlier", r.MinFailures)
		return false
	case c.policy.GiveUpFor == 0 && r.MinFailures > most+1:
		c.add(KindUnreachable, i, "minFailures", "%s of %d gives up at failure %d in a row, so none is ever number %d; lower minFailures", limit, most, most+1, r.MinFailures)
		return false
	case counts(r):
		c.add(KindNoEffect, i, "minFailures", "%s of %d gives up from failure %d in a row on, so this rule never restarts; lower minFailures", limit, most, most+1)
	}
	return true
}

// isRedundant reports whether a rule only repeats what the restart policy does. Without
// the rule, a later one may decide on its exits. That makes no difference if each later
// rule restarts as the policy does, or has no exit in common with this rule. A rule with
// a name is never redundant, because decisions show the name.
func (c *checker) isRedundant(i int) bool {
	restart := restartRule(c.policy.RestartPolicy)
	if restart == nil || !isPlainRestart(&c.policy.Rules[i]) {
		return false
	}
	anyway := exitsOf(restart, c.curve)
	if !anyway.covers(&c.rules[i]) {
		return false
	}
	for k := i + 1; k < len(c.rules); k++ {
		if !isPlainRestart(&c.policy.Rules[k]) && !c.rules[i].isDisjoint(&c.rules[k]) {
			return false
		}
	}
	return true
}

// isPlainRestart reports whether a rule does no more than restart, as a restart policy does.
func isPlainRestart(r *backoff.Rule) bool {
	return r.Action == backoff.ActionRestart && r.Name == "" && !r.Uncounted && r.Delay == nil && r.Limit == 0
}

// windowsCode is a magnitude from which an exit code is surely meant for Windows, whose
// own errors, such as 0xC0000005, have large codes.
const windowsCode = 1 << 16

// unusualCodes returns the listed codes that look like those of Linux but are not.
func unusualCodes(codes *backoff.ExitCodes) (texts []string) {
	if codes == nil {
		return nil
	}
	for _, v := range codes.Values {
		if (v < 0 || v > 255) && v > -windowsCode && v < windowsCode {
			texts = append(texts, fmt.Sprint(v))
		}
	}
	return texts
}
