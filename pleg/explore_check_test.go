package pleg

import (
	"fmt"
	"time"
)

// observed is the part of a podWorld that judges the Generator.
type observed struct {
	ticksLeft, faultsLeft int
	violation             error // the first

	shown    int     // the version in the cache
	inCache  [2]bool // the container has been in the cache
	left     [2]bool // and is no longer
	modified time.Time

	known             [2]bool // an answer or event has shown the container to this Generator
	started, died     [2]int  // events taken
	removed           [2]int
	told              [2]bool // taken events report the end
	syncOwed          bool
	due               [2]bool // the reader of exits must yield the exit
	resumed           bool
	yielded           [2]int
	lists, otherCalls int
}

// fail records a violation of a guarantee.
func (w *podWorld) fail(guarantee int, format string, args ...any) {
	if w.violation == nil {
		w.violation = fmt.Errorf("G%d: %s", guarantee, fmt.Sprintf(format, args...))
	}
}

// ended reports whether container c has ended.
func (v podView) ended(c int) bool { return v[c] >= inExited }

// show records that an answer as of v arrives.
func (w *podWorld) show(v podView) {
	for c := range v {
		if v.there(c) {
			w.known[c], w.due[c] = true, true
		}
	}
}

// showEvent records that an event about a container arrives. After a restart of the
// program it may be about a container of before.
func (w *podWorld) showEvent(id string) {
	for c := range exploredIDs {
		if exploredIDs[c] == id {
			w.known[c], w.due[c] = true, w.due[c] || !w.resumed
		}
	}
}

// restarted records that the program starts again.
func (w *podWorld) restarted() {
	w.shown, w.inCache, w.left, w.modified = 0, [2]bool{}, [2]bool{}, time.Time{}
	w.known, w.started, w.died, w.removed, w.told = [2]bool{}, [2]int{}, [2]int{}, [2]int{}, [2]bool{}
	w.syncOwed, w.resumed = false, true
}

func (w *podWorld) count(c call[string]) {
	if c.kind == callPods {
		w.lists++
	} else {
		w.otherCalls++
	}
}

// observe judges the cache's entry and the Generator's state.
func (w *podWorld) observe() {
	if err := w.g.core.valid(); err != nil {
		w.fail(7, "%v", err)
	}
	if s := w.g.core.stats; s.Transitions < s.ReportedEvents+s.MissedEvents {
		w.fail(11, "%d steps found, %d reported, %d missed", s.Transitions, s.ReportedEvents, s.MissedEvents)
	}
	e := w.cache.Get(exploredPod)
	if e.Modified.Before(w.modified) {
		w.fail(2, "the cache knew the pod as of %v, and then as of %v", w.modified, e.Modified)
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
		w.fail(1, "the cache has the pod without containers")
	}
	for c := range is {
		switch {
		case is.there(c) && w.left[c]:
			w.fail(3, "container %s is back in the cache", exploredIDs[c])
		case is.there(c):
			w.inCache[c] = true
		case w.inCache[c]:
			w.left[c] = true
		}
	}
	w.observeContents(is, e.Modified)
}

