package pleg

import (
	"iter"
	"maps"
	"reflect"
	"time"

	"github.com/restartkit/restart/backoff"
)

// ExitSource tells how an exit became known.
type ExitSource string

// The sources of exits.
const (
	ExitSeenByEvent  ExitSource = "event"    // a runtime event showed it
	ExitSeenByRelist ExitSource = "relist"   // a list or a status showed it
	ExitInferred     ExitSource = "inferred" // the container is gone, its exit unseen
)

// Exit is the end of one container.
type Exit[K comparable] struct {
	Pod       K          `json:"pod"`
	Container string     `json:"container"` // its id
	Source    ExitSource `json:"source"`
	Known     bool       `json:"known,omitempty"` // Details came from an ExitLister
	// Details are zero if not Known, except for Name and Attempt, which then are those
	// of the Container in Expect, and in the lists and the statuses with containers seen
	// since the reader was made.
	Details ExitDetails `json:"details,omitzero"`
	// Lost counts the exits dropped before this one because the reader fell behind.
	Lost int `json:"lost,omitempty"`
}

// The exit code and reason of an exit whose details are unknown, as in the kubelet.
const (
	unknownExitCode   = 137
	unknownExitReason = "ContainerStatusUnknown"
)

// Backoff converts e for Restarter.Exited. run is the number of the run that ended, such
// as Details.Attempt+1. If e is not Known, it counts as a failure with Code 137, as for
// SIGKILL, and the Reason ContainerStatusUnknown, as in the kubelet. Its times are zero.
func (e Exit[K]) Backoff(run int64) backoff.Exit {
	if !e.Known {
		return backoff.Exit{Run: run, Code: unknownExitCode, Reason: unknownExitReason}
	}
	d := e.Details
	return backoff.Exit{Run: run, Code: d.Code, Reason: d.Reason, Started: d.Started, Finished: d.Finished}
}

// ExitDetails are the details of an exit in a status, passed on unchanged.
type ExitDetails struct {
	Name     string    `json:"name,omitempty"`    // the same for every attempt
	Attempt  int64     `json:"attempt,omitempty"` // earlier attempts counted by the runtime
	Code     int32     `json:"code"`
	Reason   string    `json:"reason,omitempty"` // Completed, Error, OOMKilled, …
	Started  time.Time `json:"started,omitzero"` // zero if it never ran, or unknown
	Finished time.Time `json:"finished,omitzero"`
}

// ExitLister is implemented by a status type that includes the exits of its containers.
// Otherwise exits have no details. Exits is called by several goroutines at once, on
// statuses in events too, and only while an ExitReader exists. Details are believed
// regardless of their times. If an id is reused, a late event of the old container may
// supply the details of the new one's exit.
type ExitLister interface {
	// Exits yields the exited containers' ids and the details of their exits.
	Exits() iter.Seq2[string, ExitDetails]
}

// exitsIn returns the exits in a status, or nil if it is not an ExitLister.
func exitsIn[S any](status S) map[string]ExitDetails {
	l, ok := any(status).(ExitLister)
	if !ok || isZero(status) {
		return nil
	}
	return maps.Collect(l.Exits())
}

// isZero reports whether status is the zero S, so that the runtime returned no status.
func isZero[S any](status S) bool { return reflect.ValueOf(&status).Elem().IsZero() }
