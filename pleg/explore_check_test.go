package pleg

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// observed is the part of a podWorld that judges the Generator.
type observed struct {
	ticksLeft, faultsLeft int
	violation             error // the first

	model    *Model  // of the reader of exits
	shown    int     // the version in the cache
	inCache  [2]bool // the container has been in the cache
	left     [2]bool // and is no longer
	modified time.Time

	known              [2]bool // an answer has shown the container to this Generator
	seen               [2]State
	started, died      [2]int // events taken
	removed            [2]int
	reported           [2]bool // taken events report the end
	syncOwed           bool
	resumed            bool
	closed             bool // the reader of exits is closed
	lied               bool // a full list was wrong
	yielded            [2]int
	lists, inspections int
}

// fail records a violation of a promise.
func (w *podWorld) fail(format string, args ...any) {
	if w.violation == nil {
		w.violation = fmt.Errorf(format, args...)
	}
}

// showAnswer records that an answer arrives.
func (w *podWorld) showAnswer(seen []Container) {
	for _, s := range seen {
		c := strings.Index("ab", s.ID)
		w.known[c], w.seen[c] = true, max(w.seen[c], s.State)
	}
}

// restarted records that the program starts again.
func (w *podWorld) restarted() {
	w.shown, w.inCache, w.left, w.modified = 0, [2]bool{}, [2]bool{}, time.Time{}
	w.known, w.seen, w.started, w.died, w.removed, w.reported = [2]bool{}, [2]State{}, [2]int{}, [2]int{}, [2]int{}, [2]bool{}
	w.syncOwed, w.resumed = false, true
}

// observe judges the cache's entry and the Generator's state.
func (w *podWorld) observe() {
	if err := w.g.valid(); err != nil {
		w.fail("%w", err)
	}
	e := w.cache.Get(exploredPod)
	if e.Modified.Before(w.modified) {
		w.fail("the cache knew the pod as of %v, and then as of %v", w.modified, e.Modified)
	}
	w.modified = e.Modified
	if e.Err != nil || e.Modified.IsZero() {
		return
	}
	var is podView
	if e.Present {
		is = e.Status.visible()
	}
	if e.Present && !is.present() {
		w.fail("the cache has the pod without containers")
	}
	for c := range is {
		switch {
		case is.there(c) && w.left[c]:
			w.fail("container %s is back in the cache", exploredIDs[c])
		case is.there(c):
			w.inCache[c] = true
		case w.inCache[c]:
			w.left[c] = true
		}
	}
	w.observeContents(is, e.Modified)
}

// observeContents searches for the version that the cache shows, and for one that is as
// new as the cache says.
func (w *podWorld) observeContents(is podView, modified time.Time) {
	v := w.shown
	for v < len(w.versions) && !w.versions[v].is.looksLike(is) {
		v++
	}
	if v == len(w.versions) {
		w.fail("the cache shows %v after %v", is, w.versions[w.shown].is)
		return
	}
	w.shown = v
	for ; v < len(w.versions)-1; v++ {
		if w.versions[v].is.looksLike(is) && !w.versions[v].until.Before(modified) {
			return
		}
	}
	if w.lied && !is.present() {
		return // a list that wrongly lacks a pod that no answer has shown
	}
	if !w.truth().looksLike(is) {
		w.fail("the cache shows %v as of %v, when that was over", is, modified.Sub(w.now))
	}
}

// cacheMisses reports whether the cache still shows container c before its end.
func (w *podWorld) cacheMisses(c int) bool {
	e := w.cache.Get(exploredPod)
	return e.Err != nil || e.Present && e.Status.there(c) && !e.Status.ended(c)
}

// takeEvents takes the events of one slot.
func (w *podWorld) takeEvents() bool {
	events, ok := w.reader.take()
	for _, e := range events {
		w.hear(e)
	}
	return ok
}

// hear judges an event that the reader takes.
func (w *podWorld) hear(e Event[string]) {
	for c, id := range exploredIDs {
		ended := w.truth().ended(c)
		if e.Type == PodSync && ended && !w.cacheMisses(c) {
			w.reported[c] = true
		}
		if e.Container != id {
			continue
		}
		if w.removed[c] > 0 {
			w.fail("%s of container %s after its removal", e.Type, id)
		}
		switch e.Type {
		case ContainerStarted:
			w.started[c]++
		case ContainerDied:
			if !ended {
				w.fail("%s of container %s, which has not ended", e.Type, id)
			}
			w.died[c]++
			w.reported[c] = true
		case ContainerRemoved:
			w.removed[c]++
		}
		if w.started[c] > 1 || w.died[c] > 1 {
			w.fail("%s of container %s twice", e.Type, id)
		}
	}
	if e.Type == PodSync {
		w.syncOwed = false
	}
}

