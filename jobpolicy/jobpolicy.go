// Package jobpolicy decides what to do about the failed pods of a Job, as
// Kubernetes' Job controller does, in functions without IO.
//
// It has three layers, each usable alone and each built on the one before:
//
//   - rules: [PodFailurePolicy.Match] asks a pod failure policy about one pod,
//     [PodFailurePolicy.Explain] says why (KEP-3329);
//   - arithmetic: [NextCounts], [IndexFailed], [Verdict], [Remaining] and
//     [FinishTime] turn numbers into verdicts, for schedulers that have no Job
//     objects (KEP-3850);
//   - the pass: [Engine.Plan] looks at a Job and all its pods and returns what
//     to do next.
//
// Kubernetes' feature gates are as 1.36 has them by default. API servers accept
// the statuses from 1.31 on; KUBERNETES.md says more.
//
// Around them stand [JobSpec.Default] and [JobSpec.Validate], which do to a
// manifest what the API server would, [JobSpec.Lint], which finds what is valid
// but surely not meant, and [Engine.WorstCase], which says what a Job can come to.
//
// The types mirror the JSON of batch/v1 and core/v1, so a manifest or the output
// of kubectl get -o json fills them. Nothing here reads a clock, starts a
// goroutine or changes its arguments, [JobSpec.Default] excepted; every function
// is safe for concurrent use as long as nobody changes what it was given.
package jobpolicy
