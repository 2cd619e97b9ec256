// Package explain explains why containers and Jobs wait, when they start and what ends
// them, from API objects alone. [OfPod], [OfJob], [Next], [Compare] and [Lint] return
// values that encode as JSON; the Write functions print them for a person. The package
// does no I/O otherwise, and time is an argument.
//
// Everything is derived from fields that the objects have. What they do not show, such
// as exits from before the last one, is reported as unknown.
package explain

import (
	"time"
)

// Options are the facts beside the objects.
type Options struct {
	Now time.Time // times are printed in its zone
	// SyncFrequency is that of the kubelets; 0 means their default of 1 minute.
	SyncFrequency time.Duration
	// ServerVersion is the API server's, such as v1.37.2, or "" if unknown.
	ServerVersion string
}

// Start is the time in which a container or pod is expected to start.
type Start struct {
	From time.Time `json:"from,omitzero"` // not before this time; zero if unknown
	To   time.Time `json:"to,omitzero"`   // not after it, unless its machine is busy; zero if unknown
	Why  string    `json:"why"`           // how the times follow, or why they are unknown
}

// Known reports whether the time is known.
func (s Start) Known() bool { return !s.From.IsZero() }

// Finding is a likely mistake in a specification, or a field that an older cluster
// lacks.
type Finding struct {
	Kind     string `json:"kind"`               // as in packages backoff/lint and jobpolicy/lint
	Severity string `json:"severity,omitempty"` // warning or notice
	Field    string `json:"field"`              // path of the line to change, from the object's root
	Value    string `json:"value,omitempty"`    // the present value, as JSON
	Text     string `json:"text"`               // one sentence with the effect and the remedy
}

// Limit is a limit that ends a Job or a pod, or one of a Job's indexes.
type Limit struct {
	Name string `json:"name"` // field of the specification
	Max  int64  `json:"max"`
	Used int64  `json:"used"`
	// Left is how much more reaches the limit, in the unit of Max; 0 if it is reached.
	Left int64     `json:"left"`
	At   time.Time `json:"at,omitzero"` // when it takes effect, for a limit in time
	Text string    `json:"text"`        // one sentence
}
