package pleg_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// guarantees is the number of guarantees of pleg.Generator; they count from 1.
const guarantees = 14

// A violation is a place where a history breaks a guarantee.
type violation struct {
	guarantee int // 1 to guarantees
	text      string
}

func (v violation) String() string { return fmt.Sprintf("G%d: %s", v.guarantee, v.text) }

// A report is the outcome of all checkers over one history.
type report struct {
	violations []violation
	checks     [guarantees + 1]int // evaluated, by guarantee
}

// check checks the recorded history against the guarantees of pleg.Generator.
func (h history) check() report {
	x := &inspection{history: h, truth: map[string][]change{}}
	for _, c := range h.Changes {
		x.truth[c.Pod] = append(x.truth[c.Pod], c)
	}
	for _, check := range []func(){
		x.states, x.freshness, x.absence, x.equality, x.waits, x.readers, x.memory,
		x.neverBlocks, x.once, x.accounts, x.leftovers, x.idleness, x.exitsRead,
	} {
		check()
	}
	return x.report
}

// An inspection is the run of the checkers over one history.
type inspection struct {
	history
	truth  map[string][]change // by pod; place i has version i+1
	report report
}

// check counts one evaluation of a guarantee and notes a violation.
func (x *inspection) check(guarantee int, ok bool, format string, args ...any) {
	x.report.checks[guarantee]++
	if !ok {
		x.report.violations = append(x.report.violations, violation{guarantee, fmt.Sprintf(format, args...)})
	}
}

// version returns the first version of pod, from min on, that s shows, or -1. A nil s
// shows no pod. Version 0 is from before the pod's creation.
func (x *inspection) version(pod string, s *plegtest.Status, min int) int {
	for v := min; v <= len(x.truth[pod]); v++ {
		var was *plegtest.Status
		if v > 0 {
			was = x.truth[pod][v-1].Status
		}
		if was == nil && s == nil || was != nil && s != nil && slices.Equal(byID(was), byID(s)) {
			return v
		}
	}
	return -1
}

// ended is when a version was replaced by the next, zero if it was not.
func (x *inspection) ended(pod string, version int) time.Time {
	if t := x.truth[pod]; version < len(t) {
		return t[version].At
	}
	return time.Time{}
}

// G1: the states that a reader sees of a pod are a subsequence of the truth.
func (x *inspection) states() {
	type place struct {
		reader string
		pod    string
	}
	at := map[place]int{}
	for _, v := range x.Views {
		p, s := place{v.Reader, v.Pod}, v.Entry.Status
		if !v.Entry.Present {
			s = nil
		} else if s == nil {
			x.check(1, v.Entry.Err != nil, "%s saw pod %v without a status", v.Reader, v.Pod)
			continue
		}
		version := x.version(v.Pod, s, at[p])
		x.check(1, version >= 0, "%s saw pod %v at %v as %v, after version %d", v.Reader, v.Pod, v.At, s, at[p])
		at[p] = max(at[p], version)
	}
}

// G2: the result of a wait was the truth at some moment after its min, except with an
// error.
func (x *inspection) freshness() {
	for _, w := range x.Waits {
		if w.End.IsZero() || w.Err != nil || w.Entry.Err != nil {
			continue
		}
		x.check(2, w.Entry.Modified.After(w.Min), "a wait for pod %v newer than %v returned what is known as of %v", w.Pod, w.Min, w.Entry.Modified)
		x.check(2, x.held(w.Pod, w.Entry, w.Min), "a wait for pod %v newer than %v returned %+v, which was over", w.Pod, w.Min, w.Entry)
	}
}

// held reports whether e was the truth of pod at some moment after t.
func (x *inspection) held(pod string, e entry, t time.Time) bool {
	s := e.Status
	if !e.Present {
		s = nil
	}
	for v := x.version(pod, s, 0); v >= 0; v = x.version(pod, s, v+1) {
		if end := x.ended(pod, v); end.IsZero() || end.After(t) {
			return true
		}
	}
	return false
}

// lives is how many containers of that id the truth had up to a time.
func (x *inspection) lives(ref containerRef, upTo time.Time) (n int) {
	over := true
	for _, c := range x.truth[ref.Pod] {
		if c.Container != ref.Container || c.At.After(upTo) {
			continue
		}
		if over && (c.Type == pleg.RuntimeEventCreated || c.Type == pleg.RuntimeEventStarted) {
			n++
		}
		over = c.Type == pleg.RuntimeEventStopped || c.Type == pleg.RuntimeEventDeleted
	}
	return max(n, 1)
}

