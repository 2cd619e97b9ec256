package jobpolicy

import (
	"math"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// codeTable finds the rules that an exit code may match without scanning their lists.
// It holds the first 32 rules; validation allows 20. Sets of rules are bits, the first
// rule being the lowest.
type codeTable struct {
	listed       [256]uint32 // rules listing an exit code that Linux can return
	least, most  int64       // range of all other values; empty if least is above most
	in, notIn    uint32      // rules on exit codes, by operator
	onConditions uint32      // rules on conditions
}

// tabled is the number of rules in a codeTable.
const tabled = 32

// allRules is the set of candidates without a codeTable.
const allRules = 1<<tabled - 1

// fill enters the rules with a known action and operator into an empty table.
func (t *codeTable) fill(p *batch.PodFailurePolicy) {
	t.least, t.most = math.MaxInt64, math.MinInt64
	for i := range p.Rules[:min(len(p.Rules), tabled)] {
		rule, bit := &p.Rules[i], uint32(1)<<i
		switch on := rule.OnExitCodes; {
		case !rule.Action.Known():
			continue
		case on == nil:
			t.onConditions |= bit
			continue
		case on.Operator == batch.OpIn:
			t.in |= bit
		case on.Operator == batch.OpNotIn:
			t.notIn |= bit
		default:
			continue
		}
		for _, v := range rule.OnExitCodes.Values {
			if uint32(v) < uint32(len(t.listed)) {
				t.listed[v] |= bit
			} else {
				t.least, t.most = min(t.least, int64(v)), max(t.most, int64(v))
			}
		}
	}
}

// candidates returns the rules that may match the pod. They still have to be tried,
// because the container's name may differ.
func (t *codeTable) candidates(pod *batch.Pod) uint32 {
	rules := t.onConditions
	for _, statuses := range [2][]batch.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			if end := statuses[i].State.Terminated; end != nil && end.ExitCode != 0 {
				rules |= t.mayMeet(end.ExitCode)
			}
		}
	}
	return rules
}

// mayMeet returns the rules on exit codes that a container with this code may match.
func (t *codeTable) mayMeet(code int32) uint32 {
	switch {
	case uint32(code) < uint32(len(t.listed)):
		listed := t.listed[code]
		return listed&t.in | t.notIn&^listed
	case int64(code) < t.least || int64(code) > t.most:
		return t.notIn // no rule lists the code
	}
	return t.in | t.notIn
}

// fewValues is the largest number of values in all rules that is scanned for each pod.
const fewValues = 32

// values returns the number of exit codes in all rules.
func values(p *batch.PodFailurePolicy) (n int) {
	for i := range p.Rules {
		if on := p.Rules[i].OnExitCodes; on != nil {
			n += len(on.Values)
		}
	}
	return n
}