// observeContents looks for the version that the cache shows, and for one that is as
// new as the cache says.
func (w *podWorld) observeContents(is podView, modified time.Time) {
	v := w.shown
	for v < len(w.versions) && !w.versions[v].is.looksLike(is) {
		v++
	}
	if v == len(w.versions) {
		w.fail(1, "the cache shows %v after %v", is, w.versions[w.shown].is)
		return
	}
	w.shown = v
	for ; v < len(w.versions)-1; v++ {
		if w.versions[v].is.looksLike(is) && !w.versions[v].until.Before(modified) {
			return
		}
	}
	if !w.truth().looksLike(is) {
		w.fail(2, "the cache shows %v as of %v, when that was over", is, modified.Sub(w.now))
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
			w.told[c] = true
		}
		if e.Container != id {
			continue
		}
		if w.removed[c] > 0 {
			w.fail(10, "%s of container %s after its removal", e.Type, id)
		}
		switch e.Type {
		case ContainerStarted:
			w.started[c]++
		case ContainerDied:
			if !ended {
				w.fail(10, "%s of container %s, which has not ended", e.Type, id)
			}
			w.died[c]++
			w.told[c] = true
		case ContainerRemoved:
			w.removed[c]++
		}
		if w.started[c] > 1 || w.died[c] > 1 {
			w.fail(10, "%s of container %s twice", e.Type, id)
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
	for c, id := range exploredIDs {
		if e.Container != id {
			continue
		}
		w.yielded[c]++
		switch {
		case w.yielded[c] > 1:
			w.fail(14, "the exit of container %s comes twice", id)
		case !w.truth().ended(c):
			w.fail(14, "the exit of container %s comes before its end", id)
		case w.cacheMisses(c) && w.cache.Get(exploredPod).Err == nil:
			w.fail(14, "the exit of container %s comes before its status", id)
		case e.Known != (e.Details != ExitDetails{}), e.Known && e.Details != exploredExit(c), e.Known && e.Source == ExitInferred, e.Lost != 0:
			w.fail(14, "the exit of container %s is %+v", id, e)
		}
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

// Settle implements search.World. It ends the history with a quiet runtime, and judges the end. A full relist under
// way does not count. Neither do those that end while a pod that failed backs off.
func (w *podWorld) Settle() {
	for len(w.events) > 0 {
		w.deliver(0)
		w.dropEvent(0)
	}
	if !w.waits {
		w.waits, w.waitMin, w.asked = true, w.now, w.now
	}
	quiet, first := w.now, w.g.core.stats.Relists+1
	if w.g.core.relist != nil {
		first++
	}
	for n := 0; w.violation == nil; n++ {
		w.settleCalls()
		backsOff := w.g.core.failing.Len() > 0
		switch relists := w.g.core.stats.Relists; {
		case backsOff && w.now.Sub(quiet) > 10*exploredOptions.RelistPeriod:
			w.fail(4, "a pod still backs off after %v", w.now.Sub(quiet))
		case backsOff:
			first = max(first, relists)
		case relists > first:
			w.settled()
			w.idle()
			return
		case relists == first:
			w.equalsTruth()
		}
		if n == 40 || !w.wake.set {
			w.fail(4, "no full relist ends for %v", w.now.Sub(quiet))
		}
		if w.waits && w.now.Sub(quiet) >= exploredOptions.WaitLimit {
			w.fail(5, "a wait has not ended after %v", w.now.Sub(quiet))
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
			w.fail(4, "the Generator calls a quiet runtime again and again")
			return
		}
		w.answer(0, w.truth(), nil)
		w.observe()
		w.advance()
		w.waits = w.waits && !w.answered()
		w.observe()
	}
	w.waits = w.waits && !w.answered()
}

// equalsTruth judges the cache after a full relist of the quiet runtime.
func (w *podWorld) equalsTruth() {
	e, is := w.cache.Get(exploredPod), w.truth()
	if e.Err != nil || e.Present != is.present() || e.Present && !e.Status.looksLike(is) {
		w.fail(4, "after a full relist the cache has %v, %v, %v, the runtime %v", e.Present, e.Status, e.Err, is)
	}
}

// settled judges the readers and the Generator after two full relists of the quiet
// runtime.
func (w *podWorld) settled() {
	w.equalsTruth()
	w.takeAll()
	if w.violation != nil {
		return
	}
	is := w.truth()
	for c, id := range exploredIDs {
		if is.ended(c) && w.known[c] && !w.told[c] {
			w.fail(6, "the end of container %s is not reported", id)
		}
		if is.ended(c) && w.due[c] && w.yielded[c] == 0 {
			w.fail(14, "the exit of container %s is missing", id)
		}
	}
	if w.syncOwed {
		w.fail(6, "no PodSync follows RequestSync")
	}
	if s := w.g.core.stats; s.Transitions != s.ReportedEvents+s.MissedEvents {
		w.fail(11, "%d steps found, %d reported, %d missed", s.Transitions, s.ReportedEvents, s.MissedEvents)
	}
	if n := w.g.core.remembered(); n > 0 {
		w.fail(7, "%d containers, pods and deletions are still remembered", n)
	}
}

// idle judges the costs of an idle time.
func (w *podWorld) idle() {
	for n := 0; w.stream && !w.g.core.relying; n++ {
		if n == 5 {
			w.fail(13, "the stream is never relied upon")
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
	lists, others := w.lists, w.otherCalls
	for w.wake.set && !w.wake.at.After(end) {
		w.now = w.wake.at
		w.settleCalls()
		if w.violation != nil {
			return
		}
	}
	if lists, others = w.lists-lists, w.otherCalls-others; lists > 1 || others > 0 {
		w.fail(13, "%d lists and %d other calls in an idle period of %v", lists, others, period)
	}
}