// G3: a pod or container that a reader saw gone stays gone, until its id is reused.
func (x *inspection) absence() {
	type place struct {
		reader string
		ref    containerRef
	}
	there := map[string]map[string]*plegtest.Status{}
	gone := map[place]int{} // how many had lived then
	for _, v := range x.Views {
		if there[v.Reader] == nil {
			there[v.Reader] = map[string]*plegtest.Status{}
		}
		var now []pleg.Container
		if v.Entry.Present && v.Entry.Status != nil {
			now = v.Entry.Status.Listed
		}
		for _, c := range now {
			ref := containerRef{v.Pod, c.ID}
			x.check(3, gone[place{v.Reader, ref}] < x.lives(ref, v.At), "%s saw container %s of pod %v come back at %v", v.Reader, c.ID, v.Pod, v.At)
		}
		if before := there[v.Reader][v.Pod]; before != nil {
			for _, c := range before.Listed {
				if !slices.ContainsFunc(now, func(d pleg.Container) bool { return d.ID == c.ID }) {
					ref := containerRef{v.Pod, c.ID}
					gone[place{v.Reader, ref}]++
				}
			}
		}
		there[v.Reader][v.Pod] = v.Entry.Status
		if !v.Entry.Present {
			there[v.Reader][v.Pod] = nil
		}
	}
}

// G4 and G9: the cache equals the truth where that was due.
func (x *inspection) equality() {
	for _, f := range x.Finals {
		if f.Guarantee == 0 {
			continue
		}
		for pod, s := range f.Truth {
			e := f.Cache[pod]
			x.check(f.Guarantee, e.Present && e.Err == nil && e.Status != nil && slices.Equal(byID(e.Status), byID(s)),
				"at %v pod %v is at version %d, in the cache: %+v", f.At, pod, s.Version, e)
		}
		for pod := range f.Cache {
			x.check(f.Guarantee, f.Truth[pod] != nil, "at %v pod %v is gone, in the cache it is not", f.At, pod)
		}
	}
}

// byID are the containers that s shows, in order of id: one that came back with
// its id before anybody looked has another place, and nobody can know.
func byID(s *plegtest.Status) []pleg.Container {
	return slices.SortedFunc(slices.Values(s.Listed), func(a, b pleg.Container) int { return strings.Compare(a.ID, b.ID) })
}

// G5: every wait has ended, and within its limit from its start or the last
// trouble in it.
func (x *inspection) waits() {
	for _, w := range x.Waits {
		if w.End.IsZero() {
			x.check(5, false, "a wait for pod %v since %v has not ended", w.Pod, w.Start)
			continue
		}
		x.check(5, w.Err == nil || errors.Is(w.Err, pleg.ErrClosed) || w.Entry == entry{}, "a wait for pod %v returned data and %v", w.Pod, w.Err)
		if w.Limit == 0 || w.Err != nil {
			continue
		}
		since := w.Start
		for _, t := range x.Trouble {
			if t.After(since) && !t.After(w.End) {
				since = t
			}
		}
		x.check(5, w.End.Sub(since) <= w.Limit, "a wait for pod %v lasted from %v to %v, %v after the last trouble; the limit is %v", w.Pod, w.Start, w.End, w.End.Sub(since), w.Limit)
	}
}

// G6: every reader ends with the cache's state, and hears of every exit of a
// container that the runtime has shown.
func (x *inspection) readers() {
	heard := map[string]map[containerRef]time.Time{} // the last word, by reader; container "" for PodSync
	for _, t := range x.Events {
		if heard[t.Reader] == nil {
			heard[t.Reader] = map[containerRef]time.Time{}
		}
		switch t.Event.Type {
		case pleg.PodSync, pleg.ContainerDied:
			heard[t.Reader][containerRef{t.Event.Pod, t.Event.Container}] = t.At
		}
	}
	for _, f := range x.Finals {
		for reader, view := range f.Readers {
			x.check(6, len(view) == len(f.Cache), "%s ended with %d pods, the cache with %d", reader, len(view), len(f.Cache))
			for pod, e := range f.Cache {
				x.check(6, view[pod].Status == e.Status && view[pod].Err == e.Err, "%s ended with %+v for pod %v, the cache has %+v", reader, view[pod], pod, e)
			}
		}
		for _, reader := range f.EventsRead {
			for _, c := range x.exits() {
				if c.At.After(f.At) || !c.At.After(x.Readers[reader]) {
					continue
				}
				told := slices.ContainsFunc([]containerRef{{c.Pod, c.Container}, {c.Pod, ""}, {"", ""}}, func(ref containerRef) bool {
					at, ok := heard[reader][ref]
					return ok && !at.Before(c.At)
				})
				x.check(6, told, "%s never heard of the exit of container %s of pod %v at %v", reader, c.Container, c.Pod, c.At)
			}
		}
	}
}

// exits are the changes by which containers ended that were shown to be there.
func (x *inspection) exits() (list []change) {
	for _, l := range x.lastLives() {
		list = append(list, *l.end)
	}
	return list
}

// A life is that of a container.
type life struct {
	begin time.Time
	end   *change // nil: not yet
}

