package pleg_test

import (
	"maps"
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

// A showing is an answer or an event that shows a container.
type showing struct {
	Start, End time.Time
	Event      bool
}

// An exitReader is the life of a reader of exits, with its restarts.
type exitReader struct {
	Begin    time.Time
	Program  time.Time // when the program was started again in which it began; zero: never
	Earlier  bool
	Gaps     []gap
	Expected map[containerRef]bool // containers that the program expected, and saved that it does
}

// A gap is the time from the position of a reader of exits to the next that goes on
// there.
type gap struct{ From, To time.Time }

// meets reports whether the time from start to end has an instant in the gap.
func (g gap) meets(start, end time.Time) bool { return !end.Before(g.From) && !start.After(g.To) }

// G14: a reader of exits yields each exit once, not before it, with the runtime's
// details, and misses none of a knowable container.
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
		case pleg.RuntimeEventStopped:
			list = append(list, c.Status.Ended[ref.Container])
		case pleg.RuntimeEventDeleted:
			if !over {
				list = append(list, pleg.ExitDetails{})
			}
		}
		over = c.Type == pleg.RuntimeEventStopped || c.Type == pleg.RuntimeEventDeleted
	}
	return list
}

// knowable reports whether a reader of exits could know of the life of a container,
// because the program expected the container, or it was shown to a program that had the
// reader or was to have it. After a restart, an event alone may be old and shows
// nothing. A life that was over before the reader counts only with IncludePast and
// while the container is listed. With a reused id, the container must not end in a gap
// either.
func (x *inspection) knowable(r exitReader, ref containerRef, l life) bool {
	inGap := func(start, end time.Time) bool {
		return slices.ContainsFunc(r.Gaps, func(g gap) bool { return g.meets(start, end) })
	}
	first := x.lives(ref, l.end.At) == 1
	switch {
	case r.Expected[ref] && first:
		return true
	case !l.end.At.After(r.Begin) && (!r.Earlier || x.removedBy(ref, r.Begin)):
		return false
	case !first && inGap(l.end.At, l.end.At):
		return false
	}
	return slices.ContainsFunc(x.Showings[ref], func(s showing) bool {
		old := s.Event && len(r.Gaps) > 0 && !s.End.Before(r.Gaps[0].From)
		return !s.End.Before(l.begin) && s.Start.After(r.Program) && !inGap(s.Start, s.End) && !old
	})
}

// removedBy reports whether a container was removed up to t.
func (x *inspection) removedBy(ref containerRef, t time.Time) bool {
	return slices.ContainsFunc(x.truth[ref.Pod], func(c change) bool {
		return c.Container == ref.Container && c.Type == pleg.RuntimeEventDeleted && !c.At.After(t)
	})
}

// A follower is a program that reads exits. It is restarted with the position that it
// saved last.
type follower struct {
	name     string
	rt       *recorder
	reader   *pleg.ExitReader[string]
	creates  bool // it expects the containers that are created while it runs
	reads    []exitRead
	expected map[containerRef]bool
	saved    struct {
		at       time.Time
		position string // JSON
		reads    int
		expected map[containerRef]bool
	}
}

// follow begins a follower.
func (r *recorder) follow(t failing, name string, g *pleg.Generator[string, *plegtest.Status], earlier bool) *follower {
	f := &follower{name: name, rt: r, expected: map[containerRef]bool{}}
	r.Note(func(h *history) {
		h.ExitReaders[name] = exitReader{Begin: time.Now(), Program: h.Program, Earlier: earlier}
	})
	f.begin(t, g, pleg.ExitOptions[string]{IncludePast: earlier})
	f.save(t)
	return f
}

func (f *follower) begin(t failing, g *pleg.Generator[string, *plegtest.Status], o pleg.ExitOptions[string]) {
	t.Helper()
	reader, err := g.ExitReader(o)
	if err != nil {
		t.Fatal(err)
	}
	f.reader = reader
}

// take takes at most so many exits and saves the position.
func (f *follower) take(t failing, most int) (n int) {
	for ; n < most; n++ {
		e, ok := f.reader.TryNext()
		if !ok {
			break
		}
		f.read(exitRead{f.name, time.Now(), e})
	}
	f.save(t)
	return n
}

func (f *follower) read(r exitRead) {
	f.reads = append(f.reads, r)
	f.rt.Note(func(h *history) { h.ExitsRead = append(h.ExitsRead, r) })
}

// expect tells the reader of a container that was created.
func (f *follower) expect(pod, container string) {
	f.reader.Expect(pod, pleg.Container{ID: container})
	f.expected[containerRef{pod, container}] = true
}

// save saves the position.
func (f *follower) save(t failing) {
	s := &f.saved
	s.at, s.position, s.reads, s.expected = time.Now(), string(marshal(t, f.reader.Position())), len(f.reads), maps.Clone(f.expected)
	f.change(func(r *exitReader) { r.Expected = s.expected })
}

// change changes the reader's part of the history.
func (f *follower) change(change func(r *exitReader)) {
	f.rt.Note(func(h *history) {
		r := h.ExitReaders[f.name]
		change(&r)
		h.ExitReaders[f.name] = r
	})
}

// restart goes on from the position that was saved last, on g.
func (f *follower) restart(t failing, g *pleg.Generator[string, *plegtest.Status]) {
	f.reader.Close()
	f.goOn(t, g)
}

func (f *follower) goOn(t failing, g *pleg.Generator[string, *plegtest.Status]) {
	f.expected = maps.Clone(f.saved.expected)
	f.begin(t, g, pleg.ExitOptions[string]{Resume: position(t, f.saved.position)})
	f.change(func(r *exitReader) { r.Gaps = append(slices.Clip(r.Gaps), gap{f.saved.at, time.Now()}) })
}

// fork begins another follower where f was when it saved its position. f goes on.
func (f *follower) fork(t failing, name string, g *pleg.Generator[string, *plegtest.Status]) *follower {
	n := &follower{name: name, rt: f.rt, creates: f.creates, saved: f.saved}
	f.rt.Note(func(h *history) { h.ExitReaders[name] = h.ExitReaders[f.name] })
	n.change(func(r *exitReader) { r.Expected = f.saved.expected })
	for _, r := range f.reads[:f.saved.reads] {
		n.read(exitRead{name, r.At, r.Exit})
	}
	n.goOn(t, g)
	n.save(t)
	return n
}

// failing is a test, of package testing or of rapid.
type failing interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
}
