package lint

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/restartkit/restart/internal/quote"
	"github.com/restartkit/restart/jobpolicy/batch"
)

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
