package jobworld

import (
	"bytes"
	"slices"

	"github.com/restartkit/restart/jobpolicy/batch"
)

const (
	indexes   = 3  // most of a Job
	oldest    = 15 // greatest age that fits into a state
	mostOften = 15 // greatest number of faults of a kind
	noIndexes = 1 << indexes
	answers   = 24 // most of a pass
)

// look is a pod as stored or as shown, a stage and flags.
type look uint8

const (
	absent look = iota
	pending
	running
	succeeded
	failed

	stages    look = 7
	deleting  look = 8
	disrupted look = 16
	tracked   look = 32
)

func (l look) stage() look    { return l & stages }
func (l look) ended() bool    { return l.stage() >= succeeded }
func (l look) is(f look) bool { return l&f != 0 }
func (l look) active() bool   { return l != absent && !l.ended() && !l.is(deleting) }
func (l look) terminating() bool {
	return l != absent && !l.ended() && l.is(deleting)
}

func (l *look) setStage(s look) { *l = *l&^stages | s }

// named is the place of a pod in the statuses so far.
type named uint8

const (
	unnamed named = iota
	namedSucceeded
	namedFailed
	countedSucceeded
	countedFailed
)

// pod is a pod.
type pod struct {
	now, seen          look
	index              int8 // -1 for a NonIndexed Job
	failures, ignored  uint8
	code9              bool  // it ended with exit code 9
	age                uint8 // units since its deletion, otherwise its end
	listed, seenListed listed
	named              named
	memory             uint16
	name               uint8 // in a story; not part of the state
	exempt             bool  // its end need not count
	passed             bool  // it came and went, and the watch has not shown that
	last               bool  // its only change not shown is the last change of a pod, and others are not shown either
	_                  struct{}
}

// listed says which list of uncounted pods names a pod.
type listed uint8

const (
	unlisted listed = iota
	listedSucceeded
	listedFailed
)

// job is a Job as stored or as shown, without lists of pods.
type job struct {
	suspend             bool // in the specification
	active              uint8
	ready               uint8 // the number plus 1, 0 for none
	terminating         uint8 // the same
	succeeded, failures uint8
	completed, failed   uint8 // bits of indexes; failed is noIndexes for none
	started, finished   bool  // times
	conditions          [4]condition
}

// condition is a Job's condition, 0 for none.
type condition uint8

func (j *job) has(t batch.JobConditionType) bool {
	for _, c := range j.conditions {
		if c != 0 && conditionTypes[c>>5] == t && c&16 != 0 {
			return true
		}
	}
	return false
}

func (j *job) ended() bool { return j.has(batch.JobComplete) || j.has(batch.JobFailed) }

// state is a state of the world.
type state struct {
	n    int
	pods [Most]pod // n of them

	now, seen job
	stale     bool // the Job was written after the watch showed it
	wrote     bool // the pass has written the Job last, so the controller knows it

	passing bool // a pass is under way on the view
	answers int
	answer  [answers]Answer // so far
	memory  [8]byte         // before the pass; the rest of it is in the pods

	left Budget

	// Facts that only the checks use.
	failuresOf  [indexes]uint8 // counted failures of an index
	hadSuccess  uint8          // bits of indexes with a success that must count
	failsAtOnce uint8          // bits of indexes with a failure that the rule lets fail the index
	hadFailure  uint8          // bits of indexes with a failure
	unknown     uint8          // bits of indexes whose failures may have been lost
	tainted     bool           // a controller took over with an older view
}

const podBytes = 8

// encode appends the canonical encoding. Unless a pass is under way, it first puts the
// pods into their order.
func (s *state) encode(b []byte) []byte {
	if !s.passing {
		s.sort()
	}
	b = append(b, byte(s.n)|flag(s.stale, 16)|flag(s.wrote, 32)|flag(s.passing, 64)|flag(s.tainted, 128))
	for i := range s.pods[:s.n] {
		b = s.pods[i].encode(b)
	}
	b = s.now.encode(b)
	b = s.seen.encode(b)
	if s.passing {
		b = append(b, byte(s.answers))
		for _, a := range s.answer[:s.answers] {
			b = append(b, byte(a.Outcome)|flag(a.Gone, 4)|byte(a.Pod)<<3)
		}
	}
	b = append(b, s.memory[:]...)
	for i := 0; i < len(s.left); i += 2 {
		n := s.left[i]
		if i+1 < len(s.left) {
			n |= s.left[i+1] << 4
		}
		b = append(b, n)
	}
	b = append(b, s.failuresOf[:]...)
	return append(b, s.hadSuccess|s.unknown<<4, s.hadFailure|s.failsAtOnce<<4)
}

