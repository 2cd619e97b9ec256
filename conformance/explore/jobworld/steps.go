package jobworld

import "slices"

// step is a step of the world.
type step struct {
	kind stepKind
	slot int // of the pod, -1 for none
}

type stepKind uint8

const (
	podStarts stepKind = iota
	podSucceeds
	podFails
	podFails9
	podEvicted
	podDeleted
	podVanishes
	jobSuspended
	jobResumed
	jobShown
	podsShown
	podsShownButLast // without the last change
	requestDone
	requestRefused
	requestLost
	requestConflicts // a write of a Job that has changed
	passEnds         // without a request, but with something remembered
	timePasses
	crashes
	crashesBehind
	crashesBare
	takenOver
)

// steps returns the steps from a state, the calm one first, and the pass under way or
// about to begin. end reports whether a run may stop here.
func (w *walker) steps(s *state) (all []step, pass Pass, end bool) {
	pass = w.control.Pass(s.memoryOf(), w.views.view(s), s.answer[:s.answers])
	all = make([]step, 0, 16)
	calm, isCalm := w.calm(s, &pass)
	if isCalm {
		all = append(all, calm)
	}
	add := func(kind stepKind, slot int) {
		if st := (step{kind, slot}); !isCalm || st != calm {
			all = append(all, st)
		}
	}
	may := func(f Fault) bool { return s.left[Total] > 0 && s.left[f] > 0 }
	over := s.now.ended()
	if !over {
		w.podSteps(s, add, may)
		if !s.now.suspend && may(Suspension) {
			add(jobSuspended, -1)
		}
		if s.now.suspend {
			add(jobResumed, -1)
		}
	}
	w.controllerSteps(s, &pass, add, may)
	return all, pass, over && !isCalm
}

// controllerSteps adds the steps of the controller and of its watches.
func (w *walker) controllerSteps(s *state, pass *Pass, add func(stepKind, int), may func(Fault) bool) {
	switch {
	case pass.Request != nil:
		if w.conflicts(s, pass.Request) {
			add(requestConflicts, -1)
			break
		}
		add(requestDone, -1)
		if may(Refusal) {
			add(requestRefused, -1)
		}
		if may(LostAnswer) {
			add(requestLost, -1)
		}
	case pass.Memory != s.memoryOf():
		add(passEnds, -1)
	case pass.Requeue > 0:
		add(timePasses, -1)
	}
	if !s.passing {
		if s.stale {
			add(jobShown, -1)
		}
		if s.podsStale() {
			add(podsShown, -1)
			if i := s.lastChanged(); i >= 0 {
				add(podsShownButLast, i)
			}
		}
	}
	if may(Crash) {
		add(crashes, -1)
	}
	if may(OldState) && s.passing && pass.Memory != s.memoryOf() {
		add(crashesBehind, -1)
	}
	if may(LostState) {
		add(crashesBare, -1)
	}
	if may(Takeover) {
		add(takenOver, -1)
	}
}

// podSteps adds the steps of pods.
func (w *walker) podSteps(s *state, add func(stepKind, int), may func(Fault) bool) {
	for i := range s.pods[:s.n] {
		p := &s.pods[i]
		if p.now == absent {
			continue
		}
		if i > 0 && !s.passing && s.pods[i-1] == *p {
			continue // the same step
		}
		if w.job.Starts && p.now.stage() == pending {
			add(podStarts, i)
		}
		if !p.now.ended() {
			add(podSucceeds, i)
			if p.now.is(deleting) || may(Failure) {
				add(podFails, i)
			}
			if w.job.On == OnCode && may(RuleFailure) {
				add(podFails9, i)
			}
			if !p.now.is(deleting) && may(Eviction) {
				add(podEvicted, i)
			}
		}
		if !p.now.is(deleting) && may(Deletion) {
			add(podDeleted, i)
		}
		if may(Vanishing) {
			add(podVanishes, i)
		}
	}
}

// calm returns the step that a run without faults takes. The controller acts first, then
// deleted pods fail, then the others start and succeed, and then time
// passes.
func (w *walker) calm(s *state, pass *Pass) (step, bool) {
	only := func(kind stepKind) (step, bool) { return step{kind, -1}, true }
	switch {
	case s.passing && w.conflicts(s, pass.Request):
		return only(requestConflicts)
	case s.passing:
		return only(requestDone)
	case s.stale:
		return only(jobShown)
	case s.podsStale():
		return only(podsShown)
	case pass.Request != nil:
		return only(requestDone)
	case pass.Memory != s.memoryOf():
		return only(passEnds)
	case s.now.ended():
		return step{}, false
	case s.now.suspend:
		return only(jobResumed)
	}
	for i := range s.pods[:s.n] {
		if s.pods[i].now.terminating() {
			return step{podFails, i}, true
		}
	}
	for i := range s.pods[:s.n] {
		if s.pods[i].now.active() {
			return step{podSucceeds, i}, true
		}
	}
	if pass.Requeue > 0 {
		return only(timePasses)
	}
	return step{}, false
}

// conflicts reports whether the API server refuses the write because the Job has changed.
func (w *walker) conflicts(s *state, r *Request) bool {
	return r.Kind == WriteStatus && s.stale && !s.wrote
}

// podsStale reports whether the watch has not shown all changes of pods.
func (s *state) podsStale() bool {
	return slices.ContainsFunc(s.pods[:s.n], func(p pod) bool { return p.stale() })
}

func (p *pod) stale() bool { return p.now != p.seen || p.passed }

// lastChanged returns the slot of the pod whose change can be shown after those of the
// others, or -1.
func (s *state) lastChanged() int {
	return slices.IndexFunc(s.pods[:s.n], func(p pod) bool { return p.last })
}

// memoryOf returns the memory from before the pass.
func (s *state) memoryOf() Memory {
	m := Memory{Global: s.memory}
	for i := range s.pods[:s.n] {
		m.Pods[i] = s.pods[i].memory
	}
	return m
}

func (s *state) remember(m Memory) {
	s.memory = m.Global
	for i := range s.pods[:s.n] {
		s.pods[i].memory = m.Pods[i]
	}
}
