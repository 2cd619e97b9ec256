package jobpolicy

import (
	"math"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// codeTable says which rules of a policy an exit code can meet, without a look at
// their lists. It holds the first 32 rules; validation lets 20 through. All sets
// of rules are bits, the first rule the lowest.
type codeTable struct {
	listed       [256]uint32 // by exit code, of those that Linux has: the rules whose values hold it
	least, most  int64       // of all other values; none if least is above most
	in, notIn    uint32      // the rules on exit codes, by operator
	onConditions uint32      // the rules on conditions
}

// tabled is how many rules a codeTable holds.
const tabled = 32

// allRules is the set of rules that codeTable cannot rule any out of.
const allRules = 1<<tabled - 1

// fill enters the rules that have a known action and operator. The table must be
// new.
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

// candidates returns the rules that may match the pod. Only they have to be
// asked: the container's name may still differ.
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

// mayMeet returns the rules on exit codes that a container with this code may meet.
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

// fewValues is how many values of all rules together are looked through for each
// pod, be there many pods or one.
const fewValues = 32

// values is how many exit codes the rules list.
func values(p *batch.PodFailurePolicy) (n int) {
	for i := range p.Rules {
		if on := p.Rules[i].OnExitCodes; on != nil {
			n += len(on.Values)
		}
	}
	return n
}
