package jobpolicy

import "slices"

// codeSet is the set of a pod's non-zero exit codes. It answers whether a rule
// can match at all, whatever the number of containers; most rules do not.
type codeSet struct {
	codes [16]int32 // distinct
	n     int
	more  bool      // there are more distinct codes than fit
	low   [4]uint64 // the remainders by 256 of the codes, a bit each
}

// exitCodes returns the non-zero exit codes of the pod's terminated containers.
func exitCodes(pod *Pod) (s codeSet) {
	for _, statuses := range [2][]ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			if t := statuses[i].State.Terminated; t != nil && t.ExitCode != 0 {
				s.add(t.ExitCode)
			}
		}
	}
	return s
}

func (s *codeSet) add(code int32) {
	switch {
	case slices.Contains(s.codes[:s.n], code):
	case s.n == len(s.codes):
		s.more = true
	default:
		s.low[uint8(code)>>6] |= 1 << (uint8(code) & 63)
		s.codes[s.n] = code
		s.n++
	}
}

// mayMeet reports whether some code could meet the requirement if its container
// had the right name, given which of the codes are among its values, a bit each.
// A false answer is final.
func (s *codeSet) mayMeet(o *OnExitCodes, listed uint16) bool {
	switch {
	case s.more:
		return true
	case o.Operator == PodFailurePolicyOnExitCodesOpIn:
		return listed != 0
	}
	return s.n > 0 && listed != 1<<s.n-1
}

// codeTable finds a pod's codes among the values of rules that are looked at
// once. Marks in a table that a multiplication spreads over, eight of them to a
// branch, take 0.5 ns a value; a bit for each remainder took 0.8, and a search of
// the codes for each value 6.
type codeTable struct {
	codeSet
	marks [2048]uint8 // by slot: 1 if a code is there
}

func (t *codeTable) mark() {
	for _, c := range t.codes[:t.n] {
		t.marks[slot(c)] = 1
	}
}

// slot spreads neighbouring codes, since lists are full of them.
func slot(code int32) uint32 { return uint32(code) * 2654435769 >> 21 }

// among returns which of the codes are among the values, a bit each.
func (t *codeTable) among(values []int32) (listed uint16) {
	for len(values) >= 8 {
		v := values[:8]
		if t.marks[slot(v[0])]|t.marks[slot(v[1])]|t.marks[slot(v[2])]|t.marks[slot(v[3])]|
			t.marks[slot(v[4])]|t.marks[slot(v[5])]|t.marks[slot(v[6])]|t.marks[slot(v[7])] != 0 {
			listed |= t.amongFew(v)
		}
		values = values[8:]
	}
	return listed | t.amongFew(values)
}

func (t *codeTable) amongFew(values []int32) (listed uint16) {
	for _, v := range values {
		if t.marks[slot(v)] == 0 {
			continue
		}
		if i := slices.Index(t.codes[:t.n], v); i >= 0 {
			listed |= 1 << i
		}
	}
	return listed
}

// codeList is a rule's values, made ready to be asked about many pods.
type codeList struct {
	low  [4]uint64 // 0 to 255, which is all that Linux has, a bit each
	high []int32   // the others, sorted
}

// codeLists makes the lists of a policy, one for each rule.
func codeLists(p *PodFailurePolicy) []codeList {
	lists := make([]codeList, len(p.Rules))
	for i := range p.Rules {
		on, l := p.Rules[i].OnExitCodes, &lists[i]
		if on == nil {
			continue
		}
		for _, v := range on.Values {
			if c := uint32(v); c < 256 {
				l.low[c>>6] |= 1 << (c & 63)
			} else {
				l.high = append(l.high, v)
			}
		}
		slices.Sort(l.high)
	}
	return lists
}

// among returns which of the codes are in the list, a bit each.
func (l *codeList) among(s *codeSet) (listed uint16) {
	if len(l.high) == 0 && s.low[0]&l.low[0]|s.low[1]&l.low[1]|s.low[2]&l.low[2]|s.low[3]&l.low[3] == 0 {
		return 0
	}
	for i, code := range s.codes[:s.n] {
		c := uint32(code)
		has := c < 256 && l.low[c>>6]&(1<<(c&63)) != 0
		if c >= 256 && len(l.high) > 0 {
			_, has = slices.BinarySearch(l.high, code)
		}
		if has {
			listed |= 1 << i
		}
	}
	return listed
}