// takeExit takes an exit and judges it.
func (w *podWorld) takeExit() bool {
	e, ok := w.exits.TryNext()
	if !ok {
		return false
	}
	c := strings.Index("ab", e.Container)
	w.yielded[c]++
	if err := w.model.Yield(e.Container, w.truth().ended(c)); err != nil {
		w.fail("%w", err)
	}
	known := e.Details.Name != ""
	switch {
	case w.cacheMisses(c) && w.cache.Get(exploredPod).Err == nil:
		w.fail("the exit of container %s comes before its status", e.Container)
	case e.Known != known, e.Known && e.Details.Code != int32(c+1), e.Known != (e.Source != ExitInferred), e.Lost != 0:
		w.fail("the exit of container %s is %+v", e.Container, e)
	}
	return true
}

// takeAll empties both readers.
func (w *podWorld) takeAll() {
	for w.takeEvents() {
	}
	for w.takeExit() {
	}
}

// Broken implements search.World.
func (w *podWorld) Broken() error { return w.violation }

// Settle implements search.World. It ends the history with a quiet runtime, and judges
// the end. A full list under way does not count. Neither do those that end while a pod
// that failed backs off.
func (w *podWorld) Settle() {
	w.catchUp()
	if w.closed {
		w.reopen()
	}
	for len(w.events) > 0 {
		w.deliver(0)
		w.dropEvent(0)
	}
	if !w.waits {
		w.waits, w.waitMin, w.asked = true, w.now, w.now
	}
	quiet, first := w.now, w.g.stats.Relists+1
	if w.g.sched.list != nil {
		first++
	}
	for n := 0; w.violation == nil; n++ {
		w.settleCalls()
		backsOff := w.g.sched.backsOff(exploredPod)
		switch relists := w.g.stats.Relists; {
		case backsOff && w.now.Sub(quiet) > 10*exploredOptions.RelistPeriod:
			w.fail("a pod still backs off after %v", w.now.Sub(quiet))
		case backsOff:
			first = max(first, relists)
		case relists > first:
			w.settled()
			w.idle()
			return
		case relists == first:
			w.equalsTruth()
		}
		if n == 400 || !w.wake.set {
			w.fail("no full list ends for %v", w.now.Sub(quiet))
		}
		if w.waits && w.now.Sub(quiet) >= 2*exploredOptions.WaitLimit {
			w.fail("a wait has not ended after %v", w.now.Sub(quiet))
		}
		if w.wake.at.After(w.now) {
			w.now = w.wake.at
		}
	}
}

// settleCalls takes turns and answers all calls.
func (w *podWorld) settleCalls() {
	w.advance()
	for n := 0; len(w.calls) > 0; n++ {
		if n == 20 {
			w.fail("the Generator calls a quiet runtime again and again")
			return
		}
		w.answer(0, w.truth(), false, nil)
		w.observe()
		w.advance()
		w.waits = w.waits && !w.answered()
		w.observe()
	}
	w.waits = w.waits && !w.answered()
}

// equalsTruth judges the cache after a full list of the quiet runtime.
func (w *podWorld) equalsTruth() {
	e, is := w.cache.Get(exploredPod), w.truth()
	if e.Err != nil || e.Present != is.present() || e.Present && !e.Status.looksLike(is) {
		w.fail("after a full list the cache has %v, %v, %v, the runtime %v", e.Present, e.Status, e.Err, is)
	}
}

// settled judges the readers and the Generator after two full lists of the quiet
// runtime.
func (w *podWorld) settled() {
	w.equalsTruth()
	w.takeAll()
	if w.violation != nil {
		return
	}
	is := w.truth()
	for c, id := range exploredIDs {
		if is.ended(c) && w.known[c] && !w.reported[c] {
			w.fail("the end of container %s is not reported", id)
		}
	}
	ended := func(id string) bool { return is.ended(strings.Index("ab", id)) }
	if list := w.model.Missing(ended); len(list) > 0 {
		slices.Sort(list)
		w.fail("the exits of %v are missing", list)
	}
	if w.syncOwed {
		w.fail("no PodSync follows RequestSync")
	}
	if n := w.g.pods.Len() - w.g.cached + w.g.claims + w.g.writer.Counts().Tombstones; n > 0 {
		w.fail("%d containers, pods and deletions are still remembered", n)
	}
}

// idle judges the costs of an idle time.
func (w *podWorld) idle() {
	for n := 0; w.stream && !w.g.relying; n++ {
		if n == 5 {
			w.fail("the stream is never relied upon")
			return
		}
		w.now = w.wake.at
		w.settleCalls()
	}
	period := exploredOptions.RelistPeriod
	if w.stream {
		period = exploredOptions.EventedPeriod
	}
	end := w.now.Add(period)
	lists, inspections := w.lists, w.inspections
	for w.wake.set && !w.wake.at.After(end) {
		w.now = w.wake.at
		w.settleCalls()
		if w.violation != nil {
			return
		}
	}
	if lists, inspections = w.lists-lists, w.inspections-inspections; lists > 1 || inspections > 0 {
		w.fail("%d lists and %d inspections in an idle period of %v", lists, inspections, period)
	}
}
