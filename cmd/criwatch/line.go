package main

import (
	"time"

	"github.com/restartkit/restart/pleg"
)

// A line is one lifecycle event with its details.
type line struct {
	at        time.Time // when it is reported
	event     pleg.EventType
	pod       string // id of the sandbox
	meta      *podMeta
	container string // id; empty in a PodSync
	name      string // of the container, if known
	attempt   uint32
	happened  time.Time // by the runtime's clock; zero if unknown
	before    bool      // happened before this program began

	// Only in a ContainerDied.
	exit      *pleg.ExitDetails // nil if the runtime did not report the exit's details
	source    pleg.ExitSource   // how the exit was found
	eventTime time.Time         // the timestamp of the runtime's event of the exit; zero without one
	lost      int               // exits dropped before this one because the output was stuck for too long
}

// sandbox reports whether the line is about a pod's sandbox.
func (l line) sandbox() bool { return l.container == l.pod }

// late returns the delay between an event and its report. ok is false if the delay is
// unknown or the event happened before this program began.
func (l line) late() (late time.Duration, ok bool) {
	if l.happened.IsZero() || l.before {
		return 0, false
	}
	return l.at.Sub(l.happened), true
}

// lateSinceEvent returns the delay between the runtime's event of an exit and the
// report, which leaves out the runtime's own share. ok is false if the runtime sent no
// event.
func (l line) lateSinceEvent() (late time.Duration, ok bool) {
	if l.exit == nil || l.eventTime.IsZero() || l.before {
		return 0, false
	}
	return l.at.Sub(l.eventTime), true
}
