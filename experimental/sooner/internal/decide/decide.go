// Package decide determines which container records of a node may be removed so that
// the kubelet starts their containers before its own crash-loop delay is over. It does
// no I/O. Its caller observes the node, calls [State.Step] and carries out the plan.
package decide

import (
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/kube/restartrules"
)

// RecordState is the state of a record.
type RecordState int

// The states, as in CRI.
const (
	Created RecordState = iota
	Running
	Exited
	Unknown
)

// Record is a container as the runtime knows it.
type Record struct {
	ID, Sandbox string
	Pod         string // UID, as in the runtime's labels
	Name        string
	State       RecordState
	Created     time.Time

	// The following are known if Detailed. They matter only for an Exited record.
	Detailed     bool
	Code         int32
	Reason       string
	Started      time.Time
	Finished     time.Time
	RestartCount int64
	// NextCount is the restart count that the kubelet derives from the log folder for
	// a container without records.
	NextCount int64
}

// Sandbox is a pod's sandbox as the runtime knows it.
type Sandbox struct {
	ID, Pod string
	Ready   bool
	Created time.Time
}

// Container is a container of a pod's specification.
type Container struct {
	Name    string
	Policy  backoff.ExitPolicy // as the kubelet applies it
	Init    bool               // includes sidecars
	Sidecar bool               // a restartable init container
	// Initialized reports whether a running sidecar lets the containers after it start.
	Initialized bool
}

// Pod is a pod of the node.
type Pod struct {
	UID        string // as in the runtime's labels
	Namespace  string
	Static     bool // its exits are not read from the API server
	Ended      bool // it is being deleted, has finished, or restarts all containers
	Containers []Container
	// Shown holds the exits that the API server shows, by the container's id.
	Shown map[string]Shown
	Rules *restartrules.Rules // nil without rules
	Now   string              // value of its annotation restart-now
	// Invalid reports whether the annotation of rules has mistakes. The pod is then left to
	// the kubelet. Now remains, so that an old value is not taken for a new one later.
	Invalid bool
}

// OptedIn reports whether decisions about the pod are wanted.
func (p *Pod) OptedIn() bool { return !p.Invalid && (p.Rules != nil || p.Now != "") }

// Shown is an exit that the API server shows.
type Shown struct {
	Name     string
	Finished time.Time // in whole seconds
}

// Observation is the state of the node at one instant.
type Observation struct {
	Now     time.Time
	Elapsed time.Duration // on a monotonic clock, from any start
	// Pods are those known from the API server or from manifests. Sandboxes and Records
	// are of one listing, and complete for each pod that has opted in and was listed.
	Pods      []Pod
	Sandboxes []Sandbox
	Records   []Record
	// Listed holds the UIDs of the listed pods, or is nil if all were listed. The
	// step decides only about them.
	Listed map[string]bool
	End    bool // end all waits, with all pods listed
	// DryRun says that the plan is not carried out. A record is then planned to be removed,
	// and takes its share of the limits, only once.
	DryRun bool
}

// Plan is the result of a step.
type Plan struct {
	Remove []Record // to be removed, with old logs
	Poke   []Poke
	Unpoke []string // ids of records named PokeName, to be removed
	// Verdicts has one entry per exited container of the listed pods that have opted in.
	Verdicts []Verdict
	// Next is the time until the next step, unless the node changes earlier. It is 0 if
	// nothing is to be awaited. State.Due returns the pods that the step needs.
	Next time.Duration
}

// Poke makes the kubelet look at a pod because of a container without a record.
type Poke struct {
	Pod, Container string
	Sandbox        string
	ByRecord       bool // over CRI, by a record named PokeName, instead of by the API server
}

// Verdict is the decision about a record, with its reason.
type Verdict struct {
	Record Record
	Reason Reason
	Wait   time.Duration // with ReasonWaiting and ReasonBudget
}

// Reason is the reason of a verdict.
type Reason string

// The reasons.
const (
	ReasonDue       Reason = "due"               // it is removed
	ReasonWaiting   Reason = "waiting"           // its delay, or Limits.MinDelay, is not over
	ReasonBudget    Reason = "budget"            // the node or the namespace has had its restarts
	ReasonKubelet   Reason = "kubelet"           // the policy leaves it to the kubelet
	ReasonNotShown  Reason = "exit-not-shown"    // the kubelet has not reported the exit
	ReasonNoRestart Reason = "no-restart"        // the kubelet would not restart it
	ReasonEnded     Reason = "pod-ended"         // the pod is ending or starts over
	ReasonSandbox   Reason = "sandbox"           // it is not in the pod's ready sandbox
	ReasonOlder     Reason = "older-record"      // an older record is left
	ReasonInit      Reason = "init-containers"   // their records would not prevent another run
	ReasonLog       Reason = "log"               // the logs would not continue the restart count
	ReasonUnread    Reason = "status-unknown"    // its status is not read yet
	ReasonRetry     Reason = "removal-failed"    // the next try is later, or never in a dry run
	ReasonElsewhere Reason = "another-container" // one that ended restarts all containers
)

// PokeName is the name of the records by which pods are poked.
const PokeName = "sooner-poke"

const (
	// Settle is the time after which a kubelet has seen a change in the runtime. It
	// exceeds the kubelet's period of relisting, 1 s.
	Settle = 1500 * time.Millisecond
	// Poll is the time until a step that awaits a change of the node.
	Poll = 500 * time.Millisecond
	// The first pokes are PokeEvery apart, and later ones up to PokeMax.
	PokeEvery = time.Second
	PokeMax   = time.Minute
	pokesFast = 8
	// After so many pokes by the API server in vain, every other one is by a record. A
	// kubelet of Kubernetes 1.36 with the gate EventedPLEG looks at the runtime only after
	// one of its events.
	pokesOfAPI = 3
)
