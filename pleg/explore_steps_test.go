package pleg

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A podStep is one step of a history.
type podStep struct {
	do podStepKind
	i  uint8 // the container, call, event or clock
	as uint8 // the container's next phase, or the version that a call answers with
}

type podStepKind uint8

const (
	stepChange podStepKind = iota
	stepAnswer
	stepFail
	stepDeliver
	stepRepeat
	stepLose
	stepTurn
	stepTick
	stepBreak
	stepAhead
	stepCatchUp
	stepEmpty
	stepExpect
	stepRun
	stepProgram
	stepReader
	stepClose
	stepReopen
	stepWait
	stepSync
	stepTake
	stepTakeExit
)

// Steps implements search.World.
func (w *podWorld) Steps() int { return len(w.steps()) }

// Take implements search.World.
func (w *podWorld) Take(i int) { w.take(w.steps()[i]) }

// Describe implements search.World.
func (w *podWorld) Describe(i int) string { return w.describe(w.steps()[i]) }

// steps returns the possible next steps.
func (w *podWorld) steps() []podStep {
	if w.next == nil {
		w.next = w.findSteps()
	}
	return w.next
}

func (w *podWorld) findSteps() (list []podStep) {
	add := func(kind podStepKind, i int) { list = append(list, podStep{do: kind, i: uint8(i)}) }
	for c := range w.pods {
		for _, to := range w.phases(c) {
			list = append(list, podStep{do: stepChange, i: uint8(c), as: uint8(to)})
			if w.streaming && to > inCreated && w.may(faultAhead) {
				list = append(list, podStep{do: stepAhead, i: uint8(c), as: uint8(to)})
			}
		}
	}
	if len(w.pending) > 0 {
		add(stepCatchUp, 0)
	}
	for i, f := range w.calls {
		last := len(w.versions) - 1
		for v := f.from; v <= last; v++ {
			if v == last || !w.versions[v].is.looksLike(w.versions[v+1].is) {
				list = append(list, podStep{do: stepAnswer, i: uint8(i), as: uint8(v)})
			}
		}
		if w.may(faultError) {
			add(stepFail, i)
		}
		if f.question.list && w.may(faultEmpty) {
			add(stepEmpty, i)
		}
	}
	for i := range w.events {
		if i == 0 || w.may(faultDelay) {
			add(stepDeliver, i)
		}
		if w.may(faultRepeat) {
			add(stepRepeat, i)
		}
		if w.may(faultLose) {
			add(stepLose, i)
		}
	}
	if len(w.g.wake) > 0 {
		add(stepTurn, 0)
	}
	if w.ticksLeft > 0 {
		add(stepTick, 0)
	}
	if w.streaming && w.may(faultBreak) {
		add(stepBreak, 0)
	}
	for c := range w.pods {
		if w.truth()[c] == inCreated && w.may(faultExpect) && !w.closed {
			add(stepExpect, c)
		}
	}
	if w.may(faultReader) {
		add(stepReader, 0)
	}
	if w.closed {
		add(stepReopen, 0)
	} else if w.may(faultClose) && w.model.Full {
		add(stepClose, 0)
	}
	if w.may(faultRun) {
		add(stepRun, 0)
	}
	if w.may(faultProgram) {
		add(stepProgram, 0)
	}
	if !w.waits && w.may(faultWait) {
		add(stepWait, 0)
	}
	if w.may(faultSync) {
		add(stepSync, 0)
	}
	if w.slow && (w.reader.dropped || w.reader.pending.Len() > 0) {
		add(stepTake, 0)
	}
	if w.slow && len(w.exits.log.due) > 0 {
		add(stepTakeExit, 0)
	}
	return list
}

// phases returns the phases that follow that of container c. The second container comes
// after the first, since they differ only in name.
func (w *podWorld) phases(c int) (list []phase) {
	is := w.truth()
	switch p := is[c]; {
	case len(w.pending) > 0:
		return nil
	case p == noPhase && c > 0 && is[c-1] == noPhase, p == inRemoved:
		return nil
	case p == inCreated || p == inRunning && w.may(faultVanish):
		list = []phase{p + 1, inRemoved}
	default:
		list = []phase{p + 1}
	}
	return slices.DeleteFunc(list, func(to phase) bool { return to > w.pods[c] })
}

// may reports whether a fault of the kind may happen.
func (w *podWorld) may(kind rune) bool {
	return w.faultsLeft > 0 && strings.ContainsRune(w.kinds, kind)
}

