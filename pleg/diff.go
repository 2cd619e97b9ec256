package pleg

import (
	"slices"
	"strings"
)

// A rank is how far a container has come, as far as is known.
type rank uint8

const (
	unseen  rank = iota // told of by an event, by no observation
	unknown             // from here to exited a container is live: it is listed
	created
	running
	exited
	removed
)

// rankOf returns the rank of a container in state s.
func rankOf(s State) rank {
	switch s {
	case StateCreated:
		return created
	case StateRunning:
		return running
	case StateExited:
		return exited
	}
	return unknown
}

// rankTold returns the rank that an event of type t tells of.
func rankTold(t RuntimeEventType) rank {
	switch t {
	case RuntimeCreated:
		return created
	case RuntimeStarted:
		return running
	case RuntimeStopped:
		return exited
	case RuntimeDeleted:
		return removed
	}
	return unseen
}

func (r rank) String() string {
	return [...]string{"unseen", "unknown", "created", "running", "exited", "removed"}[r]
}

func (r rank) live() bool { return r > unseen && r < removed }

// A step is one transition of a container, with the event that tells of it.
type step struct {
	container string
	event     EventType
	to        rank
}

// steps appends the steps of a container from one rank to another.
func steps(list []step, id string, from, to rank) []step {
	switch to {
	case running:
		return append(list, step{id, ContainerStarted, to})
	case exited:
		return append(list, step{id, ContainerDied, to})
	case removed:
		if from != exited {
			list = append(list, step{id, ContainerDied, exited})
		}
		return append(list, step{id, ContainerRemoved, to})
	}
	return append(list, step{id, ContainerChanged, to})
}

// tracked is what is known of one container.
type tracked struct {
	is    rank
	told  rank   // the furthest an event has told of
	owed  uint8  // a bit per rank: steps that a relist found and no event has told of, yet
	shown bool   // while unseen: a PodSync has stood in for what was told
	mark  uint64 // of the last comparison that met it
	since uint64 // while not live: serial of the last that was learned of it
}

// containers are those of a pod by id: the live ones, the removed ones that
// must not come back, and those that only events told of.
type containers map[string]*tracked

// verdict is how an observation stands to what is known.
type verdict int

const (
	same    verdict = iota
	changed         // at least one step ahead, none back
	older           // a step back somewhere: it says nothing
	risen           // a removed container is back: likewise
)

// compare judges seen, all containers of a pod of which live are known to be,
// and allocates nothing. mark is a number never used before. It reports a
// duplicate id instead of judging it.
//
// The order is created < running < exited < removed per container; an unknown
// state takes nothing back. Ids are never used again, so a removed one that is
// seen makes an observation older.
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
			return risen, false
		case r < c.is && r != unknown:
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

// diff returns the steps that lead from what is known to seen, which is not
// older, ordered by container.
func (cs containers) diff(seen []Container) []step {
	var list []step
	there := make(map[string]bool, len(seen))
	for _, s := range seen {
		there[s.ID] = true
		from, to := unseen, rankOf(s.State)
		if c := cs[s.ID]; c != nil {
			from = c.is
		}
		if to > from {
			list = steps(list, s.ID, from, to)
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
