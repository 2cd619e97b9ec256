package jobpolicy

import (
	"math/bits"
)

// codeTable is the set of a pod's non-zero exit codes. It answers whether a rule
// that is looked at once can match at all, whatever the number of containers;
// most rules do not. Looking up eight values to a branch takes 0.3 ns a value; a
// search of the codes for each value took 6.
type codeTable struct {
	codes [16]int32 // distinct
	n     int
	more  bool         // there are more distinct codes than fit
	at    [1024]uint16 // by remainder: the codes that have it, a bit each
}

// read takes up the exit codes of the pod's terminated containers.
func (t *codeTable) read(pod *Pod) {
	for _, statuses := range [2][]ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			if s := statuses[i].State.Terminated; s != nil && s.ExitCode != 0 {
				t.add(s.ExitCode)
			}
		}
	}
}

func (t *codeTable) add(code int32) {
	switch {
	case t.find(code) != 0:
	case t.n == len(t.codes):
		t.more = true
	default:
		t.at[remainder(code)] |= 1 << t.n
		t.codes[t.n] = code
		t.n++
	}
}

// find returns the bit of the code, 0 if the pod has no such code.
func (t *codeTable) find(code int32) uint16 {
	for same := t.at[remainder(code)]; same != 0; same &= same - 1 {
		if i := bits.TrailingZeros16(same); t.codes[i&15] == code {
			return 1 << i
		}
	}
	return 0
}

func remainder(code int32) uint32 { return uint32(code) % uint32(len(codeTable{}.at)) }

// mayMeet reports whether some code could meet the requirement if its container
// had the right name. A false answer is final.
func (t *codeTable) mayMeet(o *OnExitCodes) bool {
	switch {
	case t.more:
		return true
	case o.Operator == PodFailurePolicyOnExitCodesOpIn:
		return t.among(o.Values) != 0
	}
	return t.among(o.Values) != 1<<t.n-1
}

// among returns which of the codes are among the values, a bit each. It stops
// when all are found.
func (t *codeTable) among(values []int32) (listed uint16) {
	all := uint16(1)<<t.n - 1
	for len(values) >= 8 {
		v := values[:8]
		if t.at[remainder(v[0])]|t.at[remainder(v[1])]|t.at[remainder(v[2])]|t.at[remainder(v[3])]|
			t.at[remainder(v[4])]|t.at[remainder(v[5])]|t.at[remainder(v[6])]|t.at[remainder(v[7])] != 0 {
			if listed |= t.amongFew(v); listed == all {
				return all
			}
		}
		values = values[8:]
	}
	return listed | t.amongFew(values)
}

func (t *codeTable) amongFew(values []int32) (listed uint16) {
	for _, v := range values {
		listed |= t.find(v)
	}
	return listed
}

// ruleTable is a policy made ready to be asked about many pods: by exit code,
// the rules that name it, a bit each. A pod that no rule matches is done with in
// one look-up for each container.
type ruleTable struct {
	policy       *PodFailurePolicy
	in, notIn    uint64           // rules on exit codes, by operator
	onConditions uint64           // rules on conditions
	low          [256]uint64      // by exit code, of those that Linux has: the rules whose values hold it
	high         map[int32]uint64 // the same of all other codes
}

// mostTabled is how many rules a ruleTable holds; validation lets 20 through.
const mostTabled = 64

// newRuleTable lays out the rules that have a known action and operator.
func newRuleTable(p *PodFailurePolicy) *ruleTable {
	t := &ruleTable{policy: p}
	if len(p.Rules) > mostTabled {
		return t
	}
	for i := range p.Rules {
		bit, on := uint64(1)<<i, p.Rules[i].OnExitCodes
		switch {
		case !p.Rules[i].Action.known():
		case on == nil:
			t.onConditions |= bit
		case on.Operator == PodFailurePolicyOnExitCodesOpIn:
			t.in |= bit
			t.list(on.Values, bit)
		case on.Operator == PodFailurePolicyOnExitCodesOpNotIn:
			t.notIn |= bit
			t.list(on.Values, bit)
		}
	}
	return t
}

func (t *ruleTable) list(values []int32, bit uint64) {
	for _, v := range values {
		switch {
		case uint32(v) < uint32(len(t.low)):
			t.low[v] |= bit
		case t.high == nil:
			t.high = map[int32]uint64{v: bit}
		default:
			t.high[v] |= bit
		}
	}
}

// met returns the rules that the exit code meets in a container of the right name.
func (t *ruleTable) met(code int32) uint64 {
	var listed uint64
	if uint32(code) < uint32(len(t.low)) {
		listed = t.low[code]
	} else {
		listed = t.high[code]
	}
	return listed&t.in | t.notIn&^listed
}

// match is the policy's Match.
func (t *ruleTable) match(pod *Pod) Match {
	if len(t.policy.Rules) > mostTabled {
		return t.policy.Match(pod)
	}
	rules := t.onConditions
	for _, statuses := range [2][]ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			if s := statuses[i].State.Terminated; s != nil && s.ExitCode != 0 {
				rules |= t.met(s.ExitCode)
			}
		}
	}
	for ; rules != 0; rules &= rules - 1 {
		i := bits.TrailingZeros64(rules)
		meets := func(code int32) bool { return t.met(code)>>i&1 != 0 }
		if m, ok := t.policy.Rules[i].match(pod, meets); ok {
			m.Rule, m.Action = i, t.policy.Rules[i].Action
			return m
		}
	}
	return noMatch
}