func flag(is bool, bit byte) byte {
	if is {
		return bit
	}
	return 0
}

func (p *pod) encode(b []byte) []byte {
	return append(b,
		byte(p.index+1)|flag(p.code9, 16)|flag(p.exempt, 32)|flag(p.passed, 64)|flag(p.last, 128), byte(p.now), byte(p.seen), p.failures|p.ignored<<4,
		p.age|byte(p.listed)<<4|byte(p.seenListed)<<6, byte(p.named), byte(p.memory), byte(p.memory>>8))
}

func (p *pod) decode(b []byte) {
	p.index, p.code9, p.exempt, p.passed, p.last = int8(b[0]&15)-1, b[0]&16 != 0, b[0]&32 != 0, b[0]&64 != 0, b[0]&128 != 0
	p.now, p.seen, p.failures, p.ignored = look(b[1]), look(b[2]), b[3]&15, b[3]>>4
	p.age, p.listed, p.seenListed = b[4]&15, listed(b[4]>>4&3), listed(b[4]>>6)
	p.named, p.memory = named(b[5]), uint16(b[6])|uint16(b[7])<<8
}

func (j *job) encode(b []byte) []byte {
	b = append(b, flag(j.suspend, 1)|flag(j.started, 2)|flag(j.finished, 4), j.active|j.ready<<4, j.terminating|j.succeeded<<4, j.failures, j.completed|j.failed<<4)
	n := 0
	for n < len(j.conditions) && j.conditions[n] != 0 {
		n++
	}
	b = append(b, byte(n))
	for _, c := range j.conditions[:n] {
		b = append(b, byte(c))
	}
	return b
}

func (j *job) decode(b []byte) []byte {
	j.suspend, j.started, j.finished = b[0]&1 != 0, b[0]&2 != 0, b[0]&4 != 0
	j.active, j.ready, j.terminating, j.succeeded = b[1]&15, b[1]>>4, b[2]&15, b[2]>>4
	j.failures, j.completed, j.failed = b[3], b[4]&15, b[4]>>4
	n := int(b[5])
	b = b[6:]
	for i := range n {
		j.conditions[i] = condition(b[i])
	}
	return b[n:]
}

// decode is the inverse of encode.
func (s *state) decode(b []byte) {
	*s = state{n: int(b[0] & 15), stale: b[0]&16 != 0, wrote: b[0]&32 != 0, passing: b[0]&64 != 0, tainted: b[0]&128 != 0}
	b = b[1:]
	for i := range s.n {
		s.pods[i].decode(b)
		b = b[podBytes:]
	}
	b = s.now.decode(b)
	b = s.seen.decode(b)
	if s.passing {
		s.answers = int(b[0])
		b = b[1:]
		for i := range s.answers {
			s.answer[i] = Answer{Outcome(b[i] & 3), b[i]&4 != 0, int8(b[i]) >> 3}
		}
		b = b[s.answers:]
	}
	b = b[copy(s.memory[:], b):]
	for i := range s.left {
		s.left[i] = b[i/2] >> (4 * (i % 2)) & 15
	}
	b = b[(len(s.left)+1)/2:]
	b = b[copy(s.failuresOf[:], b):]
	s.hadSuccess, s.unknown, s.hadFailure, s.failsAtOnce = b[0]&15, b[0]>>4, b[1]&15, b[1]>>4
}

// sort puts the pods into their canonical order and drops those that nothing refers to.
func (s *state) sort() {
	pods := slices.DeleteFunc(s.pods[:s.n], func(p pod) bool {
		return p.now == absent && p.seen == absent && p.listed == unlisted && p.seenListed == unlisted && p.memory == 0 && !p.passed
	})
	var a, b [podBytes]byte
	slices.SortStableFunc(pods, func(p, q pod) int {
		return bytes.Compare(p.encode(a[:0]), q.encode(b[:0]))
	})
	clear(s.pods[len(pods):])
	s.n = len(pods)
}
