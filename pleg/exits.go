package pleg

import (
	"iter"
	"maps"
	"reflect"
	"time"
)

// ExitSource says how an exit became known.
type ExitSource string

// How an exit may become known.
const (
	ExitSeenByEvent  ExitSource = "event"    // an event of the runtime showed it
	ExitSeenByRelist ExitSource = "relist"   // a list or a status showed it
	ExitInferred     ExitSource = "inferred" // the container is gone, and nothing has shown that it had exited
)

// Exit is the end of one container. It is a plain value; the zero value is none.
type Exit[K comparable] struct {
	Pod       K           `json:"pod"`
	Container string      `json:"container"`       // its id
	Source    ExitSource  `json:"source"`          // how it became known
	Known     bool        `json:"known,omitempty"` // the runtime has said how it ended; else Details are zero
	Details   ExitDetails `json:"details,omitzero"`
	// Lost is how many exits before this one were dropped, because the reader was too far
	// behind.
	Lost int `json:"lost,omitempty"`
}

// ExitDetails are what a status says of a container that has exited. The Generator
// hands them on as they are, also a time that is zero or lies ahead. They are a plain
// value; the zero value says nothing.
type ExitDetails struct {
	Name     string    `json:"name,omitempty"`    // of the container in its pod, the same for every attempt
	Attempt  int64     `json:"attempt,omitempty"` // how many of that name the runtime counts before it
	Code     int32     `json:"code"`
	Reason   string    `json:"reason,omitempty"` // Completed, Error, OOMKilled, …
	Started  time.Time `json:"started,omitzero"` // zero: it never ran, or the runtime does not say
	Finished time.Time `json:"finished,omitzero"`
}

// ExitLister is implemented by a status type that says how its containers ended.
// Without it exits come without details. The Generator calls Exits, also of the
// statuses in events, from several goroutines at once, and only while there is an
// ExitReader. What a status says of a container that has exited is believed for as
// long as its id stands for that container, whatever the stamps say. If ids are used
// again, a late event of a former container may give the exit of the present one its
// details.
type ExitLister interface {
	// Exits yields the containers that have exited, by id, and how they ended.
	Exits() iter.Seq2[string, ExitDetails]
}

// exitsIn returns how the containers that a status shows ended; nil if it does not say.
func exitsIn[S any](status S) map[string]ExitDetails {
	l, ok := any(status).(ExitLister)
	if !ok || isZero(status) {
		return nil
	}
	return maps.Collect(l.Exits())
}

// isZero reports whether a status is the zero S: none came.
func isZero[S any](status S) bool { return reflect.ValueOf(&status).Elem().IsZero() }
