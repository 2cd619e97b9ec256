package jobworld

import (
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// Most is the greatest number of pods in a state.
const Most = 8

// Controller is a Job controller. Its methods are functions of their arguments. It must
// not modify its arguments.
//
// In a View, the UID and the name of the pod in slot i of Memory.Pods are "pod-i". A
// slot stands for the same pod throughout a pass. Between passes, pods may change
// slots together with their parts of the Memory.
type Controller interface {
	// Pass makes a pass over a view and answers its requests, in the order of sending,
	// with answers. It returns at the first request beyond them or at the end of the
	// pass.
	Pass(m Memory, v View, answers []Answer) Pass
	// Shown returns the memory after the watch has shown the pods of the view. They
	// reflect every request so far, except those about the pod in the slot late, if that
	// is not negative. Its last change is not shown.
	Shown(m Memory, v View, late int) Memory
	// JobShown returns the memory after the watch has shown the Job, with every status
	// written so far.
	JobShown(m Memory) Memory
	// Waited returns the memory after units of time.
	Waited(m Memory, units int) Memory
	// Restarted returns the memory after a crash. kept reports whether
	// the facts that the controller stores outside its process survive. Shown follows,
	// with the first list of pods.
	Restarted(m Memory, kept bool) Memory
}

// Memory is a controller's memory between passes. Its content belongs to the
// controller. The zero value is the memory of a controller that has just started.
type Memory struct {
	Global [8]byte
	Pods   [Most]uint16 // about each pod
}

// View holds the Job and the pods shown by the watches.
type View struct {
	Job  *batch.Job
	Pods []*batch.Pod
	Now  time.Time
}

// Pass is the state of a pass.
type Pass struct {
	Request *Request // next request; nil at the end of the pass
	Memory  Memory   // after the answers so far
	Requeue time.Duration
}

// Kind is a kind of request.
type Kind uint8

// The kinds of requests.
const (
	CreatePod Kind = iota
	DeletePod
	RemoveFinalizer // from a pod
	WriteStatus
)

// Request is a request to the API server.
type Request struct {
	Kind Kind
	// Pod is the slot of the pod to delete or to remove the finalizer from. For a
	// creation, it is the slot of a pod whose creation had no answer, to be created
	// again under the same name, or -1.
	Pod int
	// MustExist asks for Answer.Gone if the pod to delete or to remove the finalizer from
	// does not exist. Otherwise such a request is Done.
	MustExist bool

	Index    int // of the new pod, -1 for a NonIndexed Job
	Failures int // in the new pod's annotations
	Ignored  int
	Status   *batch.JobStatus // to write, if the Job is still as seen or written last in the pass
}

// Answer is the answer to a request.
type Answer struct {
	Outcome Outcome
	Gone    bool // the pod does not exist; only if Request.MustExist
	Pod     int8 // slot of a created pod
}

// Outcome is the outcome of a request.
type Outcome uint8

// The outcomes of a request.
const (
	Done    Outcome = iota
	Refused         // not carried out
	Lost            // carried out, but the answer was lost
)
