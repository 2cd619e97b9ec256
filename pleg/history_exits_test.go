package pleg_test

import (
	"slices"
	"time"

	"github.com/restartkit/restart/pleg"
	"github.com/restartkit/restart/pleg/plegtest"
)

// An exitRead is one exit that a reader of exits yielded.
type exitRead struct {
	Reader string
	At     time.Time
	Exit   pleg.Exit[string]
}

// An exitReader is the life of a reader of exits, with its restarts.
type exitReader struct {
	Begin   time.Time
	Earlier bool
	Gaps    []gap
}

// A gap is the time from the position of a reader of exits to the next that goes on
// there.
type gap struct{ From, To time.Time }

// covers reports whether t lies in the gap.
func (g gap) covers(t time.Time) bool { return !t.Before(g.From) && !t.After(g.To) }

// G14: a reader of exits yields each once and never before it, with the details that
// the runtime has given, and misses none of a container that it could know of.
func (x *inspection) exitsRead() {
	type place struct {
		reader string
		ref    containerRef
	}
	count := map[place]int{}
	last := map[place]time.Time{}
	for _, r := range x.ExitsRead {
		p := place{r.Reader, containerRef{r.Exit.Pod, r.Exit.Container}}
		count[p]++
		last[p] = r.At
		ends := x.ends(p.ref, r.At)
		x.check(14, count[p] <= len(ends), "%s yielded the exit of container %s of pod %v at %v, %d by then; it has exited %d times",
			r.Reader, p.ref.Container, p.ref.Pod, r.At, count[p], len(ends))
		x.check(14, r.Exit.Known == (r.Exit.Details != pleg.ExitDetails{}) && (r.Exit.Source != pleg.ExitInferred || !r.Exit.Known) &&
			(!r.Exit.Known || slices.ContainsFunc(ends, func(d pleg.ExitDetails) bool { return inUTC(d) == inUTC(r.Exit.Details) })), "%s yielded %+v of the ends %v", r.Reader, r.Exit, ends)
		x.check(14, r.Exit.Lost == 0, "%s has lost %d exits", r.Reader, r.Exit.Lost)
	}
	for _, f := range x.Finals {
		for _, reader := range f.ExitsRead {
			for _, l := range x.lastLives() {
				ref := containerRef{l.end.Pod, l.end.Container}
				if l.end.At.After(f.At) || !x.knowable(x.ExitReaders[reader], ref, l) {
					continue
				}
				at, ok := last[place{reader, ref}]
				x.check(14, ok && !at.Before(l.end.At), "%s never yielded the exit of container %s of pod %v at %v", reader, ref.Container, ref.Pod, l.end.At)
			}
		}
	}
}

// inUTC makes details comparable that came back from JSON.
func inUTC(d pleg.ExitDetails) pleg.ExitDetails {
	d.Started, d.Finished = d.Started.UTC(), d.Finished.UTC()
	return d
}

// ends are how the containers of that id ended up to a time; the details are zero
// where one was removed before it exited.
func (x *inspection) ends(ref containerRef, upTo time.Time) (list []pleg.ExitDetails) {
	over := true
	for _, c := range x.truth[ref.Pod] {
		if c.Container != ref.Container || c.At.After(upTo) {
			continue
		}
		switch c.Type {
		case pleg.RuntimeStopped:
			list = append(list, c.Status.Ended[ref.Container])
		case pleg.RuntimeDeleted:
			if !over {
				list = append(list, pleg.ExitDetails{})
			}
		}
		over = c.Type == pleg.RuntimeStopped || c.Type == pleg.RuntimeDeleted
	}
	return list
}

// knowable reports whether a reader of exits could know of the life of a container:
// it is not one that had ended before and was not asked for, nor one that was shown
// only in gaps. If its id had been used before, it must not end in a gap either.
func (x *inspection) knowable(r exitReader, ref containerRef, l life) bool {
	inGap := func(t time.Time) bool { return slices.ContainsFunc(r.Gaps, func(g gap) bool { return g.covers(t) }) }
	switch {
	case !r.Earlier && !x.lookedBefore(l.end.At):
		return false
	case x.lives(ref, l.end.At) > 1 && inGap(l.end.At):
		return false
	}
	return slices.ContainsFunc(x.ShownAt[ref], func(at time.Time) bool { return !at.Before(l.begin) && !inGap(at) })
}

// lookedBefore reports whether the Generator had looked at everything before t.
func (x *inspection) lookedBefore(t time.Time) bool {
	return slices.ContainsFunc(x.Samples, func(s sample) bool { return s.Stats.Relists > 0 && s.At.Before(t) })
}

// A follower is a reader of exits that is restarted with the position that it saved
// last.
type follower struct {
	name    string
	rt      *recorder
	reader  *pleg.ExitReader[string]
	saved   string // JSON
	savedAt time.Time
}

// follow begins a follower.
func (r *recorder) follow(name string, g *pleg.Generator[string, *plegtest.Status], earlier bool) (*follower, error) {
	f := &follower{name: name, rt: r}
	r.Note(func(h *history) { h.ExitReaders[name] = exitReader{Begin: time.Now(), Earlier: earlier} })
	reader, err := g.ExitReader(pleg.ExitOptions[string]{Earlier: earlier})
	f.reader = reader
	return f, err
}

// take takes at most so many exits and saves the position.
func (f *follower) take(t failing, most int) (n int) {
	for ; n < most; n++ {
		e, ok := f.reader.TryNext()
		if !ok {
			break
		}
		f.rt.Note(func(h *history) { h.ExitsRead = append(h.ExitsRead, exitRead{f.name, time.Now(), e}) })
	}
	f.save(t)
	return n
}

// save saves the position.
func (f *follower) save(t failing) {
	f.saved, f.savedAt = string(marshal(t, f.reader.Position())), time.Now()
}

// restart goes on from the position that was saved last, on g.
func (f *follower) restart(t failing, g *pleg.Generator[string, *plegtest.Status]) {
	f.reader.Close()
	reader, err := g.ExitReader(pleg.ExitOptions[string]{After: position(t, f.saved)})
	if err != nil {
		t.Fatal(err)
	}
	f.reader = reader
	f.rt.Note(func(h *history) {
		r := h.ExitReaders[f.name]
		r.Gaps = append(slices.Clip(r.Gaps), gap{f.savedAt, time.Now()})
		h.ExitReaders[f.name] = r
	})
}

// failing is a test, of package testing or of rapid.
type failing interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
}
