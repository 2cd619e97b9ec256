// Package jobworld is the world of one small Job, as states and steps that package
// search can visit completely. The world has an API server with the Job and its pods,
// kubelets and users that change them, watches that show changes late, and a
// [Controller], whose requests are carried out, refused, or carried out without an
// answer. [Planner] is the controller of package jobpolicy; others can take its place.
//
// # The space
//
// A state is the API server's Job and pods, the Job and pods as last shown by the watches,
// the controller's memory, the answers to the requests of the pass under way, and the faults
// still possible. Every fault uses up a part of the Job's [Budget], so the number of states
// is finite. Between two requests of a pass anything else may happen.
//
//   - Pods that differ in name only are interchangeable, so states that differ in their order
//     are one state.
//   - Time passes only when the controller waits for nothing else. States hold the ages of
//     ends in units of [Unit], up to the controller's longest delay.
//   - The watches for the Job and for the pods lag separately, by any number of changes. That
//     of the pods then shows all changes, or all but the last one. They show nothing during a
//     pass.
//   - A crash starts a new process with a fresh view. It keeps the State, loses it, or has the
//     State from before its last write. A controller that takes over keeps the State and has
//     the view that the watches showed last.
//
// Not in the space: requests carried out late, two controllers at work at the same time,
// changes of the specification other than suspension, deadlines, clocks that differ, and
// limits that take hundreds of pods.
//
// # The invariants
//
//  1. The end of a pod is recorded once, correctly, and then counted once. Counters change by
//     nothing else.
//  2. A finalizer is removed from a pod that was seen to have ended only after the end stands
//     in a written status.
//  3. A pod is created only if the status shows no end of the Job and no limit exceeded, within
//     parallelism and completions, for an index that has not ended and has no other active pod.
//     If only ended pods are replaced, it is created after the one before has ended, and with
//     the index's count of failures.
//  4. An index is completed only after a success, fails only after enough failures, and stays
//     so.
//  5. A decided end stays decided. Nothing is written after the final condition, and then no
//     pod runs or has a finalizer.
//  6. The reason of an end is true: enough successes, or more failures than the limit.
//  7. The API server's validation accepts every status.
//  8. From every state, a run without further faults ends the Job. Each state stores the next
//     one of that run, so this is checked for all of them and not for a sample.
//
// After a takeover with an older view the controller may create pods in place of those it does
// not see, as Kubernetes' own does. The checks of creations and of the pods left at the end are
// then off, and those of counts stay on. TestBrokenControllers shows that the checks can fail.
package jobworld
