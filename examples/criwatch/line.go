package main

import (
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/pleg"
)

// A line is one lifecycle event with what is known about it.
type line struct {
	at        time.Time // when it is reported
	event     pleg.EventType
	pod       string // id of the sandbox
	meta      *cri.PodSandboxMetadata
	container string // id; empty in a PodSync
	name      string // of the container, if known
	attempt   uint32
	happened  time.Time // the runtime's timestamp of it; zero: unknown
	exit      *exit     // of a ContainerDied, if known
	before    bool      // it happened before this program began
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
	if l.exit == nil || l.exit.known.IsZero() || l.before {
		return 0, false
	}
	return l.at.Sub(l.exit.known), true
}
