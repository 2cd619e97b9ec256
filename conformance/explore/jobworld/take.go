package jobworld

import (
	"slices"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// take takes a step. The error says which invariant it breaks.
func (w *walker) take(s *state, st step, pass *Pass) error {
	before := *s
	if err := w.change(s, st, pass); err != nil {
		return err
	}
	s.noteLast(&before)
	w.tidy(s)
	return nil
}

// change makes the changes of a step.
func (w *walker) change(s *state, st step, pass *Pass) error {
	if f, is := st.fault(s); is {
		s.left[f]--
		s.left[Total]--
	}
	var p *pod
	if st.slot >= 0 {
		p = &s.pods[st.slot]
	}
	switch st.kind {
	case podStarts:
		p.now.setStage(running)
	case podSucceeds:
		w.end(s, p, succeeded)
	case podFails:
		w.end(s, p, failed)
	case podFails9:
		p.code9 = true
		w.end(s, p, failed)
	case podEvicted:
		p.now |= disrupted
		s.deletePod(p)
	case podDeleted:
		s.deletePod(p)
	case podVanishes:
		p.remove()
		p.exempt = true
		if p.index >= 0 {
			s.unknown |= 1 << p.index
		}
	case jobSuspended, jobResumed:
		s.now.suspend = st.kind == jobSuspended
		s.stale, s.wrote = true, false
		s.unknown = noIndexes - 1
	case jobShown:
		w.showJob(s)
	case podsShown, podsShownButLast:
		w.showPods(s, st.slot)
	case requestDone, requestRefused, requestLost, requestConflicts:
		return w.answer(s, st.kind, pass)
	case passEnds:
		s.remember(pass.Memory)
	case timePasses:
		units := uint8((pass.Requeue + Unit - 1) / Unit)
		for i := range s.pods[:s.n] {
			s.pods[i].age = min(s.pods[i].age+units, w.longest)
		}
		s.remember(w.control.Waited(s.memoryOf(), int(units)))
	case crashes, crashesBehind, crashesBare, takenOver:
		w.crash(s, st.kind, pass)
	}
	return nil
}

// fault returns the fault that the step is.
func (st step) fault(s *state) (Fault, bool) {
	switch st.kind {
	case podFails:
		return Failure, !s.pods[st.slot].now.is(deleting)
	case podFails9:
		return RuleFailure, true
	case podEvicted:
		return Eviction, true
	case podDeleted:
		return Deletion, true
	case podVanishes:
		return Vanishing, true
	case jobSuspended:
		return Suspension, true
	case requestRefused:
		return Refusal, true
	case requestLost:
		return LostAnswer, true
	case crashes:
		return Crash, true
	case crashesBehind:
		return OldState, true
	case crashesBare:
		return LostState, true
	case takenOver:
		return Takeover, true
	}
	return 0, false
}

// end ends a pod.
func (w *walker) end(s *state, p *pod, stage look) {
	p.now.setStage(stage)
	if !p.now.is(deleting) {
		p.age = 0
	}
	s.noteEnd(w, p)
	s.collect(p)
}

// deletePod deletes a pod, which goes once it has ended without a finalizer.
func (s *state) deletePod(p *pod) {
	if p.now == absent || p.now.is(deleting) {
		return
	}
	p.now |= deleting
	if !p.now.ended() {
		p.age = 0
	}
	s.collect(p)
}

// collect removes a deleted pod that has ended and lost its finalizer.
func (s *state) collect(p *pod) {
	if p.now.is(deleting) && p.now.ended() && !p.now.is(tracked) {
		p.remove()
	}
}

func (p *pod) remove() { p.now, p.passed = absent, p.seen == absent }

func (w *walker) showJob(s *state) {
	s.seen, s.stale = s.now, false
	for i := range s.pods[:s.n] {
		s.pods[i].seenListed = s.pods[i].listed
	}
	s.remember(w.control.JobShown(s.memoryOf()))
}

// showPods shows all changes of pods, but for those of the pod in a slot, if it is not
// negative.
func (w *walker) showPods(s *state, but int) {
	for i := range s.pods[:s.n] {
		if p := &s.pods[i]; i != but {
			p.seen, p.passed = p.now, false
		}
	}
	s.remember(w.control.Shown(s.memoryOf(), w.views.view(s), but))
}

// noteLast notes which pod has changed last in a step.
func (s *state) noteLast(before *state) {
	for i := range s.pods[:s.n] {
		p, was := &s.pods[i], &before.pods[i]
		if p.now == was.now && p.passed == was.passed || !p.stale() {
			continue
		}
		for j := range s.pods[:s.n] {
			s.pods[j].last = false
		}
		p.last = i >= before.n || !was.stale()
		break
	}
	others := func(p pod) bool { return !p.last && p.stale() }
	if i := s.lastChanged(); i >= 0 && (!s.pods[i].stale() || !slices.ContainsFunc(s.pods[:s.n], others)) {
		s.pods[i].last = false
	}
}

// crash ends the controller's process and starts another one.
func (w *walker) crash(s *state, kind stepKind, pass *Pass) {
	m := pass.Memory
	if kind == crashesBehind || !s.passing {
		m = s.memoryOf()
	}
	s.endPass()
	s.remember(w.control.Restarted(m, kind != crashesBare))
	if kind == takenOver {
		s.tainted = s.tainted || s.podsStale() || s.stale
		s.remember(w.control.Shown(s.memoryOf(), w.views.view(s), -1))
		return
	}
	w.showJob(s)
	w.showPods(s, -1)
}

func (s *state) endPass() {
	s.passing, s.wrote = false, false
	clear(s.answer[:s.answers])
	s.answers = 0
}

// tidy removes differences that no longer matter.
func (w *walker) tidy(s *state) {
	for i := range s.pods[:s.n] {
		p := &s.pods[i]
		if !p.now.ended() && !p.now.is(deleting) && !p.seen.ended() && !p.seen.is(deleting) {
			p.age = 0
		} else if !p.now.is(tracked) && !p.seen.is(tracked) {
			p.age = w.longest
		}
	}
}

// answer carries out, or refuses, the next request of the pass.
func (w *walker) answer(s *state, kind stepKind, pass *Pass) error {
	r, a := pass.Request, Answer{Pod: -1}
	if s.answers == len(s.answer) {
		return errLong
	}
	refused := kind == requestRefused || kind == requestConflicts
	if r.Kind == WriteStatus && !refused {
		err := w.validate(s, r.Status)
		if refused = err != nil && w.unlessIgnored(err) == nil; err != nil && !refused {
			return err
		}
	}
	if refused {
		a.Outcome = Refused
	} else {
		a.Gone = r.MustExist && s.pods[r.Pod].now == absent
		slot, err := w.carryOut(s, r)
		if err != nil {
			return err
		}
		if a.Pod = int8(slot); kind == requestLost {
			a.Outcome = Lost
		}
	}
	s.passing = true
	s.answer[s.answers] = a
	s.answers++
	next := w.control.Pass(s.memoryOf(), w.views.view(s), s.answer[:s.answers])
	if next.Request == nil {
		s.remember(next.Memory)
		if s.wrote && !w.job.WatchOnly {
			w.showJob(s) // the controller knows its own write
		}
		s.endPass()
	}
	return nil
}

// carryOut carries a request out and returns the slot of a created pod.
func (w *walker) carryOut(s *state, r *Request) (slot int, err error) {
	switch r.Kind {
	case CreatePod:
		return w.create(s, r)
	case DeletePod:
		s.deletePod(&s.pods[r.Pod])
	case RemoveFinalizer:
		err = w.removeFinalizer(s, &s.pods[r.Pod])
	case WriteStatus:
		err = w.write(s, r.Status)
	}
	return -1, err
}

// create creates a pod, unless an earlier creation of it was carried out.
func (w *walker) create(s *state, r *Request) (slot int, err error) {
	if r.Pod >= 0 && s.pods[r.Pod].now != absent {
		return r.Pod, nil
	}
	if s.n == Most {
		return -1, errMany
	}
	slot = s.n
	s.n++
	name := uint8(1)
	for i := range s.pods[:slot] {
		name = max(name, s.pods[i].name+1)
	}
	s.pods[slot] = pod{now: pending | tracked, index: int8(r.Index), failures: uint8(r.Failures), ignored: uint8(r.Ignored), name: name}
	return slot, w.unlessIgnored(w.checkCreation(s, slot))
}

// removeFinalizer removes the tracking finalizer of a pod.
func (w *walker) removeFinalizer(s *state, p *pod) error {
	if !p.now.is(tracked) {
		return nil
	}
	p.now &^= tracked
	err := w.unlessIgnored(w.checkRelease(s, p))
	s.collect(p)
	return err
}

// write writes a status.
func (w *walker) write(s *state, st *batch.JobStatus) error {
	next, lists, err := s.read(st)
	if err != nil {
		return err
	}
	if err := w.unlessIgnored(w.checkWrite(s, &next, &lists)); err != nil {
		return err
	}
	s.now = next
	for i := range s.pods[:s.n] {
		s.pods[i].listed = lists[i]
	}
	s.stale, s.wrote = true, true
	return w.unlessIgnored(w.checkEnd(s))
}
