package pleg

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A rank is the furthest known point in the life of a container.
type rank uint8

const (
	unseen  rank = iota // only an event or an unrecorded observation showed the container
	unknown             // first of the live ranks, up to exited, of listed containers
	created
	running
	exited
	removed
)

// rankOf returns the rank of a container in state s. Both have the same order.
func rankOf(s State) rank {
	if s < StateUnknown || s > StateExited {
		return unknown
	}
	return unknown + rank(s-StateUnknown)
}

// rankReported returns the rank that an event of type t reports. Both have the same
// order.
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
	again     bool // first step of a container whose id was used before

	// Set when the step is recorded.
	fresh   bool      // first sight of the container
	ended   bool      // an event had reported its end
	note    *exitNote // evidence of its end so far; nil if none
	tracked *tracked  // the updated record
}

// event returns the type of the event for s.
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

// tracked is the record of one container.
type tracked struct {
	is         rank
	reported   rank      // the furthest rank in an event
	unreported uint8     // one bit per rank, for steps found by a relist and not yet reported by an event
	synced     bool      // a PodSync stands for reports beyond is
	again      bool      // its id was used before
	mark       uint64    // the last comparison that included it
	since      uint64    // serial of its removal or last event
	exit       *exitNote // evidence of its end; nil if none or recorded
}

// An exitNote is evidence of the end of a container not yet recorded as exited.
type exitNote struct {
	source  ExitSource // empty if the end itself was not shown
	told    time.Time  // the latest believed time of the container's events; zero if none
	known   bool
	details ExitDetails
}

// add merges a later note of the same container into n.
func (n *exitNote) add(later exitNote) {
	n.source = cmp.Or(n.source, later.source)
	if later.told.After(n.told) {
		n.told = later.told
	}
	if !n.known {
		n.known, n.details = later.known, later.details
	}
}

// noteExit adds evidence of the end of c, unless c has ended or n shows no end.
func (c *tracked) noteExit(n exitNote) {
	if c.is >= exited || n.source == "" {
		return
	}
	if c.exit == nil {
		c.exit = &exitNote{}
	}
	c.exit.add(n)
}

// gone reports whether c is unknown, or absent according to the last look.
func (c *tracked) gone() bool {
	return c == nil || c.is == removed || c.is == unseen && c.synced
}

// behind reports whether r is a step back from c's rank. An unknown state is not.
func (c *tracked) behind(r rank) bool {
	return c.is == removed || r < c.is && r != unknown
}

// containers are the records of a pod's containers by id. They include removed ones,
// which must not come back, and those that only events reported.
type containers map[string]*tracked

// A verdict is the result of comparing an observation with the record.
type verdict int

const (
	same        verdict = iota
	changed             // at least one step ahead, none back
	older               // a step back, because the observation is older or an id was reused
	resurrected         // a removed container is back, for the same reasons
)

// compare compares seen, the complete list of a pod's containers, with cs. live is the
// number of live containers in cs, and mark a number never used before. If seen repeats
// an id, compare reports duplicate and no verdict. It allocates nothing.
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

// diff returns the steps that lead from cs to the newer seen, ordered by container. A
// container that would step back is a new one with the same id.
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

// normal returns a copy of seen with each container once, at its furthest state.
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
