package main

import (
	"time"

	"github.com/restartkit/restart/pleg"
)

// A line is one lifecycle event with what is known about it.
type line struct {
	at        time.Time // when it is reported
	event     pleg.EventType
	pod       string // id of the sandbox
	meta      *podMeta
	container string // id; empty in a PodSync
	name      string // of the container, if known
	attempt   uint32
	happened  time.Time // the runtime's timestamp of it; zero: unknown
	before    bool      // it happened before this program began

	// Of a ContainerDied:
	exit   *pleg.ExitDetails // nil: the runtime has not said how it ended
	source pleg.ExitSource   // what showed it
	told   time.Time         // the timestamp of the runtime's event of it; zero: it has none
	lost   int               // exits that were dropped before it because the output was stuck for too long
}

// sandbox reports whether the line is about a pod's sandbox.
func (l line) sandbox() bool { return l.container == l.pod }

// late returns how long after it happened an event is reported. ok is false if that
// is unknown, or if it happened before this program began.
func (l line) late() (late time.Duration, ok bool) {
	if l.happened.IsZero() || l.before {
		return 0, false
	}
	return l.at.Sub(l.happened), true
}

// lateSinceEvent returns how long after the runtime's event an exit is reported: the
// delay without the runtime's own share. ok is false if there was no event.
func (l line) lateSinceEvent() (late time.Duration, ok bool) {
	if l.exit == nil || l.told.IsZero() || l.before {
		return 0, false
	}
	return l.at.Sub(l.told), true
}
