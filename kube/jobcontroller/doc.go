// Package jobcontroller implements a Kubernetes controller for Jobs. It runs the Jobs
// whose spec.managedBy names it or, in place of Kubernetes' own controller, those that
// name no other. It watches Jobs and pods through informers, and carries out the plans
// of [jobpolicy.Engine.Plan]. A crash neither loses the end of a pod nor counts it
// twice.
//
// Create a Controller with [New] and start it with [Controller.Run]. Only one replica
// may run at a time, for example under a Lease. Annotations of a Job override its
// delays, such as [AnnotationBaseDelay], and store its failures ([AnnotationMemory]),
// so that delays survive a change of leader.
//
// # The record of a Job
//
// A pass over a Job reads the informers, plans, and writes. Writes reach the informers
// late, answers can be lost, and another controller may have led meanwhile. So between
// passes a Job is in one of these states:
//
//	            first pass: the state is read from the annotation
//	            beside the status
//	                                │
//	    ┌───────────────────────────▼──────────────────────────┐
//	┌──▶│ settled: the informers show every write              │◀───┐
//	│   └──┬────────────────────┬───────────────────────────┬──┘    │
//	│      │ an answered write  │ a request without answer  │       │
//	│      ▼                    ▼                           │       │
//	│  ┌───────────┐       ┌────────────────┐               │       │
//	│  │ expecting │◀──────│ unacknowledged │               │       │
//	│  └─────┬─────┘ done  └───┬────────────┘               │       │
//	│        │                 │ not done                   │       │
//	└────────┴─────────────────┘                            │       │
//	  shown, or after                                       │       │
//	  five minutes                                          │       │
//	                    the annotation or the status is not │       │
//	                    what this controller wrote          ▼       │
//	                                                 ┌───────────┐  │
//	                                                 │ overtaken │  │
//	                                                 └─────┬─────┘  │
//	                               the pods are listed     ▼        │
//	                                               ┌─────────────┐  │
//	                                               │ catching up │──┘
//	                                               └─────────────┘
//	                                                the informer has
//	                                                reached the list, or
//	                                                after five minutes
//
// The actions of a pass in each state:
//
//   - settled: everything that the plan says.
//   - expecting (client-go's term: expectations): it creates and deletes no pods, but records
//     ends in the status and removes finalizers. It plans on the Job last written, also if
//     the informer shows an older one, and takes removed finalizers into account.
//   - unacknowledged: it first reads the Job to learn whether a status was written, and
//     deletes a pod again by its UID. A creation keeps its name, so that a later one of the
//     same kind cannot make a second pod.
//   - overtaken: it lists the Job's pods from the API server before it plans.
//   - catching up: it makes no plan while a listed pod with a finalizer is not shown, and
//     treats every other difference between list and informer as expecting.
//
// A Job can be expecting, unacknowledged and catching up at once. A finished or deleted
// Job is forgotten. The type jobRecord owns all of this. State that must outlive the
// process is only in the annotation.
package jobcontroller

// sync.go makes a pass over a Job. The other files are named for their content:
//
//   - record.go: what a Controller remembers of a Job
//   - checkpoint.go: the part of it stored with the Job
//   - expectations.go: creations and deletions that the informer does not show yet
//   - finalizers.go: finalizers removed, but still shown by the informer
//   - unacknowledged.go: requests without an answer
//   - livelist.go: changes by another controller
//   - apply.go, apply_pods.go: carrying out a plan
//   - template.go, serverversion.go: the pod template as stored
//   - write.go: writing a status
