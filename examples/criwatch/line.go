package main

import (
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/restartkit/restart/pleg"
)

// A line is one lifecycle event with what is known about it.
type line struct {
	at        time.Time // when it is told
	event     pleg.EventType
	pod       string // id of the sandbox
	meta      *cri.PodSandboxMetadata
	container string // id; empty in a PodSync
	name      string // of the container, if known
	attempt   uint32
	happened  time.Time // the runtime's stamp of what the event tells; zero: not known
	exit      *exit     // of a ContainerDied, if known
	before    bool      // it happened before this program began
}

// sandbox reports whether the line is about a pod's sandbox.
func (l line) sandbox() bool { return l.container == l.pod }

// late returns how long after it happened an event is told, if that is known
// and says something: not of what was there before.
func (l line) late() (time.Duration, bool) {
	if l.happened.IsZero() || l.before {
		return 0, false
	}
	return l.at.Sub(l.happened), true
}

// lateSinceEvent returns how long after the runtime's event of it an exit is told, if
// there was one: what an exit's lateness is beside the runtime's own share.
func (l line) lateSinceEvent() (time.Duration, bool) {
	if l.exit == nil || l.exit.known.IsZero() || l.before {
		return 0, false
	}
	return l.at.Sub(l.exit.known), true
}