// lastLives are the lives of containers that were shown to be there and have ended.
// Of several with one id only the last counts, if a reader saw it before its end:
// an exit between two looks that show a running container nobody can know.
func (x *inspection) lastLives() (list []life) {
	last := map[containerRef]life{}
	for i, c := range x.Changes {
		ref := containerRef{c.Pod, c.Container}
		l, known := last[ref]
		switch end := c.Type == pleg.RuntimeEventStopped || c.Type == pleg.RuntimeEventDeleted; {
		case end && l.end == nil:
			last[ref] = life{l.begin, &x.Changes[i]}
		case !end && (!known || l.end != nil):
			last[ref] = life{begin: c.At}
		}
	}
	for ref, l := range last {
		if _, shown := x.Shown[ref]; shown && l.end != nil && (x.lives(ref, l.end.At) == 1 || x.sawAlive(ref, l.begin, l.end.At)) {
			list = append(list, l)
		}
	}
	return list
}

// sawAlive reports whether a reader saw a container that had not exited.
func (x *inspection) sawAlive(ref containerRef, from, to time.Time) bool {
	return slices.ContainsFunc(x.Views, func(v view) bool {
		return v.Pod == ref.Pod && v.Entry.Modified.After(from) && v.At.Before(to) && v.Entry.Present && v.Entry.Err == nil &&
			slices.ContainsFunc(v.Entry.Status.Listed, func(c pleg.Container) bool { return c.ID == ref.Container && c.State < pleg.StateExited })
	})
}

// G7: memory for late events and slow readers is bounded by the pods.
func (x *inspection) memory() {
	for _, s := range x.Samples {
		bound := (1+s.Readers)*(2*1024+4*(s.Stats.Pods+s.Stats.Containers)) + s.ExitReaders*3*(4096+1024+4*(s.Stats.Pods+s.Stats.Containers))
		x.check(7, s.Stats.Retained <= bound, "at %v %d things are held for %d pods and %d containers", s.At, s.Stats.Retained, s.Stats.Pods, s.Stats.Containers)
	}
}

// G8: no time passes while an event is handed over.
func (x *inspection) neverBlocks() {
	for _, d := range x.Deliveries {
		x.check(8, d.Took < time.Millisecond, "the event of container %s of pod %v took %v to hand over", d.Event.Container, d.Event.Pod, d.Took)
	}
}

// G10: a reader hears of a container at most one start and one death, and of
// nothing after its removal; of another one of its id likewise.
func (x *inspection) once() {
	type place struct {
		reader string
		event  pleg.Event[string]
	}
	count := map[place]int{}
	for _, t := range x.Events {
		e := t.Event
		removed := place{t.Reader, pleg.Event[string]{Pod: e.Pod, Type: pleg.ContainerRemoved, Container: e.Container}}
		switch e.Type {
		case pleg.ContainerStarted, pleg.ContainerDied, pleg.ContainerRemoved:
			count[place{t.Reader, e}]++
			lives := x.lives(containerRef{e.Pod, e.Container}, t.At)
			x.check(10, count[place{t.Reader, e}] <= lives, "%s heard %s of container %s of pod %v %d times", t.Reader, e.Type, e.Container, e.Pod, count[place{t.Reader, e}])
			x.check(10, e.Type == pleg.ContainerRemoved || count[removed] < lives, "%s heard %s of container %s of pod %v after its removal", t.Reader, e.Type, e.Container, e.Pod)
		}
	}
}

// G11: every step that a relist found is accounted for.
func (x *inspection) accounts() {
	for _, s := range x.Samples {
		found, told := s.Stats.Transitions, s.Stats.ReportedEvents+s.Stats.MissedEvents
		x.check(11, found >= told && (found == told || !s.Settled), "at %v relists have found %d steps, told and missed are %d", s.At, found, told)
	}
}

// G12: no call outlives Run.
func (x *inspection) leftovers() {
	if x.RunEnded.IsZero() {
		return
	}
	for _, c := range x.Calls {
		x.check(12, !c.End.IsZero() && !c.End.After(x.RunEnded), "a call of %s, begun at %v, had not returned when Run had", c.Kind, c.Start)
	}
}

// G13: an idle time costs one list per period and no status.
func (x *inspection) idleness() {
	for _, idle := range x.Idles {
		lists, others := 0, 0
		for _, c := range x.Calls {
			switch {
			case c.Start.Before(idle.From) || !c.Start.Before(idle.To):
			case c.Kind == "Pods":
				lists++
			default:
				others++
			}
		}
		limit := int(idle.To.Sub(idle.From)/idle.Period) + 1
		x.check(13, lists <= limit, "%d lists from %v to %v, the limit is %d", lists, idle.From, idle.To, limit)
		x.check(13, others == 0, "%d calls of Pod and Status from %v to %v", others, idle.From, idle.To)
	}
}
