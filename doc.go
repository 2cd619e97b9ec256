// Package restart is the root of a library for restart decisions: when to start
// a failed container, pod, job or process again, and when to stop trying.
//
// The packages stand alone; import the one that fits:
//
//   - backoff: delays, limits and rules for something that fails, from two fields
//     in a struct of your own to one state for many things; Retry (KEP-4603,
//     KEP-5307)
//   - supervise: goroutines kept running by those delays and rules
//   - statefile: a program's state in a file that survives crashes
//   - pleg: lifecycle events and exits of a node's containers (KEP-3386);
//     pleg/statuscache is its timestamp-guarded status cache
//   - jobpolicy: pod failure policy, backoff limits and the Job controller's
//     pass as a pure function (KEP-3329, KEP-3850); jobpolicy/batch has the API
//     types, jobpolicy/lint reviews specifications, jobpolicy/jobtest runs a Job
//     in virtual time
//   - indexset: compressed sets of indexes in the text form 1,3-5,7 (KEP-3850)
//   - field: the validation errors of all of them
//
// This package holds nothing itself.
package restart
