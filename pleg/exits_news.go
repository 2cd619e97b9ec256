package pleg

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A containerRef names a container of a pod.
type containerRef[K comparable] struct {
	pod       K
	container string
}

// exitNews is what one observation or one full relist says of the lives of containers, for
// the readers of exits.
type exitNews[K comparable] struct {
	start  time.Time         // when it began
	end    time.Time         // when it ended
	serial uint64            // the last one that was given
	ends   []end[K]          // in order
	begun  []containerRef[K] // they are alive
	gone   []containerRef[K] // they have ended, and are no longer listed
}

// An end is the end of a container, as an observation shows it.
type end[K comparable] struct {
	exit   Exit[K]
	first  bool // nothing has shown the container before, and no full list has ended
	again  bool // of another container of its id
	orphan bool // the container was never recorded
}

// ref names the container that has ended.
func (e end[K]) ref() containerRef[K] { return containerRef[K]{e.exit.Pod, e.exit.Container} }

// compare orders the ends that one observation shows: by the time at which they
// finished, then by container, and of two of the same id the former first.
func (e end[K]) compare(f end[K]) int {
	if e.again != f.again {
		if f.again {
			return -1
		}
		return 1
	}
	return cmp.Or(e.exit.Details.Finished.Compare(f.exit.Details.Finished), strings.Compare(e.exit.Container, f.exit.Container))
}

// add adds what the change c of a pod says, whose containers are now cs and which o has
// made. relisted is whether a full relist has ended.
func (n *exitNews[K]) add(pod K, c change, cs containers, o *observation, relisted bool) {
	for _, s := range c.steps {
		ref := containerRef[K]{pod, s.container}
		switch s.to {
		case exited:
			n.ends = append(n.ends, end[K]{exit: exitOf(ref, s.note, s.ended, o), first: s.fresh && !relisted, again: s.again})
		case removed:
			n.gone = append(n.gone, ref)
		default:
			n.begun = append(n.begun, ref)
		}
	}
	for _, id := range c.unseen {
		ref := containerRef[K]{pod, id}
		n.ends = append(n.ends, end[K]{exit: exitOf(ref, cs[id].exit, cs[id].reported >= exited, o), first: !relisted, orphan: true})
		n.gone = append(n.gone, ref)
	}
	slices.SortFunc(n.ends, end[K].compare)
}

// exitOf returns the exit of a container that has ended according to o. note is what was
// shown of its end before, or nil; reported says that an event has reported it.
func exitOf[K comparable](ref containerRef[K], note *exitNote, reported bool, o *observation) Exit[K] {
	e := Exit[K]{Pod: ref.pod, Container: ref.container, Source: ExitInferred}
	var n exitNote
	if note != nil {
		n = *note
	}
	shown := o.showsExited(ref.container)
	switch {
	case reported, n.source == ExitSeenByEvent:
		e.Source = ExitSeenByEvent
	case shown, n.source == ExitSeenByRelist:
		e.Source = ExitSeenByRelist
	}
	if shown {
		e.Details, e.Known = o.exits[ref.container]
	}
	if !e.Known {
		e.Details, e.Known = n.details, n.known
	}
	return e
}
