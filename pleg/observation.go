package pleg

import (
	"slices"
	"strings"
	"time"
)

// An observation is one look at a pod: what a list showed, then its status.
type observation struct {
	start   time.Time // before the first call; what it shows is no older
	serial  uint64
	seen    []Container            // every container once, in order of id
	exits   map[string]ExitDetails // of the status, if it says and there are readers of exits
	absent  bool                   // the pod is not there
	lenient bool                   // a step without an event does not count as missed yet
	alone   bool                   // it is a Status that no list came before
	blind   bool                   // the runtime's stamp of the status is not believed
}

// time returns the local time for which the status of o stands, whose stamp is given: the
// start of o, or the stamp if that is believed and earlier.
func (o *observation) time(stamp, now time.Time) time.Time {
	at, clean := localTime(now, lenientStamp(stamp))
	if clean && !o.blind && at.Before(o.start) {
		return at
	}
	return o.start
}

// shows reports whether o shows c, in whatever state.
func (o *observation) shows(c Container) bool {
	_, ok := o.find(c.ID)
	return ok
}

// showsExited reports whether o shows a container of that id exited.
func (o *observation) showsExited(id string) bool {
	i, ok := o.find(id)
	return ok && !o.absent && o.seen[i].State == StateExited
}

// find returns the place of a container in what o shows.
func (o *observation) find(id string) (i int, ok bool) {
	return slices.BinarySearchFunc(o.seen, id, func(d Container, id string) int { return strings.Compare(d.ID, id) })
}
