// Package jobpolicy decides what to do about the failed pods of a Job, as
// Kubernetes' Job controller does, in functions without IO. Each of its three
// layers can be used alone. Rules: [PodFailurePolicy.Match] judges a pod, MatchExit
// an exit code. Arithmetic, for schedulers without Job objects: [Match.NextCounts],
// [Match.IndexFailed], [Engine.Remaining], [Limits.Verdict]. The pass over a whole
// Job: [Engine.Plan]; start there. Package lint finds what is surely not meant.
package jobpolicy