// take takes a step. The Generator's turn follows at once or, if it is lazy, after an
// event or a request, later.
func (w *podWorld) take(s podStep) {
	i := int(s.i)
	turn, fault := true, false
	w.next = nil
	switch s.do {
	case stepChange:
		turn, fault = false, w.truth()[i] == inRunning && phase(s.as) == inRemoved
		w.send(i, w.truth()[i], phase(s.as))
		w.change(i, phase(s.as))
	case stepAhead:
		turn, fault = false, true
		w.send(i, w.truth()[i], phase(s.as))
		w.pending = append(w.pending, phaseOf{i, phase(s.as)})
	case stepCatchUp:
		turn = false
		w.catchUp()
	case stepAnswer:
		w.answer(i, w.versions[s.as].is, false, nil)
	case stepEmpty:
		fault, w.lied = true, true
		w.answer(i, podView{}, true, nil)
	case stepFail:
		fault = true
		w.answer(i, podView{}, false, errExplored)
	case stepExpect:
		turn, fault = false, true
		w.model.Expect(exploredIDs[i])
		w.exits.Expect(exploredPod, Container{ID: exploredIDs[i]})
	case stepReader:
		turn, fault = false, true
		w.newReader()
	case stepClose:
		turn, fault = false, true
		w.closeReader()
	case stepReopen:
		turn = false
		w.reopen()
	case stepDeliver:
		turn, fault = !w.lazy, i > 0
		w.deliver(i)
		w.dropEvent(i)
	case stepRepeat:
		turn, fault = !w.lazy, true
		w.deliver(i)
	case stepLose:
		turn, fault = false, true
		w.dropEvent(i)
	case stepTurn:
	case stepTick:
		w.ticksLeft--
		w.now = w.now.Add(time.Second)
	case stepBreak:
		fault = true
		w.breakStream()
	case stepRun:
		fault = true
		w.endRun()
	case stepProgram:
		fault = true
		w.endProgram()
	case stepWait:
		fault = true
		w.waits, w.waitMin, w.asked = true, w.now, w.now
	case stepSync:
		turn, fault = !w.lazy, true
		w.syncOwed = true
		w.g.RequestSync(exploredPod)
	case stepTake:
		turn = false
		w.takeEvents()
	case stepTakeExit:
		turn = false
		w.takeExit()
	}
	if fault {
		w.faultsLeft--
	}
	w.observe()
	if turn {
		w.advance()
	}
	if w.waits && w.answered() {
		w.waits = false
	}
	w.observe()
	if !w.slow {
		w.takeAll()
	}
}

// describe returns the line of a step in a story.
func (w *podWorld) describe(s podStep) string {
	i := int(s.i)
	switch s.do {
	case stepChange:
		return fmt.Sprintf("container %s is %s", exploredIDs[i], [...]string{"", "created", "running", "exited", "removed"}[s.as])
	case stepAnswer:
		late := len(w.versions) - 1 - int(s.as)
		return fmt.Sprintf("%s answers %v, %d changes late", w.calls[i], w.versions[s.as].is, late)
	case stepFail:
		return fmt.Sprintf("%s fails", w.calls[i])
	case stepDeliver:
		return fmt.Sprintf("event %d arrives: %s %v", i, w.events[i].Container, w.events[i].Type)
	case stepRepeat:
		return fmt.Sprintf("event %d arrives and will again: %s %v", i, w.events[i].Container, w.events[i].Type)
	case stepLose:
		return fmt.Sprintf("event %d is lost: %s %v", i, w.events[i].Container, w.events[i].Type)
	case stepAhead:
		return fmt.Sprintf("events tell that container %s is %s", exploredIDs[i], [...]string{"", "created", "running", "exited", "removed"}[s.as])
	case stepEmpty:
		return "Pods answers no pod, which is wrong"
	case stepExpect:
		return fmt.Sprintf("the reader expects container %s", exploredIDs[i])
	}
	return map[podStepKind]string{
		stepTurn: "the Generator takes the event", stepTick: "a second passes", stepBreak: "the stream ends",
		stepRun: "Run ends and begins again", stepProgram: "the program starts again",
		stepCatchUp: "it is so", stepReader: "a new reader of exits",
		stepClose: "the reader of exits is closed", stepReopen: "a reader continues where the closed one ended",
		stepWait: "a wait begins", stepSync: "RequestSync",
		stepTake: "the reader takes events", stepTakeExit: "the reader takes an exit",
	}[s.do]
}

// String returns the name of the method called.
func (c explorerCall) String() string {
	if c.question.list {
		return "Pods"
	}
	return "Pod"
}

// catchUp makes answers show the changes whose events were ahead of them.
func (w *podWorld) catchUp() {
	for _, p := range w.pending {
		w.change(p.c, p.to)
	}
	w.pending = nil
}
