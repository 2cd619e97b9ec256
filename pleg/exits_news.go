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

// exitNews are the changes to containers in one observation or full relist, for the
// readers of exits.
type exitNews[K comparable] struct {
	start  time.Time         // start of the observation or relist
	end    time.Time         // end of the observation or relist
	serial uint64            // the last serial number in use
	ends   []end[K]          // in the order of compare
	begun  []containerRef[K] // now alive
	gone   []containerRef[K] // ended and no longer listed
}

// An end is the end of a container in an observation.
type end[K comparable] struct {
	exit   Exit[K]
	first  bool // first sight of the container, before the end of the first full relist
	again  bool // the end of a new container with a reused id
	orphan bool // the container was never recorded
}

// ref returns the container that ended.
func (e end[K]) ref() containerRef[K] { return containerRef[K]{e.exit.Pod, e.exit.Container} }

// compare orders the ends in one observation by finishing time and then by container.
// With a reused id, the old container comes first.
func (e end[K]) compare(f end[K]) int {
	if e.again != f.again {
		if f.again {
			return -1
		}
		return 1
	}
	return cmp.Or(e.exit.Details.Finished.Compare(f.exit.Details.Finished), strings.Compare(e.exit.Container, f.exit.Container))
}

// add adds the change c that o made to a pod. cs are the pod's updated containers, and
// relisted is whether a full relist has ended.
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

// exitOf returns the exit of a container that has ended according to o. note is earlier
// evidence, or nil, and reported is whether an event has reported the end.
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
