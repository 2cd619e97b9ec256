package pleg

import (
	"slices"
	"strings"
	"time"
)

// An observation is one look at a pod, with a list and then a status.
type observation struct {
	start   time.Time // before the first call, so the contents are no older
	serial  uint64
	seen    []Container            // each container once, ordered by id
	exits   map[string]ExitDetails // exits in the status, if it is an ExitLister and readers of exits exist
	absent  bool                   // the pod is gone
	lenient bool                   // a step without an event does not count as missed yet
	alone   bool                   // a Status without a list before it
	blind   bool                   // the status's timestamp is not believed
}

// time returns the local time of o, given the timestamp of its status. It is the
// timestamp if believed and before the start of o, and otherwise the start.
func (o *observation) time(stamp, now time.Time) time.Time {
	at, clean := localTime(now, lenientStamp(stamp))
	if clean && !o.blind && at.Before(o.start) {
		return at
	}
	return o.start
}

// shows reports whether o shows c in any state.
func (o *observation) shows(c Container) bool {
	_, ok := o.find(c.ID)
	return ok
}

// showsExited reports whether o shows the container id as exited.
func (o *observation) showsExited(id string) bool {
	i, ok := o.find(id)
	return ok && !o.absent && o.seen[i].State == StateExited
}

// find returns the index of a container in o.seen.
func (o *observation) find(id string) (i int, ok bool) {
	return slices.BinarySearchFunc(o.seen, id, func(d Container, id string) int { return strings.Compare(d.ID, id) })
}
