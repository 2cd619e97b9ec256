package pleg

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A rank is how far a container has come, as far as is known.
type rank uint8

const (
	unseen  rank = iota // an event reported it, no observation was recorded
	unknown             // from here to exited a container is live: it is listed
	created
	running
	exited
	removed
)

// rankOf returns the rank of a container in state s; both are in the same order.
func rankOf(s State) rank {
	if s < StateUnknown || s > StateExited {
		return unknown
	}
	return unknown + rank(s-StateUnknown)
}

// rankReported returns the rank that an event of type t reports; both are in the
// same order.
func rankReported(t RuntimeEventType) rank {
	if t < RuntimeEventCreated || t > RuntimeEventDeleted {
		return unseen
	}
	return created + rank(t-RuntimeEventCreated)
}

func (r rank) live() bool { return r > unseen && r < removed }

// A step is one transition of a container.
type step struct {
	container string
	to        rank
	again     bool // the first of a container whose id was used before

	// What follows is set when the step is recorded.
	fresh   bool      // nothing had shown the container before
	ended   bool      // an event had reported its end
	note    *exitNote // what had been shown of its end; nil: nothing
	tracked *tracked  // what is known now
}

// event returns the type of the event that reports s.
func (s step) event() EventType {
	switch s.to {
	case running:
		return ContainerStarted
	case exited:
		return ContainerDied
	case removed:
		return ContainerRemoved
	}
	return ContainerChanged
}

// steps appends the steps of a container from one rank to another.
func steps(list []step, id string, from, to rank) []step {
	if to == removed && from != exited {
		list = append(list, step{container: id, to: exited})
	}
	return append(list, step{container: id, to: to})
}

// tracked is what is known of one container.
type tracked struct {
	is         rank
	reported   rank      // the furthest that an event has reported
	unreported uint8     // a bit per rank: steps that a relist found and no event has reported yet
	synced     bool      // a PodSync stands for what was reported beyond is
	again      bool      // its id was used before
	mark       uint64    // of the last comparison that met it
	since      uint64    // serial of the last event or of its removal
	exit       *exitNote // what was shown of its end; nil: nothing, or that is recorded
}

// An exitNote is what was shown of the end of a container that is not recorded as
// exited.
type exitNote struct {
	source  ExitSource // empty: the end itself was not shown
	told    time.Time  // the latest time that is believed of events of the container; zero: none
	known   bool
	details ExitDetails
}

// add adds a later note of the same container.
func (n *exitNote) add(later exitNote) {
	n.source = cmp.Or(n.source, later.source)
	if later.told.After(n.told) {
		n.told = later.told
	}
	if !n.known {
		n.known, n.details = later.known, later.details
	}
}

// noteExit keeps what was shown of the end of c, if c may yet end.
func (c *tracked) noteExit(n exitNote) {
	if c.is >= exited || n.source == "" {
		return
	}
	if c.exit == nil {
		c.exit = &exitNote{}
	}
	c.exit.add(n)
}

// gone reports whether a look has shown that c is not there, or nothing is known of it.
func (c *tracked) gone() bool {
	return c == nil || c.is == removed || c.is == unseen && c.synced
}

// behind reports whether r is a step back from what is known of c; an unknown
// state takes nothing back.
func (c *tracked) behind(r rank) bool {
	return c.is == removed || r < c.is && r != unknown
}

// containers are those of a pod by id: the live ones, the removed ones that
// must not come back, and those that only events reported.
type containers map[string]*tracked

// A verdict says how an observation stands to what is known.
type verdict int

const (
	same        verdict = iota
	changed             // at least one step ahead, none back
	older               // a step back somewhere: it is older, or an id is used again
	resurrected         // a removed container is back: likewise
)

// compare compares seen, which lists all containers of a pod, with what is known
// of it; live is how many of cs are live. mark is a number never used before. A
// list that names an id twice gets no verdict. compare allocates nothing.
func (cs containers) compare(seen []Container, live int, mark uint64) (v verdict, duplicate bool) {
	met, ahead := 0, false
	for _, s := range seen {
		c, r := cs[s.ID], rankOf(s.State)
		if c == nil || c.is == unseen {
			ahead = true
			continue
		}
		if c.mark == mark {
			return same, true
		}
		c.mark = mark
		met++
		switch {
		case c.is == removed:
			return resurrected, false
		case c.behind(r):
			return older, false
		case r > c.is:
			ahead = true
		}
	}
	if ahead || met < live {
		return changed, false
	}
	return same, false
}

// diff returns the steps that lead from what is known to seen, which is newer,
// ordered by container. A container that is behind is another one with its id.
func (cs containers) diff(seen []Container) []step {
	var list []step
	there := make(map[string]bool, len(seen))
	for _, s := range seen {
		there[s.ID] = true
		c, to := cs[s.ID], rankOf(s.State)
		switch {
		case c == nil:
			list = steps(list, s.ID, unseen, to)
		case c.behind(to):
			if c.is < exited {
				list = steps(list, s.ID, c.is, exited)
			}
			place := len(list)
			list = steps(list, s.ID, unseen, to)
			list[place].again = true
		case to > c.is:
			list = steps(list, s.ID, c.is, to)
		}
	}
	for id, c := range cs {
		if c.is.live() && !there[id] {
			list = steps(list, id, c.is, removed)
		}
	}
	slices.SortStableFunc(list, func(a, b step) int { return strings.Compare(a.container, b.container) })
	return list
}

// normal returns a copy of seen that names every container once, at the
// furthest of its states.
func normal(seen []Container) []Container {
	list := slices.Clone(seen)
	slices.SortFunc(list, func(a, b Container) int {
		if c := strings.Compare(a.ID, b.ID); c != 0 {
			return c
		}
		return int(rankOf(b.State)) - int(rankOf(a.State))
	})
	return slices.CompactFunc(list, func(a, b Container) bool { return a.ID == b.ID })
}
